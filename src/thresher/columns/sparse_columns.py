"""Columns without their zeros."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class FewNumbers(NamedTuple):
    """Columns by what is not zero in them: column j has ``values[indptr[j]:indptr[j + 1]]`` in ``rows``, which rise."""

    indptr: NDArray[np.int64]
    rows: NDArray[np.uint32]
    values: NDArray[np.float32]
    #: How long a column is.
    length: int

    @property
    def many(self) -> int:
        """How many columns."""
        return len(self.indptr) - 1

    @property
    def whole(self) -> NDArray[np.float32]:
        """With their zeros: columns x rows."""
        columns = np.zeros((self.many, self.length), np.float32)
        columns[self._of(), self.rows] = self.values
        return columns

    def first(self, many: int) -> FewNumbers:
        """The first so many columns."""
        end = int(self.indptr[: many + 1][-1])
        return FewNumbers(self.indptr[: many + 1], self.rows[:end], self.values[:end], self.length)

    def after(self, first: int) -> FewNumbers:
        """Without the first columns."""
        begin = int(self.indptr[first])
        return FewNumbers(self.indptr[first:] - begin, self.rows[begin:], self.values[begin:], self.length)

    def columns(self, wanted: NDArray[np.bool_]) -> FewNumbers:
        """Some of the columns."""
        fewer = self._only(wanted[self._of()])
        return fewer._replace(indptr=np.concatenate([fewer.indptr[:-1][wanted], fewer.indptr[-1:]]))

    def without_zeros(self) -> FewNumbers:
        """Without numbers that stand there and are zero."""
        there = self.values != 0
        return self if there.all() else self._only(there)

    def of_rows(self, keep: NDArray[np.int64]) -> FewNumbers:
        """Of some rows only, in their order."""
        places = np.full(self.length, -1, np.int64)
        places[keep] = np.arange(len(keep))
        moved = places[self.rows]
        kept = self._only(moved >= 0)._replace(length=len(keep))
        rows = moved[moved >= 0]
        order = np.lexsort((rows, kept._of()))
        return kept._replace(rows=rows[order].astype(np.uint32), values=kept.values[order])

    def _of(self) -> NDArray[np.int64]:
        """The column of each number."""
        return np.repeat(np.arange(self.many), np.diff(self.indptr))

    def _only(self, wanted: NDArray[np.bool_]) -> FewNumbers:
        places = np.concatenate([[0], np.cumsum(wanted)])
        return FewNumbers(places[self.indptr], self.rows[wanted], self.values[wanted], self.length)
