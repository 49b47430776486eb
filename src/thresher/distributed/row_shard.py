"""A worker that holds consecutive rows. The same code runs on threads and on Ray."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.columns.row_store import OutOfCoreRows, Rows, RowStore
from thresher.columns.sharded import Entries
from thresher.columns.shared_rows import HeldRows
from thresher.core.batch import Batch
from thresher.distributed.shard import Shard, ShardSpec, Summary
from thresher.sources.base import Source


@dataclass(frozen=True, kw_only=True)
class RowShare(ShardSpec):
    """The share of a worker that holds one of ``of`` parts of the rows.

    Attributes
    ----------
    room : int, optional
        Bytes for rows in memory; more of them are read again whenever they are needed.
    """

    what: ClassVar[str] = "rows"

    room: int | None = None

    def make(self, source: Source, weights: NDArray[np.float64] | None = None) -> RowShard:
        """The worker."""
        return RowShard(self, source, weights)


class RowShard(Shard):
    """Reads a part of the rows, and holds them."""

    share: RowShare

    def __init__(self, share: RowShare, source: Source, weights: NDArray[np.float64] | None = None) -> None:
        super().__init__(share, source, weights)
        self._store: RowStore | None = RowStore()  # None: the rows do not fit
        self._count = self._entries = self._most = 0
        self._rows: Rows | None = None

    def _keep(self, batch: Batch, entries: list[list[Entries]]) -> None:
        self._count, self._entries = self._count + len(batch), self._entries + batch.nnz
        if self._store is None:
            return
        self._store.add(batch.indptr, batch.keys, batch.values)
        self._most = max(self._most, self._store.bytes)
        if self.share.room is not None and self._store.bytes > self.share.room:
            self._store = None

    def take(self, entries: list[list[Entries]]) -> int:
        return 0 if self._store is None else self._store.bytes

    def finish(self, weights: NDArray[np.float64]) -> Summary:
        part = self._part()
        if self._store is not None or part is None:
            self._rows = self._store or RowStore()
        else:
            self._rows = OutOfCoreRows(part, self._count, self.share.batch_rows)
        return self.held()

    def held(self) -> Summary:
        if self._rows is None:
            part = self._part()
            for batch, _ in () if part is None else part.batches(self.share.batch_rows):
                self._keep(batch, [])
            return self.finish(np.empty(0))
        return Summary(self._count, self._entries, self._most)

    def _contents(self, power: float) -> HeldRows:
        assert self._rows is not None
        return HeldRows(self._rows, self._pool)
