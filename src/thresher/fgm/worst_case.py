"""The proposer of the Feature Generating Machine: the B most violated elements for each output."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.columns.in_memory import InMemoryColumns, top_together
from thresher.columns.types import Family, Floats, Ids, Proposal, ScaledColumns
from thresher.fgm.block_problem import BlockProblem

#: For each problem, a block and its columns.
Offers = list[tuple[Ids, ScaledColumns] | None]


class Question(NamedTuple):
    """The arguments of a worst-case analysis, see `Family.top`."""

    family: Family
    residuals: Floats
    limit: int


class WorstCase:
    """Worst-case analysis (Algorithm 2) of all outputs in one pass, with the stopping rule (37).

    Parameters
    ----------
    family : Family
    outputs : int
    B : int
        Elements that an iteration proposes to each output.
    k : int
        The limit on elements: for each output with ``per_output``, otherwise for all outputs together.
    tol, inner_tol : float
        See `FGMSettings`.
    repeat : bool
        Propose elements again that a problem has.
    keep : array
        Elements that the first block of every problem has, whatever their scores are.
    """

    def __init__(
        self,
        family: Family,
        outputs: int,
        *,
        B: int,
        k: int,
        per_output: bool,
        tol: float,
        inner_tol: float,
        repeat: bool = True,
        keep: Ids | None = None,
    ) -> None:
        self.keep = np.empty(0, np.uint64) if keep is None else keep
        self.family = family
        self.B = B
        self.k = k
        self.per_output = per_output
        self.tol = tol
        self.inner_tol = inner_tol
        self.repeat = repeat
        #: For each output, the largest lower bound so far of the objective over all blocks (24).
        self.bounds = np.full(outputs, -np.inf)
        self._last = np.full(outputs, np.inf)  # objectives one iteration ago
        self._n_last = np.full(outputs, -1)  # elements one iteration ago

    def propose(self, problems: Sequence[BlockProblem]) -> Offers:
        """A block for each problem; None for a problem with enough elements or without progress."""
        return propose_together([(self, problems)])[0]

    def questions(self, problems: Sequence[BlockProblem]) -> Generator[Question, list[Proposal], Offers]:
        """`propose`, with the questions to the family as they come: it takes the answers, and returns the blocks."""
        room = self._room(problems)
        active = [i for i, problem in enumerate(problems) if room[i] > 0 and not self._stalled(i, problem)]
        offers: Offers = [None] * len(problems)
        while active:
            known = 0 if self.repeat else max(len(problems[i].elements) for i in active)
            proposals = yield Question(self.family, np.stack([problems[i].residual for i in active]), self.B + known)
            again = []
            for i, proposal in zip(active, proposals, strict=True):
                problem = problems[i]
                self.bounds[i] = max(self.bounds[i], problem.solved.dual - 0.5 * float(proposal.scores[: self.B].sum()))
                if not self.repeat:
                    proposal = _only_new(problem, proposal, self.B)
                if len(self.keep) and not problem.blocks:
                    proposal = _with_kept(proposal, self.keep)
                ids = _block(problem, proposal, room[i])
                if self.repeat and not _is_new(problem, ids).any() and problem.tighten():
                    again.append(i)  # only an exact solution shows that no new element helps
                    continue
                if len(ids) and not (self.repeat and _has_block(problem, ids)):
                    offers[i] = ids, self.family.columns(ids)
                self._last[i], self._n_last[i] = problem.solved.objective, len(problem.elements)
            active = again
        return offers

    def _room(self, problems: Sequence[BlockProblem]) -> list[int]:
        """How many new elements each output may add. Together they may exceed ``k``; the engine drops the excess."""
        if self.per_output or len(problems) == 1:
            return [self.k - len(problem.elements) for problem in problems]
        together = len(np.unique(np.concatenate([problem.elements for problem in problems])))
        return [self.k - together] * len(problems)

    def _stalled(self, i: int, problem: BlockProblem) -> bool:
        """Whether the last block lowered the objective by too little (37). Only an exact solution shows this; an
        inexact one may stop at its first step."""
        if not problem.blocks:
            return False
        # A new combination of known elements may still lower the objective; if it does not, the problem is done.
        nothing_new = len(problem.elements) == self._n_last[i]
        least = (max(self.tol, self.inner_tol) if nothing_new else self.tol) * max(abs(problem.start), 1e-300)
        while self._last[i] - problem.solved.objective <= least:
            if not problem.tighten():
                return True
        return False

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that `restore` needs."""
        return {"bounds": self.bounds.copy(), "last": self._last.copy(), "had": self._n_last.copy()}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore the result of `state`; ValueError if it does not fit."""
        if any(state[name].shape != self.bounds.shape for name in ("bounds", "last", "had")):
            raise ValueError("the bounds are not one for each output")
        self.bounds, self._last, self._n_last = state["bounds"].copy(), state["last"].copy(), state["had"].copy()


def propose_together(asked: Sequence[tuple[WorstCase, Sequence[BlockProblem]]]) -> list[Offers]:
    """`WorstCase.propose` of several proposers, which share the scans of the columns that all have in memory."""
    going = {i: proposer.questions(problems) for i, (proposer, problems) in enumerate(asked)}
    offers: list[Offers] = [[] for _ in asked]
    answers: dict[int, list[Proposal]] = {}
    while going:
        questions = {}
        for i, questioner in list(going.items()):
            try:
                questions[i] = questioner.send(answers[i]) if i in answers else next(questioner)
            except StopIteration as end:
                offers[i] = end.value
                del going[i]
        answers = dict(zip(questions, tops(list(questions.values())), strict=True))
    return offers


def tops(questions: Sequence[Question]) -> list[list[Proposal]]:
    """The answers to several questions, with one scan if all are about the same columns in memory."""
    stored = [(one.family, one.residuals) for one in questions if isinstance(one.family, InMemoryColumns)]
    if len(stored) < len(questions) or len({id(family.store) for family, _ in stored}) != 1:
        return [one.family.top(one.residuals, one.limit) for one in questions]
    found = top_together(stored, max(one.limit for one in questions))
    return [
        [Proposal(ids[: one.limit], scores[: one.limit]) for ids, scores in proposals]
        for one, proposals in zip(questions, found, strict=True)
    ]


def _block(problem: BlockProblem, proposal: Proposal, room: int) -> Ids:
    """The proposed elements, without new ones beyond ``room``."""
    new = _is_new(problem, proposal.ids)
    return proposal.ids[~new | (np.cumsum(new) <= room)]


def _with_kept(proposal: Proposal, keep: Ids) -> Proposal:
    """The elements to keep, then the proposed ones."""
    others = ~np.isin(proposal.ids, keep)
    scores = np.concatenate([np.full(len(keep), np.inf), proposal.scores[others]])
    return Proposal(np.concatenate([keep, proposal.ids[others]]), scores)


def _only_new(problem: BlockProblem, proposal: Proposal, limit: int) -> Proposal:
    """The best proposed elements that the problem does not have yet."""
    new = np.flatnonzero(_is_new(problem, proposal.ids))[:limit]
    return Proposal(proposal.ids[new], proposal.scores[new])


def _is_new(problem: BlockProblem, ids: Ids) -> NDArray[np.bool_]:
    """Which of these elements the problem does not have yet."""
    return ~problem.has(ids)


def _has_block(problem: BlockProblem, ids: Ids) -> bool:
    """Whether the problem already has this block. The cutting planes are then complete, and the solution is optimal."""
    wanted = set(ids.tolist())
    return any(set(block.tolist()) == wanted for block in problem.blocks)
