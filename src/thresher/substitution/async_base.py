"""Asy-OS (Algorithms 2 and 3): workers that share the features and a central state; and its simulation."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats, Ids
from thresher.core.losses import get_loss
from thresher.substitution.async_worker import WorkerSpec
from thresher.substitution.problem import BlockwiseProblem, Kept, Targets, kept_from_state
from thresher.substitution.settings import SubstitutionSettings


class AsyncProblem(BlockwiseProblem):
    """Base of both forms: the central state, the workers, and the assignment of features to workers.

    As in Algorithm 3, features that no worker keeps form a pool. Each arriving feature goes to a random worker, so a
    feature that one worker refused may enter the set of another in the next scan. Workers reach the central state only
    through `read` and `push`; `thresher.substitution.async_worker` puts a transport in between.

    Parameters
    ----------
    others : int
        The number of features that are not kept, for Theorem 2; 0 if unknown.
    """

    def __init__(self, settings: SubstitutionSettings, targets: Targets, others: int) -> None:
        super().__init__()
        loss = get_loss(settings.loss)
        self.settings = settings
        self.outputs, self.rows = targets.y.shape
        self.curvature = loss.curvature
        self.central = _native.CentralState(targets.y.size)
        self.workers: list[Any] = [
            self._make_worker(WorkerSpec(settings, targets, capacity, others)) for capacity in settings.shares
        ]
        self.alive = list(range(settings.workers))
        #: The features that each worker keeps, processes or has in its queue: they are not in the pool.
        self.held: list[set[int]] = [set() for _ in self.workers]
        #: Features assigned so far, in all scans.
        self.assigned = 0

    def _make_worker(self, spec: WorkerSpec) -> Any:
        """A worker: of the native core, or with its interface."""
        return spec.make()

    def assign(self, count: int) -> list[int]:
        """The workers of the next ``count`` features: a hash of the number of features assigned before each."""
        numbers = np.arange(self.assigned, self.assigned + count, dtype=np.uint64)
        chosen = _native.hash_keys(numbers, 16) % np.uint64(len(self.alive))
        return [self.alive[i] for i in chosen.tolist()]

    def bound(self) -> float:
        """An estimate of L_f over all kept features: the largest estimate of a worker (their sum would be a bound)."""
        return float(self.curvature * max(self.workers[t].lambda_ for t in self.alive))

    def kept(self) -> Kept:
        """The features of all workers."""
        parts = [kept_from_state(self.workers[t].state(), self.rows, self.outputs) for t in self.alive]
        return Kept(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def state(self) -> dict[str, NDArray[Any]]:
        """The states of all workers, and the central state."""
        state: dict[str, NDArray[Any]] = {"alive": np.array(self.alive, np.int64), "central": self.central.read()[0]}
        state["given"] = np.array([self.assigned], np.int64)
        for t in self.alive:
            state |= {f"{name}_of_{t}": array for name, array in self.workers[t].state().items()}
        return state

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from a `state`."""
        self.alive = state["alive"].tolist()
        if not self.alive or self.alive != sorted(set(self.alive) & set(range(len(self.workers)))):
            raise ValueError("workers that are not there")
        self.assigned = int(state["given"][0])
        self.central.push(np.ascontiguousarray(state["central"]), 0)
        for t in self.alive:
            ending = f"_of_{t}"
            mine = {name.removesuffix(ending): a for name, a in state.items() if name.endswith(ending)}
            self.workers[t].restore(**mine)
            self.held[t] = set(self.workers[t].ids.tolist())

    def summary(self) -> dict[str, Any]:
        """The number of updates, the largest staleness, and the workers that failed."""
        return {
            "updates": self.central.updates,
            "staleness": self.central.max_staleness,
            "shares": self.settings.shares,
            "refused": sum(self.workers[t].rejected for t in self.alive),
            "dead": sorted(set(range(len(self.workers))) - set(self.alive)),
            "eta": max(self.workers[t].eta for t in self.alive),
        }


class SimulatedProblem(AsyncProblem):
    """Runs the workers in turn on one thread; each sees the state without the last τ updates of the others."""

    def __init__(self, settings: SubstitutionSettings, targets: Targets, others: int) -> None:
        super().__init__(settings, targets, others)
        self.staleness = settings.staleness or 0
        self._recent: deque[tuple[int, Floats]] = deque(maxlen=self.staleness)

    def solve(self) -> None:
        assert self._block is not None
        columns = self._block.dense
        for t in self.assign(len(columns) - self.done):
            self.receive(t, int(self._block.ids[self.done]), columns[self.done])
            self.assigned += 1
            self.done += 1

    def receive(self, t: int, id: int, column: NDArray[np.float32]) -> None:
        """Let worker ``t`` process a feature, unless a worker keeps it."""
        if any(id in held for held in self.held):
            return
        now, updates = self.central.read()
        seen = now.copy()
        for worker, change in self._recent:
            if worker != t:
                seen -= change
        fresh = now if self.settings.checked else np.empty(0)
        staleness = float(self.staleness)
        change = self.workers[t].receive(np.ascontiguousarray(column), id, seen, self.bound(), staleness, fresh)
        if change is not None:
            self.central.push(change, max(0, updates - self.staleness))
            self._recent.append((t, change))
            self.held[t] = set(self.workers[t].ids.tolist())

    def kept_ids(self) -> Ids:
        """The ids of the features of all workers."""
        return np.concatenate([self.workers[t].ids for t in self.alive])

    def state(self) -> dict[str, NDArray[Any]]:
        workers = np.array([t for t, _ in self._recent], np.int64)
        changes = np.array([change for _, change in self._recent]).reshape(len(workers), self.outputs * self.rows)
        return {**super().state(), "who": workers, "changes": changes}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        super().restore(state)
        self._recent.extend(zip(state["who"].tolist(), np.array(state["changes"]), strict=True))
