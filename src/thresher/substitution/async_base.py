"""Asy-OS (Algorithms 2 and 3): workers that share the features and a central state; and the same, simulated."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats, Ids
from thresher.core.losses import get_loss
from thresher.substitution.arriving.feature_stream import Block
from thresher.substitution.problem import Kept, Targets, kept_of
from thresher.substitution.settings import SubstitutionSettings


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
                settings.fit_intercept,
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
