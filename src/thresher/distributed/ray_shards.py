"""Workers that hold columns, on Ray."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from thresher import _native
from thresher.columns.sharded import Entries, ShardPart
from thresher.columns.types import Floats
from thresher.distributed.ray_actors import RayActors
from thresher.distributed.shard import Parsed, Shard, ShardSpec, Summary
from thresher.distributed.shard_teams import ShardTeam, Step, WorkerLost
from thresher.errors import ThresherError
from thresher.sources.base import Source
from thresher.version import __version__

#: Arrays of this size are put into the object store once for all workers.
_LARGE = 100_000


class RemoteShard:
    """A `Shard` behind an actor: errors of the data are values."""

    shard: Shard

    def version(self) -> str:
        """The version of Thresher on this node. Other arguments follow only if it is the same."""
        return __version__

    def begin(self, share: ShardSpec, source: Source, weights: Floats | None) -> bool | ThresherError:
        """Begin to read, or with weights, take over a share whose rows are known."""
        try:
            self.shard = share.make(source, None if weights is None else weights.copy())
        except ThresherError as error:
            return error
        return True

    def parse(self) -> tuple[Any, ...]:
        """A step of `Shard.parse`: rows and whether they end here, then the entries for each worker."""
        of = self.shard.share.of
        try:
            found = self.shard.parse()
        except ThresherError as error:
            return (error, *[[]] * of)
        return (found._replace(entries=[]), *found.entries)

    def take(self, *entries: list[Entries]) -> int:
        """`Shard.take`."""
        return self.shard.take(list(entries))

    def call(self, name: str, *given: Any) -> Any:
        """Call another method of the `Shard`."""
        try:
            return getattr(self.shard, name)(*given)
        except ThresherError as error:
            return error


class RayShards(ShardTeam):
    """Workers on Ray.

    A worker that is lost is replaced, and its columns are read again. If no node has room for the replacement, this
    process holds these columns from then on. While rows are read, a loss lets all workers read from the beginning.

    Parameters
    ----------
    memory : int
        Bytes of a worker, by which Ray schedules; 0: not known.
    """

    def __init__(self, share: ShardSpec, source: Source, pool: _native.ThreadPool, cluster: str, memory: int) -> None:
        super().__init__(replace(share, threads=1, copies=True), source, pool)
        self._cluster = cluster
        self._worker_memory = memory
        self._actors: RayActors | None = None
        self._here: dict[int, Shard] = {}  # the shares that no node has room for
        self._source: Any = None
        self._weights: Any = None

    def _made(self) -> RayActors:
        """The workers; started if they are not running."""
        if self._actors is None:
            self._actors = RayActors(
                RemoteShard,
                self.count,
                self._cluster,
                memory=self._worker_memory,
                store=4 * self.count * 16 * self.share.entries,
                prepare=self._begun,
                again=f"it reads its share of the {self.share.what} again",
                here=f"reads and holds its share of the {self.share.what}",
                reads_by_ray=self.source.reads_by_ray,
            )
            self._source = self._actors.put(self.source)
        return self._actors

    def _begun(self, worker: Any, number: int) -> Any:
        return worker.begin.remote(replace(self.share, number=number), self._source, self._weights)

    def _held_here(self, number: int) -> Shard:
        """The share of a worker that this process has taken over."""
        if number not in self._here:
            weights = self.weights if self.rows else None
            self._here[number] = replace(self.share, number=number).make(self.source, weights)
        return self._here[number]

    @property
    def working(self) -> int:
        return self.count - (0 if self._actors is None else len(self._actors.moved))

    # ── reading ──────────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        actors, self._here = self._made(), {}
        for number in range(self.count):
            actors.begin(number)

    def step(self) -> Step:
        actors, of = self._made(), self.count
        parsed: list[Any] = [None] * of
        entries: list[list[Any]] = [[] for _ in range(of)]
        for number in range(of):
            if number not in actors.moved:
                parse = actors.workers[number].parse.options(num_returns=of + 1)
                parsed[number], *entries[number] = parse.remote()
        for number in actors.moved:
            found = self._held_here(number).parse()
            parsed[number], entries[number] = found._replace(entries=[]), found.entries
        rows = [self._got(number, one) for number, one in enumerate(parsed)]
        taken = []
        for number in range(of):
            mine = [sent[number] for sent in entries]
            if number in actors.moved:
                mine = [one if isinstance(one, list) else self._got(number, one) for one in mine]
                taken.append(self._held_here(number).take(mine))
            else:
                taken.append(actors.workers[number].take.remote(*mine))
        held = [self._got(number, one) for number, one in enumerate(taken)]
        return Step([one.rows for one in rows], [one.ended for one in rows], max(held))

    def _got(self, number: int, waiting: Any) -> Any:
        """The value of a reference, or the value itself; WorkerLost if it is lost."""
        actors = self._made()
        if isinstance(waiting, (Parsed, int)):
            return waiting
        try:
            found = actors.ray.get(waiting)
        except actors.lost as error:
            actors.replace(number, error)
            raise WorkerLost from None
        return _checked(found)

    def _finish(self, weights: Floats) -> list[Summary]:
        actors = self._made()
        sent = actors.ray.put(weights)
        waiting = {n: actors.workers[n].call.remote("finish", sent) for n in range(self.count) if n not in actors.moved}
        self._weights = sent  # a worker that is replaced from now on reads its share
        built = {number: shard.finish(weights) for number, shard in self._here.items()}
        for number, one in waiting.items():
            found = actors.result(number, one, lambda worker: worker.call.remote("held"))
            built[number] = self._held_here(number).held() if found is None else _checked(found)
        return list(built.values())

    # ── answers ──────────────────────────────────────────────────────────────────────────────────

    def ask(
        self,
        part: ShardPart,
        power: float,
        name: str,
        *shared: Any,
        own: Mapping[int, tuple[Any, ...]] | None = None,
    ) -> dict[int, Any]:
        restarted, actors = self._actors is None, self._made()
        if restarted:
            self._weights = actors.ray.put(self.weights)
            for number in range(self.count):
                actors.begin(number)
        own = dict.fromkeys(range(self.count), ()) if own is None else own
        large = [isinstance(one, np.ndarray) and one.nbytes >= _LARGE for one in shared]
        sent = [actors.ray.put(one) if put else one for one, put in zip(shared, large, strict=True)]

        def ask_one(worker: Any, number: int) -> Any:
            return worker.call.remote("answer", part, power, name, *sent, *own[number])

        waiting = {n: None if n in actors.moved else ask_one(actors.workers[n], n) for n in own}
        found = {}
        for number, one in waiting.items():
            answer = actors.result(number, one, partial(ask_one, number=number))
            if answer is None:
                answer = self._held_here(number).answer(part, power, name, *shared, *own[number])
            found[number] = _checked(answer)
        return found

    def close(self) -> None:
        actors, self._actors = self._actors, None
        self._here, self._source, self._weights = {}, None, None
        if actors is not None:
            actors.close()


def _checked(found: Any) -> Any:
    """What a worker returned, unless it is an error of the data."""
    if isinstance(found, ThresherError):
        raise found
    return found
