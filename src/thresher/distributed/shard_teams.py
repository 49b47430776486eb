"""Workers that hold columns, on threads of this process."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thresher import _native
from thresher.columns.sharded import ShardPart, Shards
from thresher.columns.types import Floats
from thresher.distributed.shard import ReadRows, Shard, ShardSpec, Summary
from thresher.sources.base import Source

T = TypeVar("T")


class WorkerLost(Exception):
    """A worker was lost while rows were read: all of them begin again."""


class Step(NamedTuple):
    """A step of reading: the rows of each worker's part, whether it ends here, and the most bytes of a worker."""

    rows: list[list[ReadRows]]
    ended: list[bool]
    held: int


class ShardTeam(Shards):
    """Workers that read the rows together, and then hold the columns.

    First every worker parses its part of the rows, a step at a time, and sends the features to the workers that hold
    their keys. Then the columns are built, and the workers answer.

    Parameters
    ----------
    share : ShardSpec
        The share of the first worker.
    """

    def __init__(self, share: ShardSpec, source: Source, pool: _native.ThreadPool) -> None:
        self.count = share.of
        self.pool = pool
        self.rows = self.bytes = 0
        #: Bytes of the columns of the worker that has most.
        self.largest = 0
        self.memory = 2**62
        self.weights: Floats = np.empty(0)
        self.share = share
        self.source = source

    @property
    def working(self) -> int:
        """The number of workers that are alive."""
        return self.count

    @abstractmethod
    def start(self) -> None:
        """Begin to read."""

    @abstractmethod
    def step(self) -> Step:
        """Let every worker parse some rows; WorkerLost if reading must start anew."""

    def finish(self, weights: Floats) -> None:
        """Build the columns, after the last step."""
        self.weights, self.rows = weights, len(weights)
        held = [one.bytes for one in self._finish(weights)]
        self.bytes, self.largest = sum(held), max(held)

    @abstractmethod
    def _finish(self, weights: Floats) -> list[Summary]:
        """Build the columns in every worker."""

    @abstractmethod
    def close(self) -> None:
        """End the workers, and free what they hold. If they are asked again, they start again, and read the rows."""


class ThreadShards(ShardTeam):
    """Workers on threads of this process."""

    def __init__(self, share: ShardSpec, source: Source, pool: _native.ThreadPool) -> None:
        super().__init__(share, source, pool)
        self._shards: list[Shard] = []
        self._threads = ThreadPoolExecutor(self.count, thread_name_prefix="thresher-worker")

    def start(self) -> None:
        self._shards = self._made()

    def _made(self, weights: Floats | None = None) -> list[Shard]:
        return [replace(self.share, number=n).make(self.source, weights) for n in range(self.count)]

    def step(self) -> Step:
        parsed = self._each(range(self.count), lambda shard, n: shard.parse())
        rows, ended = [one.rows for one in parsed], [one.ended for one in parsed]
        held = self._each(range(self.count), lambda shard, n: shard.take([one.entries[n] for one in parsed]))
        return Step(rows, ended, max(held))

    def _finish(self, weights: Floats) -> list[Summary]:
        return self._each(range(self.count), lambda shard, n: shard.finish(weights))

    def ask(
        self,
        part: ShardPart,
        power: float,
        name: str,
        *shared: Any,
        own: Mapping[int, tuple[Any, ...]] | None = None,
    ) -> dict[int, Any]:
        if not self._shards:
            self._shards = self._made(self.weights)
        own = dict.fromkeys(range(self.count), ()) if own is None else own
        asked = list(own)
        found = self._each(asked, lambda shard, n: shard.answer(part, power, name, *shared, *own[n]))
        return dict(zip(asked, found, strict=True))

    def _each(self, numbers: Any, call: Callable[[Shard, int], T]) -> list[T]:
        """Call with each of these shards at once; an error is that of the first one that has one."""
        futures = [self._threads.submit(call, self._shards[number], number) for number in numbers]
        try:
            wait(futures)
        except BaseException:
            wait(futures)  # they end soon, and their arrays are in use until then
            raise
        return [future.result() for future in futures]

    def close(self) -> None:
        self._shards = []
