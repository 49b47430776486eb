"""Rows divided among workers: each holds consecutive ones, and answers for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.row_store import Rows, RowStore
from thresher.columns.sharded import ShardPart, Shards
from thresher.columns.types import Floats, Ids
from thresher.core.batch import Batch
from thresher.errors import ThresherError

#: Rows that a worker sends at a time.
_WINDOW = 8192


class HeldRows(NamedTuple):
    """What a worker holds: its rows, and its threads."""

    rows: Rows
    pool: _native.ThreadPool


class RowWindows:
    """Reads ranges of rows; ranges that follow one another take one pass over the rows."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._reading: Iterator[Batch] = iter(())
        self._left: Batch | None = None  # the rest of a batch
        self._at = rows.rows + 1  # the row that comes next

    def take(self, begin: int, count: int) -> list[Batch]:
        """The rows from ``begin`` on, fewer than ``count`` at the end."""
        if begin < self._at:
            self._reading, self._left, self._at = iter(self._rows), None, 0
        found: list[Batch] = []
        end = begin + count
        while self._at < end:
            batch = next(self._reading, None) if self._left is None else self._left
            if batch is None:
                break
            first = max(0, min(begin - self._at, len(batch)))
            last = min(end - self._at, len(batch))
            if first < last:
                found.append(batch if last - first == len(batch) else batch.take(slice(first, last)))
            self._left = batch.take(slice(last, None)) if last < len(batch) else None
            self._at += last
        return found


class _RowAnswers:
    """The answers of a worker about its rows."""

    def __init__(self, held: HeldRows) -> None:
        self._rows = held.rows
        self._windows = RowWindows(held.rows)

    def size(self) -> tuple[int, int]:
        """The number of rows, and their bytes."""
        return self._rows.rows, self._rows.bytes

    def inputs(self) -> Ids:
        return self._rows.inputs()

    def add_moments(self, keys: Ids, weights: Floats | None, sums: Floats, means: Floats | None, scaled: Any) -> Floats:
        return self._rows.add_moments(keys, weights, sums, means=means, scaled=scaled)

    def take(self, which: NDArray[np.intp]) -> RowStore:
        return self._rows.take(which)

    def window(self, begin: int) -> list[Batch]:
        return self._windows.take(begin, _WINDOW)


class _RowPart:
    """The rows themselves."""

    identity = "rows"

    def build(self, held: Any) -> _RowAnswers:
        return _RowAnswers(held)


ROWS = _RowPart()


class SharedRows(Rows):
    """Rows that workers hold, each those of consecutive numbers. Sums run through the workers one after the other, so
    that they are those of one process.

    Parameters
    ----------
    shards : Shards
        The workers.
    """

    bytes = 0  # in this process

    def __init__(self, shards: Shards) -> None:
        self.shards = shards
        sizes = shards.ask(ROWS, 0.0, "size")
        #: The rows of each worker, and the number of its first row.
        self.counts = [sizes[n][0] for n in range(shards.count)]
        self.first = list(accumulate(self.counts, initial=0))
        self.rows = self.first[-1]

    def ask(self, part: ShardPart, name: str, *shared: Any, own: dict[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call a method in the workers of ``own``, with arguments of each."""
        return self.shards.ask(part, 0.0, name, *shared, own=own)

    def __iter__(self) -> Iterator[Batch]:
        for number, count in enumerate(self.counts):
            for begin in range(0, count, _WINDOW):
                found = self.ask(ROWS, "window", own={number: (begin,)})[number]
                check_count(sum(len(batch) for batch in found), min(_WINDOW, count - begin))
                yield from found

    def inputs(self) -> Ids:
        return np.unique(np.concatenate(list(self.shards.ask(ROWS, 0.0, "inputs").values())))

    def add_moments(
        self,
        keys: Ids,
        weights: Floats | None,
        sums: Floats,
        *,
        means: Floats | None = None,
        scaled: Callable[[Batch], Batch] | None = None,
    ) -> Floats:
        for number in range(self.shards.count):
            some = None if weights is None else weights[self.first[number] : self.first[number + 1]]
            sums = self.ask(ROWS, "add_moments", keys, own={number: (some, sums, means, scaled)})[number]
        return sums

    def take(self, which: NDArray[np.intp]) -> RowStore:
        store = RowStore()
        own = {number: (some,) for number, some in self.divided(which).items() if len(some)}
        for number, found in self.ask(ROWS, "take", own=own).items():
            check_count(found.rows, len(own[number][0]))
            for batch in found:
                store.add(batch.indptr, batch.keys, batch.values)
        return store

    def divided(self, which: NDArray[Any]) -> dict[int, NDArray[Any]]:
        """The numbers of these rows (ascending) within each worker."""
        bounds = np.searchsorted(which, self.first)
        return {n: which[bounds[n] : bounds[n + 1]] - which.dtype.type(self.first[n]) for n in range(self.shards.count)}


def check_count(found: int, expected: int) -> None:
    """Raise if a worker has answered for other rows than it has read at first."""
    if found != expected:
        raise ThresherError(
            f"a worker has {found} rows of {expected}: the data changed, or is not the same on all machines"
        )
