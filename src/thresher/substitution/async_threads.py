"""Asy-OS on threads: each works itself, or for a worker that is elsewhere. They wait for late exchanges alone."""

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
from thresher.substitution.async_base import AsyncProblem
from thresher.substitution.async_worker import ExchangingWorker, WorkerHost, WorkerSpec
from thresher.substitution.problem import Kept, Targets, kept_from_state
from thresher.substitution.settings import SubstitutionSettings

log = logging.getLogger(__name__)

#: Features in one piece of work, and in the queue of a worker before the stream waits.
PIECE, MAX_QUEUED = 8, 64
#: A worker waits before an exchange while another one is in an exchange that began this many rounds of exchanges ago.
#: The slowest exchange bounds the steps of all workers, so few late ones would shorten those of a whole fit.
LATE = 1


class AsynchronousProblem(AsyncProblem):
    """Runs each worker on a thread, over shared memory; or with exchanges, which a worker may make from elsewhere.

    The features of an arriving block go to the queues of their workers. Only the stream waits, when a queue is long.
    If a worker fails, the others get its features, its queue and its capacity, and its share of the central state is
    subtracted.
    """

    def __init__(self, settings: SubstitutionSettings, targets: Targets, others: int) -> None:
        super().__init__(settings, targets, others)
        self._piece = settings.exchange or PIECE
        self._most_queued = max(MAX_QUEUED, 2 * self._piece)
        self._changed = threading.Condition()
        self._queues: list[deque[tuple[Ids, NDArray[np.float32]]]] = [deque() for _ in self.workers]
        self._inherited = [0] * len(self.workers)  # capacity of failed workers, not yet added to each
        self._threads: list[threading.Thread] = []
        self._stopping = False
        self._error: BaseException | None = None
        self._began: dict[int, int] = {}  # the updates of u before the exchange that each worker is in

    def _make_worker(self, spec: WorkerSpec) -> Any:
        if self.settings.exchange is None:
            return super()._make_worker(spec)
        return ExchangingWorker(WorkerHost(spec), spec)

    def add(self, ids: Ids, columns: Block) -> None:
        with self._changed:
            self._put(ids, columns.dense)
        if not self._threads:
            self._start_threads()

    def solve(self) -> None:
        """Let the stream wait while a queue is long."""
        with self._changed:
            self._changed.wait_for(lambda: self._error is not None or max(self._queued()) <= self._most_queued)
        self._raise_error()

    def wait(self) -> None:
        """Wait until all queues are empty and all threads have ended."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self._threads, self._stopping = [], False
        if any(self._queued()):  # a worker failed after the others had ended
            self._start_threads()
            self.wait()
        self._raise_error()

    def kept(self) -> Kept:
        self.wait()
        return super().kept()

    def kept_ids(self) -> Ids:
        """The ids of the features that are kept, in work or queued."""
        with self._changed:
            return np.array(sorted(self._outside_pool()), np.uint64)

    def state(self) -> dict[str, NDArray[Any]]:
        self.wait()
        rooms = [self.workers[t].room + self._inherited[t] for t in self.alive]
        return {**super().state(), "rooms": np.array(rooms, np.int64)}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        super().restore(state)
        rooms = state["rooms"].tolist()
        if len(rooms) != len(self.alive) or min(rooms) < 0 or sum(rooms) > sum(self.settings.shares):
            raise ValueError("capacities that do not fit")
        for t, room in zip(self.alive, rooms, strict=True):
            self._inherited[t] = max(0, room - self.workers[t].room)

    def _start_threads(self) -> None:
        self._threads = [threading.Thread(target=self._work, args=(t,), daemon=True) for t in self.alive]
        for thread in self._threads:
            thread.start()

    def _queued(self) -> list[int]:
        return [sum(len(ids) for ids, _ in queue) for queue in self._queues]

    def _raise_error(self) -> None:
        if self._error is not None:
            raise ThresherError("all workers failed") from self._error

    def _outside_pool(self) -> set[int]:
        """The features that workers keep, process or have in their queues."""
        every: set[int] = set().union(*self.held)
        for queue in self._queues:
            for ids, _ in queue:
                every |= set(ids.tolist())
        return every

    def _put(self, ids: Ids, columns: NDArray[np.float32], first: bool = False) -> None:
        """Assign features to workers, behind the others in their queues or before them."""
        workers = np.array(self.assign(len(ids)), np.int64)
        self.assigned += len(ids)
        taken = self._outside_pool()
        workers[[id in taken for id in ids.tolist()]] = -1
        for t in self.alive:
            mine = np.flatnonzero(workers == t)
            pieces = [mine[at : at + self._piece] for at in range(0, len(mine), self._piece)]
            put = self._queues[t].appendleft if first else self._queues[t].append
            for piece in reversed(pieces) if first else pieces:
                put((ids[piece], columns[piece]))
                self.held[t] |= set(ids[piece].tolist())
        self._changed.notify_all()

    def _take(self, t: int) -> tuple[Ids, NDArray[np.float32]]:
        """The next features of a worker: a piece, or as many as share an exchange."""
        queue, exchange = self._queues[t], self.settings.exchange or 0
        pieces = [queue.popleft()]
        left = exchange - len(pieces[0][0])
        while queue and len(queue[0][0]) <= left:
            pieces.append(queue.popleft())
            left -= len(pieces[-1][0])
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate([ids for ids, _ in pieces]), np.concatenate([columns for _, columns in pieces])

    def _work(self, t: int) -> None:
        """The loop of a worker's thread."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queues[t] or self._stopping or t not in self.alive)
                self._changed.wait_for(lambda: not (self._queues[t] and self._one_is_late()))
                if not self._queues[t]:
                    return
                self._began[t] = self.central.updates
                ids, columns = self._take(t)
                self.held[t] = self.held[t] | set(ids.tolist())  # in work, and no longer in the queue
                inherited, self._inherited[t] = self._inherited[t], 0
            try:
                if inherited:
                    self.workers[t].grow(self.workers[t].room + inherited)
                self.workers[t].work(self.central, columns, ids, self.bound(), self.settings.checked)
                held = set(self.workers[t].ids.tolist())
            except BaseException as error:  # the others continue without this worker
                with self._changed:
                    del self._began[t]
                self._remove_worker(t, ids, columns, error)
                return
            with self._changed:
                self.held[t] = held
                del self._began[t]
                self._changed.notify_all()

    def _one_is_late(self) -> bool:
        """Whether a worker is in an exchange that many others have passed."""
        if self.settings.exchange is None or not self._began:
            return False
        return bool(self.central.updates - min(self._began.values()) >= LATE * len(self.alive))

    def _columns_of(self, t: int) -> tuple[Ids, NDArray[np.float32]]:
        """The features that a failed worker keeps, and their columns."""
        kept = kept_from_state(self.workers[t].state(), self.rows, self.outputs)
        return kept.ids, kept.columns

    def _remove_worker(self, t: int, ids: Ids, columns: NDArray[np.float32], error: BaseException) -> None:
        """Hand the features and the capacity of a failed worker to the others, and subtract its share of u_C."""
        log.warning("worker %d failed (%r): the other workers take over its features", t, error)
        worker = self.workers[t]
        kept_ids, kept_columns = self._columns_of(t)
        with self._changed:
            self.alive = [other for other in self.alive if other != t]
            orphaned = [(ids, columns), *self._queues[t]]
            self._queues[t].clear()
            self.held[t] = set()
            if not self.alive:
                self._error = error
                self._changed.notify_all()
                return
            self.central.push(-worker.pushed, self.central.updates)
            each, remainder = divmod(worker.room + self._inherited[t], len(self.alive))
            for i, other in enumerate(self.alive):
                self._inherited[other] += each + (i < remainder)
            for some_ids, some_columns in orphaned:
                if len(some_ids):
                    self._put(np.ascontiguousarray(some_ids), np.ascontiguousarray(some_columns))
            # What was kept enters before others fill the capacity: late in the last scan it does not arrive again.
            self._put(np.ascontiguousarray(kept_ids), np.ascontiguousarray(kept_columns), first=True)
