"""The unit of each numeric column: its centre and its scale, which make columns comparable whatever they measure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: A scale below this share of the centre is that of rounding errors: the column counts as constant.
NEGLIGIBLE = 1e-9
#: A column with a larger share of rows of one value is sparse.
SPARSE = 0.9
_LARGEST = float(np.finfo(np.float32).max)
#: Standardised values are hashed in multiples of this, so that rounding errors change no hash.
HASH_GRID = 2.0**-8
#: Bytes of a column: key, centre and scale, the sums from which they follow, and the index from keys to columns.
UNIT_BYTES = 96


class DenseColumns(NamedTuple):
    """The numeric columns that every row has; ``names`` is None if the keys alone give them."""

    keys: NDArray[np.uint64]
    names: list[bytes] | None = None


class Units(NamedTuple):
    """Centre and scale of numeric columns; a standardised value is ``(value - centre) / scale``."""

    keys: NDArray[np.uint64]
    centres: Floats
    scales: Floats

    def of(self, keys: NDArray[np.uint64]) -> tuple[Floats, Floats]:
        """Centres and scales of these features; 0 and 1 for a feature that is not one of the columns."""
        order = np.argsort(self.keys)
        at = order[np.minimum(np.searchsorted(self.keys, keys, sorter=order), len(order) - 1)]
        known = self.keys[at] == keys
        return np.where(known, self.centres[at], 0.0), np.where(known, self.scales[at], 1.0)

    def apply(self, block: Floats) -> Floats:
        """Standardise rows of all columns, in place."""
        block -= self.centres
        block /= self.scales
        return np.clip(block, -_LARGEST, _LARGEST, out=block)


class UnitSums:
    """Accumulates the sums from which centres and scales follow.

    The centre of a column is its mean, its scale its standard deviation. A column is sparse if one value makes up more
    than nine tenths of the rows, as in a column for each word. Its centre is then this value, so that zeros stay zeros,
    and its scale the root mean square distance of the others from it: a word has the value 1.

    Sums are of differences from the median of the first rows: they lose no digits in a column that is far from zero.
    Multiplying a column by a power of two multiplies all of them exactly.

    Parameters
    ----------
    centred : bool
        False, for a model without an intercept: all centres are 0, and scales are root mean squares.
    """

    def __init__(self, width: int, *, centred: bool = True) -> None:
        self._centred = centred
        self._pivot: Floats | None = None if centred else np.zeros(width)
        self._equal, self._sums, self._squares = np.zeros((3, width))
        self.rows = 0

    def add(self, block: Floats) -> None:
        """Add rows. The result depends on how rows are divided into blocks; the block is changed."""
        if self._pivot is None:
            middle = (len(block) - 1) // 2
            self._pivot = np.partition(block, middle, axis=0)[middle].copy()
        self.rows += len(block)
        block -= self._pivot
        self._equal += (block == 0).sum(axis=0)
        self._sums += block.sum(axis=0)
        np.square(block, out=block)
        self._squares += block.sum(axis=0)

    def units(self, keys: NDArray[np.uint64]) -> Units:
        """The units of the columns with these keys."""
        assert self._pivot is not None
        n = max(1, self.rows)
        mean = self._sums / n if self._centred else np.zeros_like(self._sums)
        sparse = self._equal > SPARSE * n
        centres = self._pivot + np.where(sparse, 0.0, mean)
        of_others = self._squares / np.maximum(1.0, n - self._equal)
        variances = np.where(sparse, of_others, np.maximum(self._squares / n - mean**2, 0.0))
        scales = np.sqrt(variances)
        scales = np.where(scales > NEGLIGIBLE * np.abs(centres), scales, np.abs(centres))
        return Units(keys, centres, np.where(scales > 0, scales, 1.0))
