"""The loop itself: propose → solve → drop. What is proposed, solved and dropped are parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from thresher.columns.types import Ids


class Problem(Protocol):
    """One output's small exact problem over the features that were proposed to it."""

    def add(self, ids: Ids, columns: Any) -> None:
        """Take in a block of proposed features; their columns in the form that proposer and problem agree on."""

    def solve(self) -> None:
        """Solve over all that was taken in."""


P = TypeVar("P", bound=Problem)
P_contra = TypeVar("P_contra", bound=Problem, contravariant=True)


class Proposer(Protocol[P_contra]):
    """Says which features come next."""

    def propose(self, problems: Sequence[P_contra]) -> Sequence[tuple[Ids, Any] | None]:
        """A block for each problem, or None for one that is done."""


class Drop(Protocol[P_contra]):
    """Takes features out again."""

    def drop(self, problems: Sequence[P_contra]) -> None:
        """After every solve."""


class WorkingSetLoop(Generic[P]):
    """Drives the parts, one round a `step`."""

    def __init__(self, problems: Sequence[P], proposer: Proposer[P], drop: Drop[P] | None = None) -> None:
        self.problems = problems
        self.proposer = proposer
        self.drop = drop
        self.rounds = 0

    def step(self) -> bool:
        """One round; False, and nothing done, once no problem is offered anything."""
        offers = self.proposer.propose(self.problems)
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
