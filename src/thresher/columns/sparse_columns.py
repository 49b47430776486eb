"""Sparse columns in the CSC layout."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class CSCColumns(NamedTuple):
    """Sparse columns: column j is ``values[indptr[j]:indptr[j + 1]]``, in the ascending ``rows`` of that range."""

    indptr: NDArray[np.int64]
    rows: NDArray[np.uint32]
    values: NDArray[np.float32]
    #: The number of rows of the matrix.
    n_rows: int

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.indptr) - 1

    def toarray(self) -> NDArray[np.float32]:
        """A dense array, columns x rows."""
        dense = np.zeros((self.n_columns, self.n_rows), np.float32)
        dense[self._column_of_entry(), self.rows] = self.values
        return dense

    def head(self, count: int) -> CSCColumns:
        """The first ``count`` columns."""
        end = int(self.indptr[: count + 1][-1])
        return CSCColumns(self.indptr[: count + 1], self.rows[:end], self.values[:end], self.n_rows)

    def tail(self, start: int) -> CSCColumns:
        """The columns from number ``start`` on."""
        begin = int(self.indptr[start])
        return CSCColumns(self.indptr[start:] - begin, self.rows[begin:], self.values[begin:], self.n_rows)

    def take_columns(self, mask: NDArray[np.bool_]) -> CSCColumns:
        """The columns for which ``mask`` is true."""
        kept = self._take_entries(mask[self._column_of_entry()])
        return kept._replace(indptr=np.concatenate([kept.indptr[:-1][mask], kept.indptr[-1:]]))

    def without_zeros(self) -> CSCColumns:
        """The same columns without stored zeros."""
        nonzero = self.values != 0
        return self if nonzero.all() else self._take_entries(nonzero)

    def take_rows(self, rows: NDArray[np.int64]) -> CSCColumns:
        """The columns restricted to these rows, in the order given."""
        positions = np.full(self.n_rows, -1, np.int64)
        positions[rows] = np.arange(len(rows))
        moved = positions[self.rows]
        kept = self._take_entries(moved >= 0)._replace(n_rows=len(rows))
        moved = moved[moved >= 0]
        order = np.lexsort((moved, kept._column_of_entry()))
        return kept._replace(rows=moved[order].astype(np.uint32), values=kept.values[order])

    def _column_of_entry(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(self.n_columns), np.diff(self.indptr))

    def _take_entries(self, mask: NDArray[np.bool_]) -> CSCColumns:
        starts = np.concatenate([[0], np.cumsum(mask)])
        return CSCColumns(starts[self.indptr], self.rows[mask], self.values[mask], self.n_rows)
