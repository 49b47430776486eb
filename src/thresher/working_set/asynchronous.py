"""Asy-OS (Algorithms 2 and 3): workers that share the features and a central state, and never wait for each other."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.errors import ThresherError
from thresher.families.family import Floats, Ids
from thresher.families.stream import Block
from thresher.losses import get_loss
from thresher.working_set.substitution import Kept, Targets, kept_of
from thresher.working_set.substitution_settings import SubstitutionSettings

log = logging.getLogger(__name__)

#: Features that a worker takes at a time, and that may wait for it.
PIECE, WAITING = 8, 64


class SharedFeatures:
    """What both forms have: a central part, workers, and which worker a feature goes to.

    Features that nobody holds are a pool, as in Algorithm 3: each arrival goes to a worker drawn anew, so one that was
    refused where others were stronger may find room elsewhere in the next scan. Only ``central`` (`read`, `push`) and
    the workers (`work`, or `receive` with a state) know of each other, so another transport can stand between them.

    Parameters
    ----------
    others : int
        Features that are not kept, for Theorem 2; 0 where that is not known.
    """

    def __init__(self, settings: SubstitutionSettings, targets: Targets, others: int) -> None:
        loss = get_loss(settings.loss)
        self.settings = settings
        self.outputs, self.rows = targets.y.shape
        self.curvature = loss.curvature
        self.central = _native.Central(targets.y.size)
        self.workers: list[Any] = [
            _native.Worker(
                loss.name,
                loss.delta,
                np.ascontiguousarray(targets.y),
                targets.shares,
                settings.intercept,
                room,
                settings.eta or 0.0,
                settings.rate,
                settings.slowness,
                settings.c,
                settings.workers,
                others,
            )
            for room in settings.shares
        ]
        self.alive = list(range(settings.workers))
        #: Of each worker, the features that are out of the pool for it.
        self.held: list[set[int]] = [set() for _ in self.workers]
        #: Features that were given out so far, in all scans.
        self.given = 0
        self.done = self.ahead = 0

    def owners(self, many: int) -> list[int]:
        """The workers that the next so many features go to: drawn by how many there were before."""
        numbers = np.arange(self.given, self.given + many, dtype=np.uint64)
        drawn = _native.hash_keys(numbers, 16) % np.uint64(len(self.alive))
        return [self.alive[i] for i in drawn.tolist()]

    def bound(self) -> float:
        """An estimate of L_f over all that is kept: the largest of the workers' own (their sum would be a bound)."""
        return float(self.curvature * max(self.workers[t].lambda_ for t in self.alive))

    def kept(self) -> Kept:
        """Of all workers."""
        parts = [kept_of(self.workers[t].state(), self.rows, self.outputs) for t in self.alive]
        return Kept(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def state(self) -> dict[str, NDArray[Any]]:
        """Of every worker, and the central state."""
        state: dict[str, NDArray[Any]] = {"alive": np.array(self.alive, np.int64), "central": self.central.read()[0]}
        state["given"] = np.array([self.given], np.int64)
        for t in self.alive:
            state |= {f"{name}_of_{t}": array for name, array in self.workers[t].state().items()}
        return state

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on where these workers stood."""
        self.alive = state["alive"].tolist()
        self.given = int(state["given"][0])
        self.central.push(np.ascontiguousarray(state["central"]), 0)
        for t in self.alive:
            ending = f"_of_{t}"
            mine = {name.removesuffix(ending): a for name, a in state.items() if name.endswith(ending)}
            self.workers[t].restore(**mine)
            self.held[t] = set(self.workers[t].ids.tolist())

    def facts(self) -> dict[str, Any]:
        """What there is to say: updates, the largest staleness met, and who died."""
        return {
            "updates": self.central.updates,
            "staleness": self.central.stalest,
            "shares": self.settings.shares,
            "refused": sum(self.workers[t].refused for t in self.alive),
            "dead": sorted(set(range(len(self.workers))) - set(self.alive)),
            "eta": max(self.workers[t].eta for t in self.alive),
        }


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


class SimulatedProblem(SharedFeatures):
    """Workers one after the other on one thread, each at the state without the last τ updates of the others."""

    def __init__(self, settings: SubstitutionSettings, targets: Targets, others: int) -> None:
        super().__init__(settings, targets, others)
        self.staleness = settings.staleness or 0
        self._recent: deque[tuple[int, Floats]] = deque(maxlen=self.staleness)
        self._block: Block | None = None

    def add(self, ids: Ids, columns: Block) -> None:
        self._block, self.done = columns, min(self.ahead, len(ids))
        self.ahead -= self.done

    def solve(self) -> None:
        assert self._block is not None
        columns = self._block.whole
        for t in self.owners(len(columns) - self.done):
            self.receive(t, int(self._block.ids[self.done]), columns[self.done])
            self.given += 1
            self.done += 1

    def receive(self, t: int, id: int, column: NDArray[np.float32]) -> None:
        """A worker's turn, unless somebody holds the feature."""
        if any(id in held for held in self.held):
            return
        now, updates = self.central.read()
        seen = now.copy()
        for who, change in self._recent:
            if who != t:
                seen -= change
        fresh = now if self.settings.checked else np.empty(0)
        late = float(self.staleness)
        change = self.workers[t].receive(np.ascontiguousarray(column), id, seen, self.bound(), late, fresh)
        if change is not None:
            self.central.push(change, max(0, updates - self.staleness))
            self._recent.append((t, change))
            self.held[t] = set(self.workers[t].ids.tolist())

    def kept_ids(self) -> Ids:
        """Of all workers."""
        return np.concatenate([self.workers[t].ids for t in self.alive])

    def state(self) -> dict[str, NDArray[Any]]:
        who = np.array([t for t, _ in self._recent], np.int64)
        changes = np.array([change for _, change in self._recent]).reshape(len(who), self.outputs * self.rows)
        return {**super().state(), "who": who, "changes": changes}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        super().restore(state)
        self._recent.extend(zip(state["who"].tolist(), np.array(state["changes"]), strict=True))
