"""Columns of data larger than memory, loaded in blocks that fit (Algorithm 5 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.types import Floats, Ids, Proposal, ScaledColumns, SingleColumns, merge_proposals
from thresher.core.batch import Batch
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.sources.registry import is_file_source

#: Bytes per entry while rows are converted to columns.
BYTES_PER_ENTRY = 24
_N_KEYS = 2**64


class ColumnBlocks:
    """Iterates over the columns of a source in blocks. Every block takes one pass over the source.

    Parameters
    ----------
    source : Source
    entries : int
        The number of entries in the source.
    memory : int
        Bytes for a block.
    weights : array
        The row weights.
    on_batch : callable, optional
        Called with every batch that is read.
    """

    def __init__(
        self,
        source: Source,
        entries: int,
        pool: _native.ThreadPool,
        *,
        memory: int,
        power: float,
        weights: Floats,
        batch_rows: int = DEFAULT_ROWS,
        on_batch: Callable[[Batch], None] | None = None,
    ) -> None:
        self.source = source.prefetched() if is_file_source(source) else source
        self.rows = len(weights)
        self.entries = entries
        self.memory = memory
        self.power = power
        self.weights = weights
        self.pool = pool
        self.batch_rows = batch_rows
        self._on_batch = on_batch or (lambda batch: None)

    def __iter__(self) -> Iterator[InMemoryColumns]:
        """Yield all columns, divided into blocks by a hash of their keys."""
        parts = max(1, -(-BYTES_PER_ENTRY * self.entries // self.memory))
        edges = [_N_KEYS * part // parts for part in range(parts + 1)]
        for first, end in pairwise(edges):
            yield self._read(_native.ColumnStore(first, end - 1), None)

    def load(self, keys: Ids) -> InMemoryColumns:
        """Load the columns of these keys."""
        return self._read(_native.ColumnStore(), np.ascontiguousarray(keys))

    def _read(self, store: _native.ColumnStore, keys: Ids | None) -> InMemoryColumns:
        for batch, _ in self.source.batches(self.batch_rows, keys=keys):
            store.add(batch.indptr, batch.keys, batch.values)
            self._on_batch(batch)
        store.finish(self.pool, self.weights)
        total = float(self.weights.sum())
        return InMemoryColumns(store, self.pool, power=self.power, total=total, weights=self.weights)

    def find_keys(self, predicate: Callable[[Ids], NDArray[np.bool_]]) -> Ids:
        """The keys for which ``predicate`` is true, in ascending order; takes one pass."""
        found = np.empty(0, np.uint64)
        for batch, _ in self.source.batches(self.batch_rows):
            keys = np.unique(batch.keys)
            found = np.union1d(found, keys[predicate(keys)])
            self._on_batch(batch)
        return found

    def value_range(self) -> tuple[float, float]:
        """The smallest and the largest value, including zero; takes one pass."""
        low = high = 0.0
        for batch, _ in self.source.batches(self.batch_rows):
            values = np.ones(1) if batch.values is None else batch.values
            low, high = min(low, float(values.min(initial=0.0))), max(high, float(values.max(initial=0.0)))
        return low, high


class BlockedColumns(SingleColumns):
    """The family of all columns, loaded in blocks. Scores and columns are bitwise those of `InMemoryColumns`."""

    def __init__(self, blocks: ColumnBlocks) -> None:
        self.blocks = blocks
        self.rows = blocks.rows
        self.bytes = blocks.memory

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        parts = [block.top(residuals, limit) for block in self.blocks]
        return [merge_proposals(proposals, limit) for proposals in zip(*parts, strict=True)]

    def columns(self, ids: Ids) -> ScaledColumns:
        return self.blocks.load(np.unique(ids)).columns(ids)

    def squared_sums(self, residuals: Floats, keys: Ids) -> Floats:
        # A key has a nonzero score in one block only.
        sums = np.zeros((len(residuals), len(keys)))
        for block in self.blocks:
            sums += block.squared_sums(residuals, keys)
        return sums
