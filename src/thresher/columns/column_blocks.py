"""Columns of data larger than memory, as many at a time as fit (Algorithm 5 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.in_memory import StoredColumns
from thresher.columns.types import Columns, Family, Floats, Ids, Proposal, best_of
from thresher.core.batch import Batch
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.sources.registry import is_file_source
from thresher.sources.transforms.prefetch import ReadAhead

#: What an entry takes while columns are made of rows, in bytes.
ENTRY = 24
_KEYS = 2**64


class ColumnBlocks:
    """The columns of a source, a block of them at a time; every block is a reading of the source.

    Parameters
    ----------
    source : Source
    entries : int
        Numbers in all of it.
    memory : int
        Bytes for a block.
    weights : array
        Importance of each row.
    tell : callable, optional
        Called with every batch that passes by.
    """

    def __init__(
        self,
        source: Source,
        entries: int,
        team: _native.Team,
        *,
        memory: int,
        power: float,
        weights: Floats,
        batch_rows: int = DEFAULT_ROWS,
        tell: Callable[[Batch], None] | None = None,
    ) -> None:
        self.source = ReadAhead(source) if is_file_source(source) else source
        self.rows = len(weights)
        self.entries = entries
        self.memory = memory
        self.power = power
        self.weights = weights
        self.team = team
        self.batch_rows = batch_rows
        self.passes = 0
        self._tell = tell or (lambda batch: None)

    def __iter__(self) -> Iterator[StoredColumns]:
        """All columns, split by a hash of their keys."""
        parts = max(1, -(-ENTRY * self.entries // self.memory))
        edges = [_KEYS * part // parts for part in range(parts + 1)]
        for first, end in pairwise(edges):
            yield self._read(_native.ColumnStore(first, end - 1), None)

    def load(self, keys: Ids) -> StoredColumns:
        """These columns."""
        return self._read(_native.ColumnStore(), np.ascontiguousarray(keys))

    def _read(self, store: _native.ColumnStore, keys: Ids | None) -> StoredColumns:
        for batch, _ in self.source.batches(self.batch_rows, keys=keys):
            store.add(batch.indptr, batch.keys, batch.values)
            self._tell(batch)
        self.passes += 1
        store.finish(self.team, self.weights)
        total = float(self.weights.sum())
        return StoredColumns(store, self.team, power=self.power, total=total, weights=self.weights)

    def keys(self, wanted: Callable[[Ids], NDArray[np.bool_]]) -> Ids:
        """The keys that ``wanted`` says yes to, rising; a reading."""
        found = np.empty(0, np.uint64)
        for batch, _ in self.source.batches(self.batch_rows):
            keys = np.unique(batch.keys)
            found = np.union1d(found, keys[wanted(keys)])
            self._tell(batch)
        self.passes += 1
        return found

    def value_range(self) -> tuple[float, float]:
        """The smallest and the largest value, zero included; a reading."""
        least = most = 0.0
        for batch, _ in self.source.batches(self.batch_rows):
            values = np.ones(1) if batch.values is None else batch.values
            least, most = min(least, float(values.min(initial=0.0))), max(most, float(values.max(initial=0.0)))
        self.passes += 1
        return least, most


class BlockedColumns(Family):
    """Single features, as `StoredColumns` has them, a block at a time."""

    def __init__(self, blocks: ColumnBlocks) -> None:
        self.blocks = blocks
        self.rows = blocks.rows
        self.bytes = blocks.memory

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        parts = [block.top(residuals, most) for block in self.blocks]
        return [best_of(proposals, most) for proposals in zip(*parts, strict=True)]

    def columns(self, ids: Ids) -> Columns:
        return self.blocks.load(np.unique(ids)).columns(ids)

    def squared_sums(self, residuals: Floats, keys: Ids) -> Floats:
        """`StoredColumns.squared_sums`: every key is in one block, and nothing in the others."""
        sums = np.zeros((len(residuals), len(keys)))
        for block in self.blocks:
            sums += block.squared_sums(residuals, keys)
        return sums
