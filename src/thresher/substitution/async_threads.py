"""Asy-OS on threads: workers that never wait for each other."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Ids
from thresher.errors import ThresherError
from thresher.substitution.arriving.feature_stream import Block
from thresher.substitution.async_base import SharedFeatures
from thresher.substitution.problem import Kept, Targets, kept_of
from thresher.substitution.settings import SubstitutionSettings

log = logging.getLogger(__name__)

#: Features that a worker takes at a time, and that may wait for it.
PIECE, WAITING = 8, 64


class AsynchronousProblem(SharedFeatures):
    """Workers as threads over shared memory.

    A block that arrives is cut by owners and put into their queues; nobody waits but the stream, when a queue is long.
    A worker that dies leaves its columns and what waited for it to the others, its share of the state is taken out,
    and its room is theirs.
    """

    def __init__(self, settings: SubstitutionSettings, targets: Targets, others: int) -> None:
        super().__init__(settings, targets, others)
        self._changed = threading.Condition()
        self._queues: list[deque[tuple[Ids, NDArray[np.float32]]]] = [deque() for _ in self.workers]
        self._more = [0] * len(self.workers)  # room that was left to each
        self._threads: list[threading.Thread] = []
        self._ending = False
        self._error: BaseException | None = None

    def add(self, ids: Ids, columns: Block) -> None:
        with self._changed:
            self._put(ids, columns.whole)
        if not self._threads:
            self._begin()

    def solve(self) -> None:
        """Let the stream wait where workers are far behind; that is all."""
        with self._changed:
            self._changed.wait_for(lambda: self._error is not None or max(self._lengths()) <= WAITING)
        self._check()

    def rest(self) -> None:
        """Wait until everything has been dealt with: a quiet moment."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self._threads, self._ending = [], False
        if any(self._lengths()):  # what a worker left that died last of all
            self._begin()
            self.rest()
        self._check()

    def kept(self) -> Kept:
        self.rest()
        return super().kept()

    def kept_ids(self) -> Ids:
        """Of what is held, and of what is still waiting."""
        with self._changed:
            return np.array(sorted(self._out_of_the_pool()), np.uint64)

    def state(self) -> dict[str, NDArray[Any]]:
        self.rest()
        return super().state()

    def _begin(self) -> None:
        self._threads = [threading.Thread(target=self._serve, args=(t,), daemon=True) for t in self.alive]
        for thread in self._threads:
            thread.start()

    def _lengths(self) -> list[int]:
        return [sum(len(ids) for ids, _ in queue) for queue in self._queues]

    def _check(self) -> None:
        if self._error is not None:
            raise ThresherError("all workers have died") from self._error

    def _out_of_the_pool(self) -> set[int]:
        """What workers hold, have in work, or have waiting."""
        every: set[int] = set().union(*self.held)
        for queue in self._queues:
            for ids, _ in queue:
                every |= set(ids.tolist())
        return every

    def _put(self, ids: Ids, columns: NDArray[np.float32]) -> None:
        owners = np.array(self.owners(len(ids)), np.int64)
        self.given += len(ids)
        out = self._out_of_the_pool()
        owners[[id in out for id in ids.tolist()]] = -1
        for t in self.alive:
            mine = np.flatnonzero(owners == t)
            for at in range(0, len(mine), PIECE):
                some = mine[at : at + PIECE]
                self._queues[t].append((ids[some], columns[some]))
                self.held[t] |= set(ids[some].tolist())
        self._changed.notify_all()

    def _serve(self, t: int) -> None:
        """The life of a worker."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queues[t] or self._ending or t not in self.alive)
                if not self._queues[t]:
                    return
                ids, columns = self._queues[t].popleft()
                self.held[t] = self.held[t] | set(ids.tolist())  # in work, and in no queue any more
                more, self._more[t] = self._more[t], 0
            try:
                if more:
                    self.workers[t].grow(self.workers[t].room + more)
                self.workers[t].work(self.central, columns, ids, self.bound(), self.settings.checked)
                held = set(self.workers[t].ids.tolist())
            except BaseException as error:  # whatever it was: the others go on without it
                self._bury(t, ids, columns, error)
                return
            with self._changed:
                self.held[t] = held
                self._changed.notify_all()

    def _bury(self, t: int, ids: Ids, columns: NDArray[np.float32], error: BaseException) -> None:
        """Give back what a dead worker had: its features to the stream, its share of u_C, its room to the others."""
        log.warning("worker %d died (%r): its features go to the others", t, error)
        worker = self.workers[t]
        left = kept_of(worker.state(), self.rows, self.outputs)
        with self._changed:
            self.alive = [other for other in self.alive if other != t]
            waiting = [(left.ids, left.columns), (ids, columns), *self._queues[t]]
            self._queues[t].clear()
            self.held[t] = set()
            if not self.alive:
                self._error = error
                self._changed.notify_all()
                return
            self.central.push(-worker.pushed, self.central.updates)
            each, more = divmod(worker.room + self._more[t], len(self.alive))
            for i, other in enumerate(self.alive):
                self._more[other] += each + (i < more)
            for some, of_them in waiting:
                if len(some):
                    self._put(np.ascontiguousarray(some), np.ascontiguousarray(of_them))
