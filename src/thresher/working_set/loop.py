"""The working-set loop (propose → solve → drop) and the interfaces of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from thresher.columns.types import Ids


class Problem(Protocol):
    """The problem of one output over the features proposed so far."""

    def add(self, ids: Ids, columns: Any) -> None:
        """Add a block of features. Proposer and problem agree on the form of the columns."""

    def solve(self) -> None:
        """Solve over all added features."""


P = TypeVar("P", bound=Problem)
P_contra = TypeVar("P_contra", bound=Problem, contravariant=True)


class Proposer(Protocol[P_contra]):
    """Chooses the next features."""

    def propose(self, problems: Sequence[P_contra]) -> Sequence[tuple[Ids, Any] | None]:
        """A block for each problem, or None for a problem that is done."""


class Drop(Protocol[P_contra]):
    """Removes features after a solve."""

    def drop(self, problems: Sequence[P_contra]) -> None:
        """Remove features from the problems."""


class WorkingSetLoop(Generic[P]):
    """Runs the parts, one round per `step`."""

    def __init__(self, problems: Sequence[P], proposer: Proposer[P], drop: Drop[P] | None = None) -> None:
        self.problems = problems
        self.proposer = proposer
        self.drop = drop
        self.rounds = 0

    def step(self, offers: Sequence[tuple[Ids, Any] | None] | None = None) -> bool:
        """Run one round; return False, without changes, if no problem gets a block.

        ``offers`` is what the proposer proposes, if it was asked already.
        """
        offers = self.proposer.propose(self.problems) if offers is None else offers
        if all(offer is None for offer in offers):
            return False
        for problem, offer in zip(self.problems, offers, strict=True):
            if offer is not None:
                problem.add(*offer)
                problem.solve()
        if self.drop is not None:
            self.drop.drop(self.problems)
        self.rounds += 1
        return True
