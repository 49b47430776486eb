"""Functions drawn at random as the family of the working-set loop: their columns over rows, in memory or made again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.random_features import DrawnFunctions
from thresher.columns.row_store import Rows
from thresher.columns.types import Ids, MadeColumns, WholeColumns
from thresher.core.batch import Batch
from thresher.core.feature_space import FeatureSpace
from thresher.errors import DataError

#: Columns are made in whole stripes of so many rows (`stripe` in native/working_set/design.hpp), some at a time.
STRIPE, _MOST_STRIPES = 1024, 8


class DrawnColumns:
    """As many functions as one cares to draw; nothing of them is kept but the columns that are asked for.

    Parameters
    ----------
    space : FeatureSpace
        One with ``drawn``.
    store : Rows
    room : int, optional
        Bytes that columns may take at a time; more of them are made again whenever they are looked at.
    part : int, optional
        Bytes for making them, then.
    """

    def __init__(
        self,
        space: FeatureSpace,
        store: Rows,
        team: _native.Team,
        *,
        room: int | None = None,
        part: int | None = None,
    ) -> None:
        if store.all_the_same():
            what = "there is one sample only" if store.rows == 1 else "every row is the same"
            raise DataError(f"{what}: a function of it tells nothing. Check the columns.")
        self.space = space
        self.store = store
        self.team = team
        self.rows = store.rows
        #: Columns that memory has room for; None: any number.
        self.most = None if room is None else room // (4 * store.rows)
        self._part = part

    def draw(self, count: int, after: int) -> Ids:
        """The numbers of ``count`` functions, independent of the first ``after`` ones."""
        return np.arange(after, after + count, dtype=np.uint64)

    def columns(self, ids: Ids) -> WholeColumns | MadeColumns:
        """Their values, a column each, where there is room for them."""
        scales = np.ones(len(ids))
        if self.most is not None and len(ids) > self.most:
            return MadeColumns(scales)
        values = np.empty((len(ids), self.rows), np.float32)
        at = 0
        functions = DrawnFunctions(self.space, ids, self.team)
        for piece in self._pieces(self._stripes(len(ids))):
            values[:, at : at + len(piece)] = self._values(functions, piece)
            at += len(piece)
        return WholeColumns(values, scales)

    def made(self, ids: Ids, rows: NDArray[np.uint32] | None) -> Iterator[NDArray[np.float32]]:
        """The columns of these functions at all rows, or at some (rising), a few stripes at a time."""
        functions = DrawnFunctions(self.space, ids, self.team)
        stripes = self._stripes(len(ids))
        buffer = np.empty((len(ids), stripes * STRIPE), np.float32)
        filled = at = 0
        for piece in self._pieces(stripes):
            wanted = piece
            if rows is not None:
                inside = rows[np.searchsorted(rows, at) : np.searchsorted(rows, at + len(piece))]
                wanted = piece if len(inside) == len(piece) else piece.take(inside.astype(np.int64) - at)
            at += len(piece)
            if not len(wanted):
                continue
            values = self._values(functions, wanted)
            done = 0
            while done < len(wanted):
                taken = min(len(wanted) - done, buffer.shape[1] - filled)
                buffer[:, filled : filled + taken] = values[:, done : done + taken]
                filled, done = filled + taken, done + taken
                if filled == buffer.shape[1]:
                    yield buffer
                    filled = 0
        if filled:
            yield buffer[:, :filled]

    def making(self, columns: int) -> int:
        """The least bytes that making so many columns takes: a stripe of them, twice."""
        return 8 * STRIPE * columns

    def _stripes(self, columns: int) -> int:
        if self._part is None:
            return _MOST_STRIPES
        return max(1, min(_MOST_STRIPES, self._part // self.making(columns)))

    def _pieces(self, stripes: int) -> Iterator[Batch]:
        most = stripes * STRIPE
        for batch in self.store:
            if len(batch) <= most:
                yield batch
            else:
                for first in range(0, len(batch), most):
                    yield batch.take(slice(first, first + most))

    def _values(self, functions: DrawnFunctions, batch: Batch) -> NDArray[np.float32]:
        values = functions.values(batch)
        if not np.isfinite(values).all():
            raise DataError("a function of a row is too large for single precision. Scale the columns.")
        return values
