"""Columns divided among workers by a hash of their keys: each answers for its own, and the answers are merged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.types import Floats, Ids, Proposal, ScaledColumns, SingleColumns, merge_proposals
from thresher.core.batch import Batch

_HALF = np.uint64(32)


def first_hash(shard: int, of: int) -> int:
    """The smallest hash of a key that belongs to a shard; that of shard ``of`` is one more than the largest hash."""
    return -(-(shard << 32) // of) << 32


def shard_of(keys: Ids, of: int) -> NDArray[np.uint16]:
    """The shard that each key belongs to."""
    hashes = _native.mix_keys(np.ascontiguousarray(keys))
    return (((hashes >> _HALF) * np.uint64(of)) >> _HALF).astype(np.uint16)


class Entries(NamedTuple):
    """Some features of consecutive rows: their number in each row, their keys and their values (None: all ones)."""

    counts: NDArray[np.uint32]
    keys: Ids
    values: NDArray[np.float32] | None

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return self.counts.nbytes + self.keys.nbytes + (0 if self.values is None else self.values.nbytes)

    def copy(self) -> Entries:
        """The same entries in memory of their own."""
        return Entries(self.counts.copy(), self.keys.copy(), None if self.values is None else self.values.copy())

    def add_to(self, store: _native.ColumnStore) -> None:
        """Append the rows to a store."""
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts, dtype=np.int64)])
        store.add(indptr, self.keys, self.values)


def divide(batch: Batch, of: int) -> list[Entries]:
    """The features of a batch by shard. Each part has all rows, and the features of a row in their order."""
    if of == 1:
        return [Entries(np.diff(batch.indptr).astype(np.uint32), batch.keys, batch.values).copy()]
    shards = shard_of(batch.keys, of)
    order = np.argsort(shards, kind="stable")
    rows = np.repeat(np.arange(len(batch), dtype=np.uint32), np.diff(batch.indptr))[order]
    keys = batch.keys[order]
    values = None if batch.values is None else batch.values[order]
    ends = np.cumsum(np.bincount(shards, minlength=of)).tolist()
    return [
        Entries(
            np.bincount(rows[begin:end], minlength=len(batch)).astype(np.uint32),
            keys[begin:end],
            None if values is None else values[begin:end],
        ).copy()  # parts are freed one by one
        for begin, end in zip([0, *ends[:-1]], ends, strict=True)
    ]


class ShardPart(Protocol):
    """What a worker builds over its columns or rows to answer questions. It is sent to the worker, and kept there."""

    @property
    def identity(self) -> str:
        """A text that tells it from others."""

    def build(self, held: Any, /) -> Any:
        """Build the object whose methods answer."""


class _Plain:
    """The columns themselves."""

    identity = ""

    def build(self, columns: InMemoryColumns) -> InMemoryColumns:
        return columns


PLAIN = _Plain()

#: The most entries of columns that a worker sends with its best, before it is known which of them are proposed.
_SENT = 1 << 17


class Best(NamedTuple):
    """The best elements of each output, and the columns of those that were not known, if they are not too large."""

    proposals: list[Proposal]
    ids: Ids
    columns: ScaledColumns | None


class _BestPart:
    """The best columns with their contents, so that an iteration takes one question."""

    identity = "best"

    def build(self, columns: InMemoryColumns) -> _BestAnswers:
        return _BestAnswers(columns)


class _BestAnswers:
    def __init__(self, columns: InMemoryColumns) -> None:
        self._columns = columns

    def top(self, residuals: Floats, limit: int, known: Ids, new: int) -> Best:
        """The best ``limit`` columns, with the contents of the best ``new`` of each output that are not known."""
        proposals = self._columns.top(residuals, limit)
        ids = np.unique(np.concatenate([one.ids[~np.isin(one.ids, known)][:new] for one in proposals]))
        found = self._columns.columns(ids) if len(ids) else None
        return Best(proposals, ids, found if found is not None and len(found.rows) <= _SENT else None)


BEST = _BestPart()


class Shards(ABC):
    """Workers that hold the columns of a dataset, each those of a range of hashed keys.

    A question is a method of what a `ShardPart` builds. The answer follows from the question and the data alone, so
    that another worker can give it, too.
    """

    #: The number of shards, and the rows of the data.
    count: int
    rows: int
    #: Bytes of the columns, in all shards together.
    bytes: int
    #: The row weights, and the threads of this process.
    weights: Floats
    pool: _native.ThreadPool
    #: Bytes for columns that this process loads.
    memory: int

    @abstractmethod
    def ask(
        self,
        part: ShardPart,
        power: float,
        name: str,
        *shared: Any,
        own: Mapping[int, tuple[Any, ...]] | None = None,
    ) -> dict[int, Any]:
        """Call a method in every shard, or in those of ``own``, which maps shards to further arguments of each.

        Parameters
        ----------
        part : ShardPart
        power : float
            Columns are divided by their root mean square to this power.
        """

    def load(self, keys: Ids, power: float) -> InMemoryColumns:
        """The columns of these keys, in this process."""
        found = ShardedColumns(self, power).columns(keys)
        order = np.argsort(found.rows, kind="stable")
        counts = np.bincount(found.rows, minlength=self.rows)
        store = _native.ColumnStore()
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
        store.add(indptr, np.repeat(keys, np.diff(found.indptr))[order], np.ascontiguousarray(found.values[order]))
        store.finish(self.pool, self.weights)
        total = float(self.weights.sum())
        return InMemoryColumns(store, self.pool, power=power, total=total, weights=self.weights)

    def by_shard(self, keys: Ids) -> dict[int, NDArray[np.intp]]:
        """The positions of the keys that belong to each shard, for the shards that have any."""
        shards = shard_of(keys, self.count)
        return {int(shard): np.flatnonzero(shards == shard) for shard in np.unique(shards)}


class ShardedColumns(SingleColumns):
    """The family of all columns, held by workers. Scores and columns are bitwise those of `InMemoryColumns`."""

    def __init__(self, shards: Shards, power: float) -> None:
        self.shards = shards
        self.power = power
        self.rows = shards.rows
        self.bytes = shards.bytes
        self._received: list[Best] = []  # with the last answers
        self._loaded: Ids = np.empty(0, np.uint64)  # ids of loaded columns: sent again only if asked for
        self._new = 2**31  # the columns that an iteration adds: the fewest asked for so far, when none was known

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        self._new = min(self._new, limit)
        residuals = np.ascontiguousarray(residuals)
        parts = self.shards.ask(BEST, self.power, "top", residuals, limit, self._loaded, self._new)
        self._received = [part for part in parts.values() if part.columns is not None]
        return merged_tops([part.proposals for part in parts.values()], limit)

    def columns(self, ids: Ids) -> ScaledColumns:
        parts, missing = [], np.ones(len(ids), bool)
        for part in self._received:
            assert part.columns is not None
            at = np.flatnonzero(np.isin(ids, part.ids))
            if len(at):
                missing[at] = False
                parts.append((at, _some_of(part.columns, np.searchsorted(part.ids, ids[at]))))
        if missing.any():
            places = np.flatnonzero(missing)
            own = {shard: (ids[places[at]],) for shard, at in self.shards.by_shard(ids[places]).items()}
            found = self.shards.ask(PLAIN, self.power, "columns", own=own)
            parts += [(places[at], found[shard]) for shard, at in self.shards.by_shard(ids[places]).items()]
        self._loaded = np.union1d(self._loaded, ids)
        return gathered(parts, len(ids))

    def squared_sums(self, residuals: Floats, keys: Ids) -> Floats:
        places = self.shards.by_shard(keys)
        own = {shard: (keys[at],) for shard, at in places.items()}
        found = self.shards.ask(PLAIN, self.power, "squared_sums", np.ascontiguousarray(residuals), own=own)
        scores = np.zeros((len(residuals), len(keys)))
        for shard, at in places.items():
            scores[:, at] = found[shard]
        return scores

    def value_range(self) -> tuple[float, float]:
        """The smallest and the largest value, including zero."""
        found = list(self.shards.ask(PLAIN, self.power, "value_range").values())
        return min(low for low, _ in found), max(high for _, high in found)


def merged_tops(parts: Iterable[list[Proposal]], limit: int) -> list[Proposal]:
    """The best elements of each output among the best of every shard; ties go to the smaller id."""
    return [merge_proposals(proposals, limit) for proposals in zip(*parts, strict=True)]


def _some_of(columns: ScaledColumns, which: NDArray[np.intp]) -> ScaledColumns:
    """Some of these columns, in this order."""
    sizes = np.diff(columns.indptr)[which]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    at = np.repeat(columns.indptr[which] - indptr[:-1], sizes) + np.arange(indptr[-1])
    return ScaledColumns(indptr, columns.rows[at], columns.values[at], columns.scales[which])


def gathered(parts: list[tuple[NDArray[np.intp], ScaledColumns]], columns: int) -> ScaledColumns:
    """Columns from several parts; each part comes with the places of its columns in the result."""
    sizes, scales = np.zeros(columns, np.int64), np.ones(columns)
    for at, part in parts:
        sizes[at], scales[at] = np.diff(part.indptr), part.scales
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    rows, values = np.empty(indptr[-1], np.uint32), np.empty(indptr[-1], np.float32)
    for at, part in parts:
        moved = np.repeat(indptr[at] - part.indptr[:-1], sizes[at]) + np.arange(len(part.rows))
        rows[moved], values[moved] = part.rows, part.values
    return ScaledColumns(indptr, rows, values, scales)
