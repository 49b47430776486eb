"""A worker that holds the columns of a range of hashed keys. The same code runs on threads and on Ray."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.column_blocks import BYTES_PER_ENTRY
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.sharded import Entries, divide, first_hash
from thresher.core.batch import Batch
from thresher.distributed.shard import Shard, ShardSpec, Summary
from thresher.errors import ThresherError
from thresher.sources.base import Source
from thresher.sources.registry import is_file_source


@dataclass(frozen=True, kw_only=True)
class ColumnShare(ShardSpec):
    """The share of a worker that holds one of ``of`` parts of the columns."""

    what: ClassVar[str] = "columns"

    def make(self, source: Source, weights: NDArray[np.float64] | None = None) -> ColumnShard:
        """The worker."""
        return ColumnShard(self, source, weights)


class ColumnShard(Shard):
    """Parses a part of the rows for all workers, and holds its share of the columns of all rows."""

    def __init__(self, share: ShardSpec, source: Source, weights: NDArray[np.float64] | None = None) -> None:
        super().__init__(share, source, weights)
        self._received: list[list[Entries]] = [[] for _ in range(share.of)]
        self._bytes = 0
        self._store: _native.ColumnStore | None = None

    def _keep(self, batch: Batch, entries: list[list[Entries]]) -> None:
        for some, new in zip(entries, divide(batch, self.share.of), strict=True):
            some.append(new)

    def take(self, entries: list[list[Entries]]) -> int:
        for received, new in zip(self._received, entries, strict=True):
            received += [one.copy() for one in new] if self.share.copies else new
            self._bytes += sum(BYTES_PER_ENTRY * len(one.keys) + one.counts.nbytes for one in new)
        return self._bytes

    def finish(self, weights: NDArray[np.float64]) -> Summary:
        """Build the columns. The parts of the rows follow one another, so that all rows are in their order."""
        store = _native.ColumnStore()
        for received in self._received:
            received.reverse()
            while received:
                received.pop().add_to(store)
        return self._finish(store, weights)

    def held(self) -> Summary:
        """What the worker holds; it reads the columns from all rows, without the other workers, if it lost them."""
        if self._store is not None:
            return Summary(self._store.columns, self._store.entries, self._store.most_bytes)
        assert self._weights is not None
        store = _native.ColumnStore(*hash_range(self.share.number, self.share.of))
        source = self._source.prefetched() if is_file_source(self._source) else self._source
        for batch, _ in source.batches(self.share.batch_rows):
            store.add(batch.indptr, batch.keys, batch.values)
        return self._finish(store, self._weights)

    def _finish(self, store: _native.ColumnStore, weights: NDArray[np.float64]) -> Summary:
        self._weights = weights = weights.copy() if self.share.copies else weights
        if store.rows != len(weights):
            raise ThresherError(
                f"{self._source.describe()}: a worker read {store.rows} rows of {len(weights)}: the data changed, or "
                "is not the same on all machines"
            )
        store.finish(self._pool, weights)
        self._store, self._built = store, {}
        return self.held()

    def _contents(self, power: float) -> InMemoryColumns:
        assert self._store is not None
        assert self._weights is not None
        total = float(self._weights.sum())
        return InMemoryColumns(self._store, self._pool, power=power, total=total, weights=self._weights)


def hash_range(shard: int, of: int) -> tuple[int, int]:
    """The smallest and the largest hash of a shard's keys."""
    return first_hash(shard, of), first_hash(shard + 1, of) - 1
