"""Sums over columns, and the cosines that follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.selection.stand_ins.row_blocks import Block

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

#: A column that more rows than this share have is dense: two dense columns are compared without their means.
DENSE = 0.5
#: A column whose squares about the mean are a smaller share of its squares is constant.
_CONSTANT = 1e-9


class ColumnSums:
    """The number of rows that have each column, and the sums and squares of its values."""

    def __init__(self, columns: int) -> None:
        self.rows = 0
        self.counts, self.sums, self.squares = np.zeros((3, columns))

    def add(self, rows: Any, numbers: Indices) -> None:
        """Add rows; ``numbers`` are those of their columns."""
        places = numbers[rows.indices]
        self.rows += rows.shape[0]
        self.counts += np.bincount(places, minlength=len(self.counts))
        self.sums += np.bincount(places, rows.data, minlength=len(self.sums))
        self.squares += np.bincount(places, rows.data**2, minlength=len(self.squares))

    @property
    def dense(self) -> NDArray[np.bool_]:
        """The columns that most rows have."""
        return self.counts > DENSE * self.rows

    def lengths(self, which: Indices, centred: NDArray[np.bool_]) -> Floats:
        """The lengths of some columns, about their means where ``centred``; 0 for a column that is then constant."""
        squares = self.squares[which]
        about_mean = squares - np.where(centred, self.sums[which] ** 2 / max(1, self.rows), 0.0)
        return np.sqrt(np.where(about_mean > _CONSTANT * squares, about_mean, 0.0))


def cosines(dots: Floats, sums: ColumnSums, a: Indices, b: Indices) -> Floats:
    """The cosine of each pair of columns from their dot product; 0 if one of them is constant.

    If both are dense it is their correlation.
    """
    centred = sums.dense[a] & sums.dense[b]
    means = np.where(centred, sums.sums[a] * sums.sums[b] / max(1, sums.rows), 0.0)
    lengths = sums.lengths(a, centred) * sums.lengths(b, centred)
    found: Floats = np.divide(dots - means, lengths, out=np.zeros(len(dots)), where=lengths > 0)
    return np.clip(found, -1.0, 1.0)


class Projections:
    """Signed sums of the values of each column, with a random sign for each row: columns that are alike have like sums.

    Their cosine differs from that of the columns by about (1 - cosine²) / √bits.
    """

    def __init__(self, columns: int, bits: int) -> None:
        self.bits = bits
        self._sums = np.zeros((columns, bits))
        self._ones = np.zeros(bits)

    def add(self, block: Block, rows: Any, numbers: Indices) -> None:
        """Add rows of a block; ``numbers`` are those of their columns."""
        signs = block.signs(self.bits)
        self._ones += signs.sum(axis=0)
        self._sums[numbers] += rows.T.tocsr() @ signs

    def directions(self, sums: ColumnSums, bits: int, *, centred: bool) -> Floats:
        """The first ``bits`` projections of each column, scaled to unit length; about the means if ``centred``."""
        found = self._sums[:, :bits]
        if centred:
            found = found - np.outer(sums.sums / max(1, sums.rows), self._ones[:bits])
        lengths = np.sqrt((found**2).sum(axis=1, keepdims=True))
        directions: Floats = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
        return directions

    def alike(self, threshold: float) -> float:
        """The least cosine of projections at which columns may have a cosine of at least ``threshold``."""
        return threshold - 4.0 * (1.0 - threshold**2) / float(np.sqrt(self.bits))
