"""Sparse Random Features as an engine: functions drawn, an l1 problem solved, zeros dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats, Ids
from thresher.sparse_rf.feature_columns import DrawnColumns
from thresher.sparse_rf.l1_problem import L1Problem
from thresher.sparse_rf.proposer import DropZeros, RandomDraw
from thresher.sparse_rf.settings import SparseRFSettings
from thresher.working_set.loop import WorkingSetLoop
from thresher.working_set.result import Found

_PATH = ("drawn", "features", "objective", "start", "bound", "lam", "steps")


class SparseRFEngine:
    """Runs Algorithm 1 over a family of random functions, an iteration a `step`; with a path of λ, for each of them.

    Parameters
    ----------
    family : DrawnColumns
    targets : array of shape (outputs, rows)
        As the loss takes them.
    weights : array of shape (rows,)
        Importance of each row.
    """

    def __init__(
        self, family: DrawnColumns, settings: SparseRFSettings, targets: Floats, weights: Floats, team: _native.Team
    ) -> None:
        self.family = family
        self.settings = settings
        self.team = team
        self.targets = np.atleast_2d(targets)
        self.importance = settings.loss_factor * weights
        self.problems = [self._problem(y) for y in self.targets]
        total = settings.max_iter * len(settings.path)
        self.proposer = RandomDraw(family, draws=settings.draws, rounds=total)
        self.loop = WorkingSetLoop(self.problems, self.proposer, DropZeros())
        #: What each round came to: functions drawn, functions kept, objective and its lower bound, λ, models solved.
        self.path: list[dict[str, float]] = []

    def _problem(self, y: Floats) -> L1Problem:
        return L1Problem(
            self.settings.loss,
            y,
            self.importance,
            lam=self.settings.path[0],
            shift=self.settings.fit_intercept,
            tolerance=self.settings.tol,
            team=self.team,
            k=self.settings.k,
            family=self.family,
            held=self._held,
        )

    @property
    def _held(self) -> int | None:
        """Columns that a problem may keep in memory beside those of a round, which all problems share."""
        most = self.family.most
        return None if most is None else max(0, most - self.settings.draws) // len(self.targets)

    @property
    def rounds(self) -> int:
        """Iterations done."""
        return self.loop.rounds

    @property
    def stage_done(self) -> bool:
        """Whether this was the last iteration of a λ."""
        return self.rounds % self.settings.max_iter == 0

    def step(self) -> bool:
        """One iteration of Algorithm 1; False at the end."""
        stage = min(self.rounds // self.settings.max_iter, len(self.settings.path) - 1)
        for problem in self.problems:
            if problem.lam != self.settings.path[stage]:
                problem.lam = problem.lam_now = self.settings.path[stage]
        if not self.loop.step():
            return False
        entry = (
            self.proposer.drawn,
            len(self._kept()),
            sum(problem.solved.objective for problem in self.problems),
            sum(problem.start for problem in self.problems),
            sum(problem.solved.bound for problem in self.problems),
            max(problem.lam_now for problem in self.problems),
            sum(problem.solved.steps for problem in self.problems),
        )
        self.path.append(dict(zip(_PATH, entry, strict=True)))
        return True

    def _kept(self) -> Ids:
        return np.unique(np.concatenate([problem.ids for problem in self.problems]))

    def found(self) -> Found:
        """The functions so far: of several outputs at most ``k`` by the norm across them, fitted once more."""
        k = self.settings.k
        keys, weights = self._merged(self.problems)
        if k is not None and len(keys) > k and not self.settings.per_class:
            kept = keys[np.lexsort((keys, -np.sqrt((weights**2).sum(axis=0))))[:k]]
            problems = [self._again(i, kept) for i in range(len(self.problems))]
            keys, weights = self._merged(problems)
        else:
            problems = self.problems
        norms = np.sqrt((weights**2).sum(axis=0))
        order = np.lexsort((keys, -norms))
        counts = np.full(len(keys), self.targets.shape[1], np.uint64)  # a function stands in every row
        return Found(keys[order], weights[:, order], counts, np.array([problem.shift for problem in problems]))

    def _again(self, output: int, kept: Ids) -> L1Problem:
        """An output's problem over these functions alone."""
        problem = self._problem(self.targets[output])
        problem.k, problem.lam = None, self.problems[output].lam_now
        ids = np.sort(kept)
        problem.add(ids, self.family.columns(ids))
        problem.solve()
        return problem

    def _merged(self, problems: list[L1Problem]) -> tuple[Ids, Floats]:
        keys = np.unique(np.concatenate([problem.ids[problem.weights != 0] for problem in problems]))
        weights = np.zeros((len(problems), len(keys)))
        for i, problem in enumerate(problems):
            there = problem.weights != 0
            weights[i, np.searchsorted(keys, problem.ids[there])] = problem.weights[there]
        return keys, weights

    def state(self) -> dict[str, NDArray[Any]]:
        """All that going on needs, as arrays; the data is read again."""
        state = {
            "rounds": np.array([self.rounds, self.proposer.drawn], np.int64),
            "path": np.array([list(entry.values()) for entry in self.path]).reshape(-1, len(_PATH)),
        }
        for i, problem in enumerate(self.problems):
            state |= {f"{name}_{i}": array for name, array in problem.state().items()}
        return state

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on where the engine that gave ``state`` stood; KeyError or ValueError unless it fits."""
        self.loop.rounds, self.proposer.drawn = (int(number) for number in state["rounds"])
        self.path = [dict(zip(_PATH, entry, strict=True)) for entry in state["path"].tolist()]
        for i, problem in enumerate(self.problems):
            problem.restore({name: state[f"{name}_{i}"] for name in problem.state()}, self.family)
