"""A worker that holds the columns of a range of hashed keys. The same code runs on threads and on Ray."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.column_blocks import BYTES_PER_ENTRY
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.sharded import Entries, ShardPart, divide, first_hash
from thresher.core.batch import Batch, Cursor
from thresher.errors import ThresherError
from thresher.sources.base import Source
from thresher.sources.registry import is_file_source
from thresher.working_set.calibration import row_parts


@dataclass(frozen=True, kw_only=True)
class ColumnShare:
    """The share of a worker: part ``number`` of ``of`` parts of the rows to parse, and of the columns to hold.

    Attributes
    ----------
    entries : int
        About the most features that a step of the exchange parses.
    want_parts : bool
        Assign the rows to tenths.
    threads : int
        Threads of the worker. The results do not depend on them.
    copies : bool
        What arrives must be copied to be kept.
    """

    number: int
    of: int
    batch_rows: int
    entries: int
    want_parts: bool
    threads: int
    copies: bool = False


class ReadRows(NamedTuple):
    """Rows as the process that started the fit needs them: the labels, and no features."""

    labels: Batch
    cursor: Cursor
    features: int
    parts: NDArray[np.uint8] | None


class Parsed(NamedTuple):
    """The result of a step: rows, whether the part of the rows ends here, and the entries for each worker."""

    rows: list[ReadRows]
    ended: bool
    entries: list[list[Entries]]


class Summary(NamedTuple):
    """What a worker holds: columns, their entries, and the peak of bytes while they were built."""

    columns: int
    entries: int
    bytes: int


class ColumnShard:
    """Parses a part of the rows for all workers, and holds its share of the columns of all rows.

    Everything follows from the data and the share, so that a lost worker's columns can be read again by another one.

    Parameters
    ----------
    share : ColumnShare
    source : Source
        All rows.
    weights : array, optional
        The row weights, if all rows were parsed before: the columns are then read from all rows when they are needed.
    """

    def __init__(self, share: ColumnShare, source: Source, weights: NDArray[np.float64] | None = None) -> None:
        self.share = share
        self._source = source
        self._reading: Iterator[tuple[Batch, Cursor]] = iter(())
        if weights is None and share.number < len(parts := source.shards(share.of)):
            self._reading = parts[share.number].batches(share.batch_rows)
        self._received: list[list[Entries]] = [[] for _ in range(share.of)]
        self._bytes = 0
        self._pool = _native.ThreadPool(share.threads)
        self._store: _native.ColumnStore | None = None
        self._weights = weights
        self._built: dict[tuple[str, float], Any] = {}

    # ── reading ──────────────────────────────────────────────────────────────────────────────────

    def parse(self) -> Parsed:
        """Parse some more rows, and divide their features."""
        rows: list[ReadRows] = []
        entries: list[list[Entries]] = [[] for _ in range(self.share.of)]
        done = 0
        while done < self.share.entries:
            found = next(self._reading, None)
            if found is None:
                return Parsed(rows, True, entries)
            batch, cursor = found
            done += batch.nnz + len(batch)
            parts = row_parts(batch) if self.share.want_parts else None
            rows.append(ReadRows(without_features(batch), cursor, batch.nnz, parts))
            for some, new in zip(entries, divide(batch, self.share.of), strict=True):
                some.append(new)
        return Parsed(rows, False, entries)

    def take(self, entries: list[list[Entries]]) -> int:
        """Keep what every worker parsed in a step; returns the bytes that the columns so far need at most."""
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

    # ── answers ──────────────────────────────────────────────────────────────────────────────────

    def answer(self, part: ShardPart, power: float, name: str, *given: Any) -> Any:
        """Call a method of what ``part`` builds over the columns."""
        self.held()
        key = part.identity, power
        if key not in self._built:
            self._built[key] = part.build(self._columns(power))
        return getattr(self._built[key], name)(*given)

    def _columns(self, power: float) -> InMemoryColumns:
        assert self._store is not None
        assert self._weights is not None
        total = float(self._weights.sum())
        return InMemoryColumns(self._store, self._pool, power=power, total=total, weights=self._weights)


def hash_range(shard: int, of: int) -> tuple[int, int]:
    """The smallest and the largest hash of a shard's keys."""
    return first_hash(shard, of), first_hash(shard + 1, of) - 1


def without_features(batch: Batch) -> Batch:
    """The rows of a batch with their labels and weights only."""
    nothing = np.zeros(len(batch) + 1, np.int64)
    return replace(batch, indptr=nothing, keys=np.empty(0, np.uint64), values=None, names=None)
