"""The units of numeric columns of a stream: they follow the rows, and what was learned follows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.units import NEGLIGIBLE, SPARSE, Units

Floats = NDArray[np.float64]

#: A scale that is so many times the one in use replaces it before the row is learned.
GROWTH = 2.0
# Rows of the sums of columns.
_COMMON, _EQUAL, _MEAN, _SQUARES, _SCALE = range(5)


class UnitChange(NamedTuple):
    """Features whose standardised values z become ``factor * z - shift``."""

    keys: NDArray[np.uint64]
    factors: Floats
    shifts: Floats


class RunningUnits:
    """Centres and scales of numeric columns that follow the rows of a stream.

    All columns take the units of the rows so far, the next one included, before row 1, 2, 4, 8, … is learned. In
    between, a column takes them before a row with which its scale is at least twice the one in use. So no row is
    learned in a unit that it makes look tiny, units change seldom, and when they do depends on the rows alone, not on
    how they are divided into calls.

    The rules for centre and scale are those of `UnitSums`; the value that may be common is that of the first row.

    Parameters
    ----------
    centred : bool
        False, for a model without an intercept: all centres are 0.
    """

    def __init__(self, keys: NDArray[np.uint64], *, centred: bool) -> None:
        width = len(keys)
        self.units = Units(keys, np.zeros(width), np.ones(width))
        self.rows = 0
        self._centred = centred
        self._sums = np.zeros((5, width))

    @classmethod
    def after(cls, units: Units, rows: int, *, centred: bool) -> RunningUnits:
        """Go on from units that a fit of so many rows took: as if the rows had these means and variances."""
        running = cls(units.keys, centred=centred)
        running.units, running.rows = units, max(1, rows)
        running._sums[_COMMON] = running._sums[_MEAN] = units.centres
        running._sums[_SQUARES] = running.rows * units.scales**2
        running._sums[_SCALE] = units.scales
        return running

    def of(self, keys: NDArray[np.uint64]) -> tuple[Floats, Floats]:
        """Centres and scales in use."""
        return self.units.of(keys)

    def parts(self, block: Floats) -> Iterator[tuple[int, int, UnitChange | None]]:
        """Add rows. Yields begin and end of rows of the same units, and the change of units before them.

        The units in use are those of the part while it is looked at.
        """
        begin = added = 0
        change = None
        while begin < len(block):
            end = _native.add_to_units(self._sums, self.rows, block, added, self._centred)
            self.rows += end - added
            if begin < end:
                yield begin, end, change
            begin = end
            if end < len(block):  # this row is added too
                self.rows += 1
                added = end + 1
                change = self._renew()
                if added == len(block):
                    yield begin, added, change
                    return

    def merge(self, other: RunningUnits) -> tuple[UnitChange, UnitChange]:
        """Add the rows of another stream; returns the changes for what this one and the other one have learned."""
        mine, theirs, n, m = self._sums, other._sums, self.rows, other.rows
        total = max(1, n + m)
        # The rows of the other stream that have another common value are not known: they count as different.
        same = (mine[_COMMON] == theirs[_COMMON]) | (n == 0)
        mine[_COMMON] = np.where(n == 0, theirs[_COMMON], mine[_COMMON])
        mine[_EQUAL] += np.where(same, theirs[_EQUAL], 0.0)
        apart = theirs[_MEAN] - mine[_MEAN]
        mine[_MEAN] += apart * (m / total)
        mine[_SQUARES] += theirs[_SQUARES] + apart**2 * (n * m / total)
        self.rows = n + m
        before = theirs[_SCALE] > 0
        own = self._renew(everything=True)
        return own, _change(other.units, self.units, before & (mine[_SCALE] > 0))

    def _renew(self, *, everything: bool = False) -> UnitChange:
        """Take the units of the rows so far: all of them at a power of two, else those that have grown."""
        centres, scales = self._current()
        in_use = self._sums[_SCALE]
        if everything or self.rows & (self.rows - 1) == 0:
            new = np.ones(len(scales), bool)
        else:
            new = (scales > 0) & (scales >= GROWTH * in_use)
        varied = in_use > 0
        old, constant = self.units, np.where(centres != 0, np.abs(centres), 1.0)
        self.units = Units(
            old.keys,
            np.where(new, centres, old.centres),
            np.where(new, np.where(scales > 0, scales, constant), old.scales),
        )
        in_use[new] = scales[new]
        return _change(old, self.units, new & varied)

    def _current(self) -> tuple[Floats, Floats]:
        """Centres and scales of the rows so far; the scale of a constant column is 0."""
        common, equal, mean, squares, _ = self._sums
        n = max(1, self.rows)
        sparse = equal > SPARSE * n
        centres = np.where(sparse, common, mean) if self._centred else np.zeros_like(mean)
        about_common = squares + n * (mean - common) ** 2
        sums = np.where(sparse, about_common, squares) if self._centred else about_common
        scales = np.sqrt(sums / np.where(sparse, np.maximum(1.0, n - equal), n))
        return centres, np.where(scales > NEGLIGIBLE * np.abs(centres), scales, 0.0)


def _change(old: Units, new: Units, which: NDArray[np.bool_]) -> UnitChange:
    """The change of some columns; a column that was constant taught nothing, so there is nothing to change."""
    factors, shifts = old.scales / new.scales, (new.centres - old.centres) / new.scales
    which = which & ((factors != 1.0) | (shifts != 0.0))
    return UnitChange(old.keys[which], factors[which], shifts[which])
