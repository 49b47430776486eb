"""The l1 problem of one output: Σ c·loss + λ Σ|w|, over a changing set of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats, Ids
from thresher.core.losses import get_loss
from thresher.errors import FileFormatError
from thresher.sparse_rf.feature_columns import RandomFeatureColumns

#: The limit on quadratic models per solve; convergence takes far fewer.
_MAX_STEPS = 200
#: The search for the λ that keeps k features stops after this many solves, or when the bracket is this narrow.
_MAX_SEARCH_STEPS, _BRACKET_RATIO = 12, 1.02


@dataclass(frozen=True, slots=True)
class SolveResult:
    """The result of a solve; ``bound`` is a lower bound of the objective."""

    objective: float
    penalty: float
    bound: float
    steps: int
    sweeps: int


class L1Problem:
    """The subproblem (9), solved to a duality gap; see ``native/solvers/l1_solver.hpp``.

    Parameters
    ----------
    y : array of shape (rows,)
        The targets, encoded for the loss.
    weights : array of shape (rows,)
        The weight of each row's loss.
    lam : float
        λ.
    tolerance : float
        Stop once the objective is within this share of its minimum.
    k : int, optional
        Keep at most ``k`` features, by increasing λ above ``lam`` if necessary.
    family : RandomFeatureColumns, optional
        Recomputes the columns that are not in memory.
    max_stored : int, optional
        How many columns to keep in memory between iterations.
    """

    def __init__(
        self,
        loss: str,
        y: Floats,
        weights: Floats,
        *,
        lam: float,
        fit_intercept: bool,
        tolerance: float,
        pool: _native.ThreadPool,
        k: int | None = None,
        family: RandomFeatureColumns | None = None,
        max_stored: int | None = None,
    ) -> None:
        self._solver = _native.L1Solver(get_loss(loss).name, np.ascontiguousarray(y), weights, fit_intercept)
        if family is not None and max_stored is not None:
            self._solver.make_by(family.generate, max_stored)
        self._tolerance = tolerance
        self._pool = pool
        self.k = k
        self.lam = lam
        #: The λ of the last solve, above ``lam`` if ``lam`` would keep more than ``k`` features.
        self.current_lam = lam
        self.ids: Ids = np.empty(0, np.uint64)
        self.solved = SolveResult(0.0, 0.0, 0.0, 0, 0)
        self.solve()
        #: The objective without features, at the best intercept.
        self.start = self.solved.objective

    def add(self, ids: Ids, columns: NDArray[np.float32] | None) -> None:
        """Add columns (features x rows) with zero weights; None: the solver calls ``family.generate`` for them."""
        factors = np.ones(len(ids))
        if columns is None:
            self._solver.add_generated(ids, factors, self._pool)
        else:
            self._solver.add(columns, factors, self._pool, ids)  # not copied until the next `keep`
        self.ids = np.concatenate([self.ids, ids])

    def solve(self) -> None:
        """Solve over all columns, warm-started from the current weights.

        An interrupt (Ctrl-C) leaves intermediate weights, which are usable too.
        """
        self._solve(max(self.lam, self.current_lam) if self.k is not None else self.lam)
        if self.k is not None:
            self._search_lam(self.k)

    def _solve(self, lam: float) -> int:
        """Solve with this λ; return the number of nonzero weights."""
        self.current_lam = lam
        self.solved = SolveResult(**self._solver.solve(lam, self._tolerance, _MAX_STEPS, self._pool))
        return int(np.count_nonzero(self._solver.weights))

    def _search_lam(self, k: int) -> None:
        """Find the smallest λ, not below ``lam``, that keeps at most k: double or halve it, then bisect."""
        count = int(np.count_nonzero(self._solver.weights))
        low = high = self.current_lam  # low keeps too many features, high at most k
        steps = 0
        if count > k:
            while count > k:
                low, high = high, 2.0 * high
                count = self._solve(high)
        else:
            while count <= k and low > self.lam and steps < _MAX_SEARCH_STEPS:
                high, low = low, max(self.lam, 0.5 * low)
                count = self._solve(low)
                steps += 1
            if count <= k:
                return
        while high > _BRACKET_RATIO * low and steps < _MAX_SEARCH_STEPS:
            middle = float(np.sqrt(low * high))
            count = self._solve(middle)
            low, high = (middle, high) if count > k else (low, middle)
            steps += 1
        if count > k:
            self._solve(high)

    def steepest(self) -> float:
        """The largest derivative of the loss with respect to a weight, in absolute value: the λ that keeps none."""
        return float(np.abs(self._solver.gradient(self._pool)).max(initial=0.0))

    def drop_zeros(self) -> None:
        """Drop the columns with zero weight (step 4 of Algorithm 1)."""
        self.keep(np.flatnonzero(self._solver.weights))

    def keep(self, positions: NDArray[np.intp]) -> None:
        """Drop all columns but these."""
        self._solver.keep(positions.astype(np.int64))
        self.ids = self.ids[positions]

    @property
    def weights(self) -> Floats:
        """The weights of the columns, in the order of ``ids``."""
        return self._solver.weights

    @property
    def intercept(self) -> float:
        """The intercept."""
        return float(self._solver.intercept)

    @property
    def margins(self) -> Floats:
        """w'x of each row, without the intercept."""
        return self._solver.margins

    @property
    def column_bytes(self) -> int:
        """Bytes of the columns in memory."""
        return self._solver.column_bytes

    @property
    def product_bytes(self) -> int:
        """Bytes of the columns' products."""
        return self._solver.product_bytes

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that `restore` needs, besides the data."""
        members, matrix, shares, added, fine = self._solver.curvature()
        return {
            "ids": self.ids,
            "weights": self.weights,
            "members": members,
            "matrix": matrix,
            "shares": shares,
            "numbers": np.array([self.intercept, self.lam, self.current_lam, self.start, added, float(fine)]),
            "solved": np.array([getattr(self.solved, name) for name in SolveResult.__slots__], np.float64),
        }

    def restore(self, state: dict[str, NDArray[Any]], family: RandomFeatureColumns) -> None:
        """Restore the result of `state`."""
        if len(state["ids"]) != len(state["weights"]):
            raise FileFormatError("inconsistent list of weights")
        part = len(state["ids"]) if family.max_columns is None else max(1, family.max_columns // 2)
        for first in range(0, len(state["ids"]), max(1, part)):
            ids = state["ids"][first : first + part]
            self.add(ids, family.columns(ids))
            self.keep(np.arange(len(self.ids)))  # stores the columns that fit
        intercept, self.lam, self.current_lam, self.start, added, fine = state["numbers"].tolist()
        self._solver.restore(state["weights"], intercept, self._pool)
        self._solver.resume(state["members"], state["matrix"], state["shares"], added, bool(fine))
        objective, penalty, bound, steps, sweeps = state["solved"].tolist()
        self.solved = SolveResult(objective, penalty, bound, int(steps), int(sweeps))
