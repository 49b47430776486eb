"""The Feature Generating Machine: the working-set loop over a family of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Family, Floats, Ids, Proposal, merge_proposals
from thresher.fgm.block_problem import BlockProblem
from thresher.fgm.l2_refit import L2Refit
from thresher.fgm.mkl_problem import MKLProblem
from thresher.fgm.settings import FGMSettings
from thresher.fgm.worst_case import Offers, WorstCase, propose_together
from thresher.working_set.loop import WorkingSetLoop
from thresher.working_set.result import Found, restored_path


class FGMEngine:
    """Runs the working-set loop over a family, one iteration per `step`.

    Parameters
    ----------
    family : Family
    targets : array of shape (outputs, rows)
        The targets, encoded for the loss.
    weights : array of shape (rows,)
        The weight of each row.
    multilabel : bool
        Outputs are labels rather than classes, of which a row has one.
    keep : array, optional
        Elements that are in the answer whatever their weights are.
    """

    def __init__(
        self,
        family: Family,
        settings: FGMSettings,
        targets: Floats,
        weights: Floats,
        pool: _native.ThreadPool,
        *,
        multilabel: bool = False,
        keep: Ids | None = None,
    ) -> None:
        #: Elements that are never dropped, ascending.
        self.keep = np.empty(0, np.uint64) if keep is None else keep
        self.family = family
        self.settings = settings
        self.targets = np.atleast_2d(targets)
        self.row_weights = weights
        self.pool = pool
        self.l2 = L2Refit(family, settings, self.targets, weights, multilabel=multilabel)
        self.problems = [self._problem(y, settings.loss_weight * weights) for y in self.targets]
        self._final, self._final_C = self.problems, settings.loss_weight
        self.proposer = WorstCase(
            family,
            len(self.problems),
            B=settings.proposed(len(self.problems)),
            k=settings.k,
            per_output=settings.per_class,
            tol=settings.tol,
            inner_tol=settings.inner_tol,
            repeat=bool(settings.repeat),
            keep=self.keep,
        )
        self.loop = WorkingSetLoop(self.problems, self.proposer)
        #: One entry per iteration: number of elements, objective, lower bound, solver steps.
        self.path: list[dict[str, float]] = []

    def _problem(self, y: Floats, weights: Floats, kind: type[BlockProblem] | None = None) -> BlockProblem:
        kind = kind or (MKLProblem if self.settings.solver == "mkl" else BlockProblem)
        return kind(
            self.settings.loss,
            np.ascontiguousarray(y),
            weights,
            fit_intercept=self.settings.fit_intercept,
            tolerance=self.settings.inner_tol,
            pool=self.pool,
        )

    @property
    def rounds(self) -> int:
        """Completed iterations."""
        return self.loop.rounds

    def step(self, offers: Offers | None = None) -> bool:
        """Run one iteration of Algorithm 1; return False at the end. ``offers``: see `WorkingSetLoop.step`."""
        if self._at_limit or not self.loop.step(offers):
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

    @property
    def _at_limit(self) -> bool:
        return self.settings.max_iter is not None and self.loop.rounds >= self.settings.max_iter

    @staticmethod
    def run_together(engines: Sequence[FGMEngine]) -> None:
        """Run several engines to their ends. Their iterations go together, and share the scans of the columns."""
        going = list(engines)
        while going := [engine for engine in going if not engine._at_limit]:
            offers = propose_together([(engine.proposer, engine.problems) for engine in going])
            going = [engine for engine, offer in zip(going, offers, strict=True) if engine.step(offer)]

    def _elements(self) -> Ids:
        if len(self.problems) == 1:
            return self.problems[0].sorted_elements
        return np.unique(np.concatenate([problem.elements for problem in self.problems]))

    @property
    def bytes(self) -> int:
        """Bytes of the solvers' copies of the columns."""
        return sum(problem.bytes for problem in self.problems)

    def found(self) -> Found:
        """The features so far, at most ``k``. Fits them again if features were dropped or a refit is requested."""
        if self.settings.penalty is not None:
            return self._with_kept(self.l2.found(self.filled(), self.settings.penalty, self.keep))
        problems, self._final_C = self.problems, self.settings.loss_weight
        elements = self._elements()
        if len(elements) > self.settings.k and not self.settings.per_class:
            kept = self._strongest(elements)
            problems = [self._refit(i, kept, refit_C=None) for i in range(len(problems))]
        if self.settings.refit_C is not None:
            selected = [problem.elements for problem in problems]
            self._final_C = self.settings.refit_C
            problems = [self._refit(i, ids, refit_C=self.settings.refit_C) for i, ids in enumerate(selected)]
        self._final = problems
        return self._with_kept(self._merge(problems))

    def _with_kept(self, found: Found) -> Found:
        """The features found, and those to keep that no row has."""
        absent = self.keep[~np.isin(self.keep, found.keys)]
        if not len(absent):
            return found
        return Found(
            np.concatenate([found.keys, absent]),
            np.concatenate([found.weights, np.zeros((len(found.weights), len(absent)))], axis=1),
            np.concatenate([found.counts, np.zeros(len(absent), np.uint64)]),
            found.intercepts,
        )

    def held_out_margins(self, held: NDArray[np.bool_]) -> Floats:
        """Solve the problems of the last `found` without the rows of a mask; the margins of these, outputs x rows."""
        if self.settings.penalty is not None:
            return self.l2.held_out_margins(held, self.settings.penalty)
        margins = np.empty((len(self.targets), int(held.sum())))
        for i, solved in enumerate(self._final):
            # Rows of weight 0 have no loss. The dual solver divides by the weights, and has the same solutions.
            weights = np.where(held, 0.0, self._final_C * self.row_weights)
            problem = self._problem(self.targets[i], weights, BlockProblem)
            problem.restore(solved.state(), self.family)
            problem.solve()
            margins[i] = problem.margins[held] + problem.intercept
        return margins

    def filled(self) -> Ids:
        """``k`` elements, sorted: those of the problems, and if they are fewer, others with the largest scores.

        A small C leaves later blocks without weights. A refit has a use for them.
        """
        elements = self._elements()
        room = self.settings.k - len(elements)
        if room <= 0:
            return elements if not room else np.sort(self._strongest(elements))
        offered = self.family.top(np.stack([problem.residual for problem in self.problems]), self.settings.k)
        others = [~np.isin(offer.ids, elements) & (offer.scores > 0) for offer in offered]
        best = merge_proposals(
            [Proposal(offer.ids[new], offer.scores[new]) for offer, new in zip(offered, others, strict=True)], room
        )
        return np.sort(np.concatenate([elements, best.ids]))

    def own_margins(self, rows: NDArray[np.bool_]) -> Floats:
        """The margins of some rows, outputs x rows."""
        return np.stack([problem.margins[rows] + problem.intercept for problem in self.problems])

    def _strongest(self, elements: Ids) -> Ids:
        """The k elements whose weights have the largest norm over their features and all outputs."""
        squares = np.zeros(len(elements))
        for problem in self.problems:
            for ids, weights in self._squared_norms(problem):
                np.add.at(squares, np.searchsorted(elements, ids), weights)
        squares[np.isin(elements, self.keep)] = np.inf
        return elements[np.lexsort((elements, -squares))[: self.settings.k]]

    def _squared_norms(self, problem: BlockProblem) -> list[tuple[Ids, Floats]]:
        """For each block, its elements and the squared norms of their weights."""
        weights, parts, at = problem.weights, [], 0
        for ids in problem.blocks:
            starts, _ = self.family.features(ids)
            squares = np.concatenate([[0.0], np.cumsum(weights[at : at + starts[-1]] ** 2)])
            parts.append((ids, squares[starts[1:]] - squares[starts[:-1]]))
            at += int(starts[-1])
        return parts

    def _refit(self, output: int, kept: Ids, *, refit_C: float | None) -> BlockProblem:
        """Solve an output's problem over these elements: in the same blocks, or with ``refit_C`` in a single one."""
        C = self.settings.loss_weight if refit_C is None else refit_C
        problem = self._problem(self.targets[output], C * self.row_weights)
        blocks = [np.sort(kept)] if refit_C is not None else self.problems[output].blocks
        for ids in blocks:
            some = ids[np.isin(ids, kept)]
            if len(some):
                problem.add(some, self.family.columns(some))
        problem.solve()
        return problem

    def _merge(self, problems: list[BlockProblem]) -> Found:
        """Sum the weights of each feature over the blocks that contain it."""
        keys = [self.family.features(ids)[1] for problem in problems for ids in problem.blocks]
        distinct = np.unique(np.concatenate([np.empty(0, np.uint64), *keys]))
        weights = np.zeros((len(problems), len(distinct)))
        counts = np.zeros(len(distinct), np.uint64)
        for i, problem in enumerate(problems):
            keys = [self.family.features(ids)[1] for ids in problem.blocks]
            if keys:
                at = np.searchsorted(distinct, np.concatenate(keys))
                np.add.at(weights[i], at, problem.weights)
                counts[at] = np.concatenate(problem.counts)
        norms = np.sqrt((weights**2).sum(axis=0))
        order = np.lexsort((distinct, -norms))
        order = order[(norms[order] > 0) | np.isin(distinct[order], self.keep)]
        intercepts = np.array([problem.intercept for problem in problems])
        return Found(distinct[order], weights[:, order], counts[order], intercepts)

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that `restore` needs, besides the data."""
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
        """Restore the result of `state`; KeyError or ValueError if it does not fit this engine."""
        self.loop.rounds = int(state["rounds"][0])
        self.proposer.restore(state)
        self.path = restored_path(("features", "objective", "start", "bound", "steps"), state["path"])
        self.family.restore({name: state[f"family_{name}"] for name in self.family.state()})
        for i, problem in enumerate(self.problems):
            problem.restore({name: state[f"{name}_{i}"] for name in problem.state()}, self.family)
