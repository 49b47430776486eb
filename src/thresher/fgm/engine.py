"""The Feature Generating Machine as an engine: residuals in, blocks proposed and solved, features out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Family, Floats, Ids
from thresher.fgm.block_problem import BlockProblem
from thresher.fgm.mkl_problem import MKLProblem
from thresher.fgm.settings import FGMSettings
from thresher.fgm.worst_case import WorstCase
from thresher.working_set.loop import WorkingSetLoop
from thresher.working_set.result import Found


class FGMEngine:
    """Runs the loop over a family, a round a `step`.

    Parameters
    ----------
    family : Family
    targets : array of shape (outputs, rows)
        As the loss takes them.
    weights : array of shape (rows,)
        Importance of each row.
    """

    def __init__(
        self, family: Family, settings: FGMSettings, targets: Floats, weights: Floats, team: _native.Team
    ) -> None:
        self.family = family
        self.settings = settings
        self.targets = np.atleast_2d(targets)
        self.importance = weights
        self.team = team
        self.problems = [self._problem(y, settings.C) for y in self.targets]
        self.proposer = WorstCase(
            family,
            len(self.problems),
            B=settings.proposed(len(self.problems)),
            k=settings.k,
            apart=settings.per_class,
            tol=settings.tol,
            inner_tol=settings.inner_tol,
        )
        self.loop = WorkingSetLoop(self.problems, self.proposer)
        #: What each round came to: elements so far, objective, lower bound, steps of the solver.
        self.path: list[dict[str, float]] = []

    def _problem(self, y: Floats, C: float) -> BlockProblem:
        kind = MKLProblem if self.settings.solver == "mkl" else BlockProblem
        return kind(
            self.settings.loss,
            np.ascontiguousarray(y),
            C * self.importance,
            shift=self.settings.fit_intercept,
            tolerance=self.settings.inner_tol,
            team=self.team,
        )

    @property
    def rounds(self) -> int:
        """Iterations done."""
        return self.loop.rounds

    def step(self) -> bool:
        """One iteration of Algorithm 1; False at the end."""
        if self.settings.max_iter is not None and self.loop.rounds >= self.settings.max_iter:
            return False
        if not self.loop.step():
            return False
        self.path.append(
            {
                "features": len(self._elements()),
                "objective": sum(problem.solved.objective for problem in self.problems),
                "start": sum(problem.start for problem in self.problems),
                "bound": float(self.proposer.bounds.sum()),
                "steps": sum(problem.solved.steps for problem in self.problems),
            }
        )
        return True

    def _elements(self) -> Ids:
        return np.unique(np.concatenate([problem.elements for problem in self.problems]))

    @property
    def bytes(self) -> int:
        """What the solvers' copies of the columns take."""
        return sum(problem.bytes for problem in self.problems)

    def found(self) -> Found:
        """The features so far: at most ``k``, fitted once more where some had to be dropped or a refit is wanted."""
        problems = self.problems
        elements = self._elements()
        if len(elements) > self.settings.k and not self.settings.per_class:
            kept = self._strongest(elements)
            problems = [self._again(i, kept, refit=None) for i in range(len(problems))]
        if self.settings.refit_C is not None:
            every = [problem.elements for problem in problems]
            problems = [self._again(i, ids, refit=self.settings.refit_C) for i, ids in enumerate(every)]
        return self._merged(problems)

    def _strongest(self, elements: Ids) -> Ids:
        """The k elements of the largest weights, as a norm over their features and all outputs."""
        squares = np.zeros(len(elements))
        for problem in self.problems:
            for ids, weights in self._by_element(problem):
                np.add.at(squares, np.searchsorted(elements, ids), weights)
        return elements[np.lexsort((elements, -squares))[: self.settings.k]]

    def _by_element(self, problem: BlockProblem) -> list[tuple[Ids, Floats]]:
        weights, parts, at = problem.weights, [], 0
        for ids in problem.blocks:
            starts, _ = self.family.features(ids)
            squares = np.concatenate([[0.0], np.cumsum(weights[at : at + starts[-1]] ** 2)])
            parts.append((ids, squares[starts[1:]] - squares[starts[:-1]]))
            at += int(starts[-1])
        return parts

    def _again(self, output: int, kept: Ids, *, refit: float | None) -> BlockProblem:
        """An output's problem over these elements: in the same blocks, or in a single one."""
        problem = self._problem(self.targets[output], self.settings.C if refit is None else refit)
        blocks = [np.sort(kept)] if refit is not None else self.problems[output].blocks
        for ids in blocks:
            some = ids[np.isin(ids, kept)]
            if len(some):
                problem.add(some, self.family.columns(some))
        problem.solve()
        return problem

    def _merged(self, problems: list[BlockProblem]) -> Found:
        """Weights by feature: one that stands in several blocks has their sum."""
        keys = [self.family.features(ids)[1] for problem in problems for ids in problem.blocks]
        every = np.concatenate(keys) if keys else np.empty(0, np.uint64)
        distinct = np.unique(every)
        weights = np.zeros((len(problems), len(distinct)))
        counts = np.zeros(len(distinct), np.uint64)
        for i, problem in enumerate(problems):
            mine = [self.family.features(ids)[1] for ids in problem.blocks]
            if mine:
                at = np.searchsorted(distinct, np.concatenate(mine))
                np.add.at(weights[i], at, problem.weights)
                counts[at] = np.concatenate(problem.counts)
        norms = np.sqrt((weights**2).sum(axis=0))
        order = np.lexsort((distinct, -norms))
        order = order[norms[order] > 0]  # blocks of no weight brought nothing
        shifts = np.array([problem.shift for problem in problems])
        return Found(distinct[order], weights[:, order], counts[order], shifts)

    def state(self) -> dict[str, NDArray[Any]]:
        """All that going on needs, as arrays; the data is read again."""
        state = {
            "rounds": np.array([self.loop.rounds], np.int64),
            **self.proposer.state(),
            "path": np.array([list(entry.values()) for entry in self.path]).reshape(-1, 5),
        }
        state |= {f"family_{name}": array for name, array in self.family.state().items()}
        for i, problem in enumerate(self.problems):
            state |= {f"{name}_{i}": array for name, array in problem.state().items()}
        return state

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on exactly where the engine that gave ``state`` stood; KeyError or ValueError unless it fits."""
        self.loop.rounds = int(state["rounds"][0])
        self.proposer.restore(state)
        names = ("features", "objective", "start", "bound", "steps")
        self.path = [dict(zip(names, entry, strict=True)) for entry in state["path"].tolist()]
        self.family.restore({name: state[f"family_{name}"] for name in self.family.state()})
        for i, problem in enumerate(self.problems):
            problem.restore({name: state[f"{name}_{i}"] for name in problem.state()}, self.family)
