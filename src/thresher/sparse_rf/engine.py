"""Sparse Random Features: draw random features, solve an l1 problem, drop features with zero weight."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats, Ids
from thresher.core.storage.container import checked_count
from thresher.sparse_rf.feature_columns import RandomFeatureColumns
from thresher.sparse_rf.l1_problem import L1Problem
from thresher.sparse_rf.proposer import DropZeros, RandomFeatureProposer
from thresher.sparse_rf.settings import SparseRFSettings
from thresher.working_set.loop import WorkingSetLoop
from thresher.working_set.result import Found, restored_path

_PATH = ("drawn", "features", "objective", "start", "bound", "lam", "steps")


class SparseRFEngine:
    """Runs Algorithm 1 with random features, one iteration per `step`; with several λ, once for each of them.

    Parameters
    ----------
    family : RandomFeatureColumns
    targets : array of shape (outputs, rows)
        The targets, encoded for the loss.
    weights : array of shape (rows,)
        The weight of each row.
    """

    def __init__(
        self,
        family: RandomFeatureColumns,
        settings: SparseRFSettings,
        targets: Floats,
        weights: Floats,
        pool: _native.ThreadPool,
    ) -> None:
        self.family = family
        self.settings = settings
        self.pool = pool
        self.targets = np.atleast_2d(targets)
        self.row_weights = settings.loss_factor * weights
        self.problems = self._final = [self._problem(y, self.row_weights) for y in self.targets]
        iterations = settings.iterations * len(settings.path)
        self.proposer = RandomFeatureProposer(family, draws=settings.drawn, iterations=iterations)
        self.loop = WorkingSetLoop(self.problems, self.proposer, DropZeros())
        #: One entry per iteration: features drawn, features kept, objective and its lower bound, λ, solver steps.
        self.path: list[dict[str, float]] = []

    def _problem(self, y: Floats, weights: Floats) -> L1Problem:
        return L1Problem(
            self.settings.loss,
            y,
            weights,
            lam=self.settings.path[0],
            fit_intercept=self.settings.fit_intercept,
            tolerance=self.settings.tol,
            pool=self.pool,
            k=self.settings.k,
            family=self.family,
            max_stored=self._max_stored,
        )

    @property
    def _max_stored(self) -> int | None:
        """How many columns a problem may keep in memory between iterations. The problems share the columns of the
        current iteration."""
        limit = self.family.max_columns
        return None if limit is None else max(0, limit - self.settings.drawn) // len(self.targets)

    @property
    def rounds(self) -> int:
        """Completed iterations."""
        return self.loop.rounds

    @property
    def stage_done(self) -> bool:
        """Whether the last iteration was the last one of its λ."""
        return self.rounds % self.settings.iterations == 0

    def step(self) -> bool:
        """Run one iteration of Algorithm 1; return False at the end."""
        stage = min(self.rounds // self.settings.iterations, len(self.settings.path) - 1)
        for problem in self.problems:
            if problem.lam != self.settings.path[stage]:
                problem.lam = problem.current_lam = self.settings.path[stage]
        if not self.loop.step():
            return False
        entry = (
            self.proposer.n_drawn,
            len(np.unique(np.concatenate([problem.ids for problem in self.problems]))),
            sum(problem.solved.objective for problem in self.problems),
            sum(problem.start for problem in self.problems),
            sum(problem.solved.bound for problem in self.problems),
            max(problem.current_lam for problem in self.problems),
            sum(problem.solved.steps for problem in self.problems),
        )
        self.path.append(dict(zip(_PATH, entry, strict=True)))
        return True

    def found(self) -> Found:
        """The features so far. With several outputs, the ``k`` features of largest norm across them, fitted again."""
        k = self.settings.k
        keys, weights = self._merge(self.problems)
        if k is not None and len(keys) > k and not self.settings.per_class:
            kept = keys[np.lexsort((keys, -np.sqrt((weights**2).sum(axis=0))))[:k]]
            problems = [self._refit(i, kept, self.row_weights) for i in range(len(self.problems))]
            keys, weights = self._merge(problems)
        else:
            problems = self.problems
        self._final = problems
        norms = np.sqrt((weights**2).sum(axis=0))
        order = np.lexsort((keys, -norms))
        counts = np.full(len(keys), self.targets.shape[1], np.uint64)  # random features are dense
        return Found(keys[order], weights[:, order], counts, np.array([problem.intercept for problem in problems]))

    def merged(self) -> tuple[Ids, Floats]:
        """The features with a nonzero weight in any output, and their weights (outputs x features)."""
        return self._merge(self.problems)

    def held_out_margins(self, held: NDArray[np.bool_]) -> Floats:
        """Solve the problems of the last `found` without the rows of a mask; the margins of these, outputs x rows."""
        weights = np.where(held, 0.0, self.row_weights)  # rows of weight 0 have no loss
        margins = np.empty((len(self.targets), int(held.sum())))
        for i, solved in enumerate(self._final):
            problem = self._refit(i, solved.ids[solved.weights != 0], weights)
            margins[i] = problem.margins[held] + problem.intercept
        return margins

    def _refit(self, output: int, kept: Ids, weights: Floats) -> L1Problem:
        """Solve an output's problem over these features only."""
        problem = self._problem(self.targets[output], weights)
        problem.k, problem.lam = None, self.problems[output].current_lam
        ids = np.sort(kept)
        problem.add(ids, self.family.columns(ids))
        problem.solve()
        return problem

    def _merge(self, problems: list[L1Problem]) -> tuple[Ids, Floats]:
        """The features with a nonzero weight in any problem, and their weights (outputs x features)."""
        keys = np.unique(np.concatenate([problem.ids[problem.weights != 0] for problem in problems]))
        weights = np.zeros((len(problems), len(keys)))
        for i, problem in enumerate(problems):
            nonzero = problem.weights != 0
            weights[i, np.searchsorted(keys, problem.ids[nonzero])] = problem.weights[nonzero]
        return keys, weights

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that `restore` needs, besides the data."""
        state = {
            "rounds": np.array([self.rounds, self.proposer.n_drawn], np.int64),
            "path": np.array([list(entry.values()) for entry in self.path]).reshape(-1, len(_PATH)),
        }
        for i, problem in enumerate(self.problems):
            state |= {f"{name}_{i}": array for name, array in problem.state().items()}
        return state

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore the result of `state`; KeyError or ValueError if it does not fit this engine."""
        self.loop.rounds, self.proposer.n_drawn = (checked_count(int(number)) for number in state["rounds"])
        self.path = restored_path(_PATH, state["path"])
        for i, problem in enumerate(self.problems):
            problem.restore({name: state[f"{name}_{i}"] for name in problem.state()}, self.family)
