"""The proposer and the drop rule of Sparse Random Features: draw at random, and let go of zeros."""

from __future__ import annotations

from collections.abc import Sequence

from thresher.columns.types import Ids, MadeColumns, WholeColumns
from thresher.sparse_rf.feature_columns import DrawnColumns
from thresher.sparse_rf.l1_problem import L1Problem


class RandomDraw:
    """R functions at a time, the same for every output (step 1 of Algorithm 1), ``rounds`` times."""

    def __init__(self, family: DrawnColumns, *, draws: int, rounds: int) -> None:
        self.family = family
        self.draws = draws
        self.rounds = rounds
        #: How many were drawn so far.
        self.drawn = 0

    def propose(self, problems: Sequence[L1Problem]) -> list[tuple[Ids, WholeColumns | MadeColumns] | None]:
        """A block of fresh functions for each problem, until enough were drawn."""
        if self.drawn >= self.draws * self.rounds:
            return [None] * len(problems)
        ids = self.family.draw(self.draws, self.drawn)
        columns = self.family.columns(ids)
        self.drawn += self.draws
        return [(ids, columns)] * len(problems)


class DropZeros:
    """What has no weight leaves (step 4 of Algorithm 1)."""

    def drop(self, problems: Sequence[L1Problem]) -> None:
        """After every solve."""
        for problem in problems:
            problem.drop_zeros()
