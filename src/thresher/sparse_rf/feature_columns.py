"""Columns of random features, in memory or recomputed on demand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.random_features import RandomFeatureMap
from thresher.columns.row_store import Rows
from thresher.columns.types import Ids
from thresher.core.batch import Batch
from thresher.core.feature_space import FeatureSpace
from thresher.errors import DataError

#: Columns are computed in stripes of this many rows (`stripe` in ``native/columns/design.hpp``), a few at a time.
STRIPE, _MAX_STRIPES = 1024, 8

#: The least bytes for computing one feature: a stripe of it, twice.
BYTES_PER_FEATURE = 8 * STRIPE
#: Bytes of the coefficient of a feature at an input, twice: as drawn and as used.
_BYTES_PER_COEFFICIENT = 16


class RandomFeatureColumns:
    """The columns of an unlimited number of random features. They are computed on request and not kept.

    Parameters
    ----------
    space : FeatureSpace
        A space with random features.
    store : Rows
        The rows that the features are functions of.
    room : int, optional
        Bytes for columns in memory. More columns than that are recomputed whenever a solver needs them.
    part : int, optional
        Bytes for computing columns.
    """

    def __init__(
        self,
        space: FeatureSpace,
        store: Rows,
        pool: _native.ThreadPool,
        *,
        room: int | None = None,
        part: int | None = None,
    ) -> None:
        self.space = space
        self.store = store
        self.pool = pool
        self.rows = store.rows
        #: The number of columns that fit in memory; None: no limit.
        self.max_columns = None if room is None else room // (4 * store.rows)
        self._part = part

    def draw(self, count: int, after: int) -> Ids:
        """The numbers of ``count`` features, independent of the first ``after`` ones."""
        return np.arange(after, after + count, dtype=np.uint64)

    def columns(self, ids: Ids) -> NDArray[np.float32] | None:
        """The columns of these features (features x rows); None if they do not fit in memory."""
        if self.max_columns is not None and len(ids) > self.max_columns:
            return None
        values = np.empty((len(ids), self.rows), np.float32)
        self._fill(values, ids)
        return values

    def _fill(self, values: NDArray[np.float32], ids: Ids) -> None:
        """Compute the columns of these features at all rows."""
        at = 0
        for some in self._in_order(ids, None, self._stripes(len(ids))):
            values[:, at : at + some.shape[1]] = some
            at += some.shape[1]

    def rows_of(self, ids: Ids, which: NDArray[np.intp] | None = None) -> NDArray[np.float32]:
        """The columns of these features at some rows (ascending), in memory: features x rows."""
        rows = None if which is None or len(which) == self.rows else which.astype(np.uint32)
        values = np.empty((len(ids), self.rows if rows is None else len(rows)), np.float32)
        at = 0
        for piece in self.generate(ids, rows) if len(ids) else ():
            values[:, at : at + piece.shape[1]] = piece
            at += piece.shape[1]
        return values

    def generate(self, ids: Ids, rows: NDArray[np.uint32] | None) -> Iterator[NDArray[np.float32]]:
        """Yield the columns of these features at all rows, or at some (ascending), a few stripes at a time."""
        stripes = self._stripes(len(ids))
        buffer = np.empty((len(ids), stripes * STRIPE), np.float32)
        filled = 0
        for values in self._in_order(ids, rows, stripes):
            done = 0
            while done < values.shape[1]:
                taken = min(values.shape[1] - done, buffer.shape[1] - filled)
                buffer[:, filled : filled + taken] = values[:, done : done + taken]
                filled, done = filled + taken, done + taken
                if filled == buffer.shape[1]:
                    yield buffer
                    filled = 0
        if filled:
            yield buffer[:, :filled]

    def _in_order(self, ids: Ids, rows: NDArray[np.uint32] | None, stripes: int) -> Iterator[NDArray[np.float32]]:
        """Yield the columns at all rows, or at some (ascending), in order, a few rows at a time."""
        features, at = RandomFeatureMap(self.space, ids, self.pool), 0
        for piece in self._pieces(stripes, len(ids)):
            wanted = piece
            if rows is not None:
                inside = rows[np.searchsorted(rows, at) : np.searchsorted(rows, at + len(piece))]
                wanted = piece if len(inside) == len(piece) else piece.take(inside.astype(np.int64) - at)
            at += len(piece)
            if len(wanted):
                yield self._values(features, wanted)

    def _stripes(self, columns: int) -> int:
        if self._part is None:
            return _MAX_STRIPES
        return max(1, min(_MAX_STRIPES, self._part // (BYTES_PER_FEATURE * columns)))

    def _pieces(self, stripes: int, columns: int) -> Iterator[Batch]:
        """The rows, in batches of at most this many stripes, and of inputs whose coefficients fit."""
        limit = stripes * STRIPE
        # The plan has at least `BYTES_PER_FEATURE` for each.
        per_feature = None if self._part is None else max(BYTES_PER_FEATURE, self._part // max(1, columns))
        for batch in self.store:
            for first in range(0, len(batch), limit):
                piece = batch if len(batch) <= limit else batch.take(slice(first, first + limit))
                if per_feature is None:
                    yield piece
                else:
                    yield from _with_few_inputs(piece, per_feature // _BYTES_PER_COEFFICIENT)

    def _values(self, features: RandomFeatureMap, batch: Batch) -> NDArray[np.float32]:
        values = features.values(batch)
        if not np.isfinite(values).all():
            raise DataError("the value of a random feature exceeds single precision. Scale the columns.")
        return values


def check_rows_differ(rows: Rows) -> None:
    """Raise if all rows are equal."""
    if rows.all_equal():
        what = "there is only one sample" if rows.rows == 1 else "all rows are equal"
        raise DataError(f"{what}, so there is nothing to learn. Check the columns.")


def _with_few_inputs(batch: Batch, most: int) -> Iterator[Batch]:
    """The rows in batches of at most this many distinct inputs each, or of one row."""
    if len(batch) == 1 or batch.nnz <= most or len(np.unique(batch.keys)) <= most:
        yield batch
        return
    middle = len(batch) // 2
    yield from _with_few_inputs(batch.take(slice(0, middle)), most)
    yield from _with_few_inputs(batch.take(slice(middle, None)), most)
