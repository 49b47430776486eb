"""One output's l1 problem: Σ c·loss + λ Σ|w|, over columns that come and go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Columns, Floats, Ids, MadeColumns, WholeColumns
from thresher.core.losses import get_loss
from thresher.errors import FileFormatError
from thresher.sparse_rf.feature_columns import DrawnColumns

#: Quadratic models of a problem at most; it ends long before.
_MOST_STEPS = 200
#: Problems solved at most in search of a λ that keeps k features; how far apart two are that are as good as one.
_MOST_SEARCHED, _CLOSE = 12, 1.02


@dataclass(frozen=True, slots=True)
class Solved:
    """What a solve came to; no weights have an objective below ``bound``."""

    objective: float
    penalty: float
    bound: float
    steps: int
    sweeps: int


class L1Problem:
    """The sub-problem (9), solved to a duality gap; see ``native/working_set/l1_solver.hpp``.

    Parameters
    ----------
    y, weights : arrays of one number a row
        Targets as the loss takes them, and what each row's loss is multiplied with.
    lam : float
        λ.
    k : int, optional
        Keep at most so many: λ rises until that is so. It never falls below ``lam``.
    family : DrawnColumns, optional
        Makes columns again that are not in memory; of those kept from round to round, at most ``held`` are.
    """

    def __init__(
        self,
        loss: str,
        y: Floats,
        weights: Floats,
        *,
        lam: float,
        shift: bool,
        tolerance: float,
        team: _native.Team,
        k: int | None = None,
        family: DrawnColumns | None = None,
        held: int | None = None,
    ) -> None:
        self._solver = _native.L1Solver(get_loss(loss).name, np.ascontiguousarray(y), weights, shift)
        if family is not None and held is not None:
            self._solver.make_by(family.made, held)
        self._tolerance = tolerance
        self._team = team
        self.k = k
        self.lam = lam
        #: The λ of the last solve: more than ``lam`` only where more than ``k`` would have been kept.
        self.lam_now = lam
        self.ids: Ids = np.empty(0, np.uint64)
        self.solved = Solved(0.0, 0.0, 0.0, 0, 0)
        self.solve()
        #: The objective without any feature, at the best shift.
        self.start = self.solved.objective

    def add(self, ids: Ids, columns: Columns | WholeColumns | MadeColumns) -> None:
        """More columns, their weights at zero. A column that is scaled pays for its weight on the scaled one."""
        factors = 1.0 / columns.scales
        if isinstance(columns, WholeColumns):
            self._solver.add(columns.values, factors, self._team, ids)  # the array itself, until the next `keep`
        elif isinstance(columns, MadeColumns):
            self._solver.add_made(ids, factors, self._team)
        else:
            self._solver.add_sparse(columns.indptr, columns.rows, columns.values, factors, self._team)
        self.ids = np.concatenate([self.ids, ids])

    def solve(self) -> None:
        """Solve over the columns that are there, from their weights.

        What stops it half way (Ctrl-C) leaves weights of the way, which are as usable.
        """
        self._solve(max(self.lam, self.lam_now) if self.k is not None else self.lam)
        if self.k is not None:
            self._search(self.k)

    def _solve(self, lam: float) -> int:
        self.lam_now = lam
        self.solved = Solved(**self._solver.solve(lam, self._tolerance, _MOST_STEPS, self._team))
        return int(np.count_nonzero(self._solver.weights))

    def _search(self, k: int) -> None:
        """The least λ, not below ``lam``, that keeps at most k: doubled or halved, then the bracket halved."""
        count = int(np.count_nonzero(self._solver.weights))
        low = high = self.lam_now  # keeps too many; keeps few enough
        steps = 0
        if count > k:
            while count > k:
                low, high = high, 2.0 * high
                count = self._solve(high)
        else:
            while count <= k and low > self.lam and steps < _MOST_SEARCHED:
                high, low = low, max(self.lam, 0.5 * low)
                count = self._solve(low)
                steps += 1
            if count <= k:
                return
        while high > _CLOSE * low and steps < _MOST_SEARCHED:
            middle = float(np.sqrt(low * high))
            count = self._solve(middle)
            low, high = (middle, high) if count > k else (low, middle)
            steps += 1
        if count > k:
            self._solve(high)

    def drop_zeros(self) -> None:
        """Let go of the columns without weight (step 4 of Algorithm 1)."""
        self.keep(np.flatnonzero(self._solver.weights))

    def keep(self, positions: NDArray[np.intp]) -> None:
        """Let go of all columns but these."""
        self._solver.keep(positions.astype(np.int64))
        self.ids = self.ids[positions]

    @property
    def residual(self) -> Floats:
        return self._solver.slopes

    @property
    def weights(self) -> Floats:
        """Of the columns, in the order of ``ids``."""
        return self._solver.weights

    @property
    def shift(self) -> float:
        """The constant."""
        return float(self._solver.shift)

    @property
    def column_bytes(self) -> int:
        """What the columns in memory take."""
        return self._solver.column_bytes

    @property
    def product_bytes(self) -> int:
        """What their products take."""
        return self._solver.product_bytes

    def state(self) -> dict[str, NDArray[Any]]:
        """What going on needs, besides the data."""
        members, matrix, shares, added, fine = self._solver.curvature()
        return {
            "ids": self.ids,
            "weights": self.weights,
            "members": members,
            "matrix": matrix,
            "shares": shares,
            "numbers": np.array([self.shift, self.lam, self.lam_now, self.start, added, float(fine)]),
            "solved": np.array([getattr(self.solved, name) for name in Solved.__slots__], np.float64),
        }

    def restore(self, state: dict[str, NDArray[Any]], family: DrawnColumns) -> None:
        """Go on where the problem that gave ``state`` stood."""
        if len(state["ids"]) != len(state["weights"]):
            raise FileFormatError("weights of no functions")
        few = len(state["ids"]) if family.most is None else max(1, family.most // 2)
        for first in range(0, len(state["ids"]), max(1, few)):
            some = state["ids"][first : first + few]
            self.add(some, family.columns(some))
            self.keep(np.arange(len(self.ids)))  # those that have room stay in memory
        shift, self.lam, self.lam_now, self.start, added, fine = state["numbers"].tolist()
        self._solver.restore(state["weights"], shift, self._team)
        self._solver.resume(state["members"], state["matrix"], state["shares"], added, bool(fine))
        objective, penalty, bound, steps, sweeps = state["solved"].tolist()
        self.solved = Solved(objective, penalty, bound, int(steps), int(sweeps))
