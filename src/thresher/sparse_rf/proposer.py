"""The proposer and the drop rule of Sparse Random Features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Ids
from thresher.sparse_rf.feature_columns import RandomFeatureColumns
from thresher.sparse_rf.l1_problem import L1Problem


class RandomFeatureProposer:
    """Proposes ``draws`` new random features per iteration, the same for every output (step 1 of Algorithm 1)."""

    def __init__(self, family: RandomFeatureColumns, *, draws: int, iterations: int) -> None:
        self.family = family
        self.draws = draws
        self.iterations = iterations
        #: The number of features drawn so far.
        self.n_drawn = 0

    def propose(self, problems: Sequence[L1Problem]) -> list[tuple[Ids, NDArray[np.float32] | None] | None]:
        """A block of new features for each problem; None after the last iteration."""
        if self.n_drawn >= self.draws * self.iterations:
            return [None] * len(problems)
        ids = self.family.draw(self.draws, self.n_drawn)
        columns = self.family.columns(ids)
        self.n_drawn += self.draws
        return [(ids, columns)] * len(problems)


class DropZeros:
    """Drops the features with zero weight (step 4 of Algorithm 1)."""

    def drop(self, problems: Sequence[L1Problem]) -> None:
        for problem in problems:
            problem.drop_zeros()
