"""The proposer of the Feature Generating Machine: the B most violated features of every output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Columns, Family, Ids, Proposal
from thresher.fgm.block_problem import BlockProblem


class WorstCase:
    """Worst-case analysis (Algorithm 2) of all outputs in one pass, and when to end (37).

    Parameters
    ----------
    family : Family
    outputs : int
    B : int
        Elements that an iteration proposes to each output.
    k : int
        Elements in all: of each output with ``apart``, otherwise of all outputs together.
    tol, inner_tol : float
        See `FGMSettings`.
    """

    def __init__(
        self, family: Family, outputs: int, *, B: int, k: int, apart: bool, tol: float, inner_tol: float
    ) -> None:
        self.family = family
        self.B = B
        self.k = k
        self.apart = apart
        self.tol = tol
        self.inner_tol = inner_tol
        #: For each output, the largest lower bound so far of the objective over all blocks there could be (24).
        self.bounds = np.full(outputs, -np.inf)
        self._last = np.full(outputs, np.inf)  # objectives one iteration ago
        self._had = np.full(outputs, -1)  # elements one iteration ago

    def propose(self, problems: Sequence[BlockProblem]) -> list[tuple[Ids, Columns] | None]:
        """A block for each problem; none for those that have enough, or of which nothing new can be said."""
        room = self._room(problems)
        going = [i for i, problem in enumerate(problems) if room[i] > 0 and not self._ended(i, problem)]
        offers: list[tuple[Ids, Columns] | None] = [None] * len(problems)
        if not going:
            return offers
        while going:
            proposals = self.family.top(np.stack([problems[i].residual for i in going]), self.B)
            again = []
            for i, proposal in zip(going, proposals, strict=True):
                problem = problems[i]
                self.bounds[i] = max(self.bounds[i], problem.solved.dual - 0.5 * float(proposal.scores.sum()))
                ids = _block(problem, proposal, room[i])
                if not _fresh(problem, ids).any() and problem.sharpen():
                    again.append(i)  # that nothing new would help is believed of an exact solution only
                    continue
                if len(ids) and not _has(problem, ids):
                    offers[i] = ids, self.family.columns(ids)
                self._last[i], self._had[i] = problem.solved.objective, len(problem.elements)
            going = again
        return offers

    def _room(self, problems: Sequence[BlockProblem]) -> list[int]:
        """New elements that each output may have still. Together, the last ones may be too many: they are dropped."""
        if self.apart or len(problems) == 1:
            return [self.k - len(problem.elements) for problem in problems]
        together = len(np.unique(np.concatenate([problem.elements for problem in problems])))
        return [self.k - together] * len(problems)

    def _ended(self, i: int, problem: BlockProblem) -> bool:
        """Whether the last block brought too little (37): as nothing new, that is believed of an exact solution only,
        since an inexact one may stop at its first step."""
        if not problem.blocks:
            return False
        # Known features in a new combination may lower the objective still; where they do not, this is the end.
        nothing_new = len(problem.elements) == self._had[i]
        least = (max(self.tol, self.inner_tol) if nothing_new else self.tol) * max(abs(problem.start), 1e-300)
        while self._last[i] - problem.solved.objective <= least:
            if not problem.sharpen():
                return True
        return False

    def state(self) -> dict[str, NDArray[Any]]:
        """What going on needs."""
        return {"bounds": self.bounds.copy(), "last": self._last.copy(), "had": self._had.copy()}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on where the proposer that gave ``state`` stood."""
        self.bounds, self._last, self._had = state["bounds"].copy(), state["last"].copy(), state["had"].copy()


def _block(problem: BlockProblem, proposal: Proposal, room: int) -> Ids:
    """What is proposed, less the new elements for which there is no room."""
    fresh = _fresh(problem, proposal.ids)
    return proposal.ids[~fresh | (np.cumsum(fresh) <= room)]


def _fresh(problem: BlockProblem, ids: Ids) -> NDArray[np.bool_]:
    """Which of these the problem has not."""
    return ~np.isin(ids, problem.elements)


def _has(problem: BlockProblem, ids: Ids) -> bool:
    """Whether just these were proposed before: then the cutting planes are complete, and this is the optimum."""
    wanted = set(ids.tolist())
    return any(set(block.tolist()) == wanted for block in problem.blocks)
