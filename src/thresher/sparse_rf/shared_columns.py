"""Columns of random features whose rows workers hold: each computes the values at its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.row_store import RowStore
from thresher.columns.shared_rows import HeldRows, RowWindows, SharedRows, check_count
from thresher.columns.types import Ids
from thresher.core.feature_space import FeatureSpace
from thresher.sparse_rf.feature_columns import STRIPE, RandomFeatureColumns

Values = NDArray[np.float32]


class FeaturePart:
    """What a worker needs to compute random features: their space, and the bytes that computing may take."""

    def __init__(self, space: FeatureSpace, part: int | None) -> None:
        self.space = space
        self.part = part

    @property
    def identity(self) -> str:
        return f"features {self.space.random_features!r}"

    def build(self, held: HeldRows) -> _FeatureAnswers:
        return _FeatureAnswers(held, self)


class _FeatureAnswers:
    """The values of random features at a worker's rows. They depend on a row alone."""

    def __init__(self, held: HeldRows, part: FeaturePart) -> None:
        self._held, self._part = held, part
        self._windows = RowWindows(held.rows)

    def values(self, ids: Ids, begin: int, count: int, rows: NDArray[np.uint32] | None) -> Values:
        """The values at rows from ``begin`` on, or at some of them: their numbers among these."""
        store = RowStore()
        for batch in self._windows.take(begin, count):
            store.add(batch.indptr, batch.keys, batch.values)
        columns = RandomFeatureColumns(self._part.space, store, self._held.pool, part=self._part.part)
        return columns.rows_of(ids, None if rows is None else rows.astype(np.intp))


class SharedFeatureColumns(RandomFeatureColumns):
    """The columns of an unlimited number of random features, which workers compute at the rows that they hold.

    The values are those of one process. Columns that fit in memory are computed by all workers at the same time;
    others by one worker after the other, in the order of the rows.
    """

    store: SharedRows

    def __init__(
        self,
        space: FeatureSpace,
        store: SharedRows,
        pool: _native.ThreadPool,
        *,
        room: int | None = None,
        part: int | None = None,
    ) -> None:
        super().__init__(space, store, pool, room=room, part=part)
        self._share = FeaturePart(space, part)

    def _fill(self, values: Values, ids: Ids) -> None:
        rows, size = self.store, self._stripes(len(ids)) * STRIPE
        for begin in range(0, max(rows.counts), size):
            wanted = {n: min(size, count - begin) for n, count in enumerate(rows.counts) if count > begin}
            own: dict[int, tuple[Any, ...]] = {n: (begin, count, None) for n, count in wanted.items()}
            for n, some in rows.ask(self._share, "values", ids, own=own).items():
                check_count(some.shape[1], wanted[n])
                at = rows.first[n] + begin
                values[:, at : at + wanted[n]] = some

    def _in_order(self, ids: Ids, rows: NDArray[np.uint32] | None, stripes: int) -> Iterator[Values]:
        shared, size = self.store, stripes * STRIPE
        divided = None if rows is None else shared.divided(rows)
        for number, count in enumerate(shared.counts):
            for begin in range(0, count, size):
                wanted, some = min(size, count - begin), None
                if divided is not None:
                    bounds = np.searchsorted(divided[number], (begin, begin + wanted))
                    some = divided[number][bounds[0] : bounds[1]] - np.uint32(begin)
                    if not len(some):
                        continue
                found = shared.ask(self._share, "values", ids, own={number: (begin, wanted, some)})[number]
                check_count(found.shape[1], wanted if some is None else len(some))
                yield found
