"""Columns of data larger than memory, as many at a time as fit (Algorithm 5 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from thresher import _native
from thresher.batch import Batch
from thresher.families.family import Floats, Ids
from thresher.families.stored import StoredColumns
from thresher.sources.combine import ReadAhead
from thresher.sources.scan import is_file_source
from thresher.sources.source import DEFAULT_ROWS, Source

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

    def value_range(self) -> tuple[float, float]:
        """The smallest and the largest value, zero included; a reading."""
        least = most = 0.0
        for batch, _ in self.source.batches(self.batch_rows):
            values = np.ones(1) if batch.values is None else batch.values
            least, most = min(least, float(values.min(initial=0.0))), max(most, float(values.max(initial=0.0)))
        self.passes += 1
        return least, most
