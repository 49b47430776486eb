"""Grafting and Grafting-Light: an l1 problem over the kept features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats
from thresher.substitution.baselines.base import Baseline
from thresher.substitution.problem import Targets
from thresher.substitution.settings import SubstitutionSettings


class Grafting(Baseline):
    """Keeps a feature whose slope exceeds the penalty, then solves the l1 problem over all kept features [1]_.

    References
    ----------
    .. [1] S. Perkins, J. Theiler, "Online Feature Selection using Grafting", ICML 2003.
    """

    def __init__(self, settings: SubstitutionSettings, targets: Targets, pool: _native.ThreadPool) -> None:
        super().__init__(settings, targets, pool)
        self._solver = self._make_solver()

    def _make_solver(self) -> _native.L1Solver:
        return _native.L1Solver(self.loss.name, self.y, np.ascontiguousarray(self.shares), self.settings.fit_intercept)

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        if id in self.ids or not abs(self.slope(column)) > self.lam:
            return
        self.keep(id, column, 0.0)
        self._solver.add(
            column[None].copy(), 1.0 / self.scales[-1:], self.pool
        )  # the solver keeps a reference to the array
        self._solver.solve(self.lam, 1e-5, 100, self.pool)
        self.weights = self._solver.weights / self.scales
        self.margins, self.intercept = self._solver.margins, float(self._solver.intercept)
        dropped = self.weights == 0.0
        if dropped.any():
            self._solver.keep(np.flatnonzero(~dropped))
            self.drop(dropped)

    def derivatives(self) -> Floats:
        """As in the base class, but the solver has already optimised the intercept if features are kept."""
        if self.ids:
            return self.shares * self.loss.derivative(self.margins + self.intercept, self.y)
        return super().derivatives()

    def state(self) -> dict[str, NDArray[Any]]:
        # The solver's own weights: those of the columns, multiplied again, would differ in their last bits.
        members, matrix, shares, added, fine = self._solver.curvature()
        solver = {"solver_weights": self._solver.weights, "members": members, "matrix": matrix, "curvature": shares}
        return {**super().state(), **solver, "refined": np.array([added, float(fine)])}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        super().restore(state)
        for name in ("solver_weights", "matrix", "curvature", "refined"):
            if not np.isfinite(state[name]).all():
                raise ValueError(f"{name} that are not finite")
        self._solver = self._make_solver()
        if self.ids:
            self._solver.add(self.columns.copy(), 1.0 / self.scales, self.pool)
            self._solver.restore(np.array(state["solver_weights"]), self.intercept, self.pool)
            added, fine = state["refined"].tolist()
            members, matrix, shares = (np.ascontiguousarray(state[name]) for name in ("members", "matrix", "curvature"))
            self._solver.resume(members, matrix, shares, added, bool(fine))


class GraftingLight(Baseline):
    """As `Grafting`, but with a single proximal step over the kept features for each arriving one [1]_.

    References
    ----------
    .. [1] J. Zhu, N. Lao, E. P. Xing, "Grafting-Light: Fast, Incremental Feature Selection and Structure Learning of
       Markov Random Fields", KDD 2010.
    """

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        if id not in self.ids and abs(self.slope(column)) > self.lam:
            self.keep(id, column, 0.0)
        if not self.ids:
            return
        derivatives = self.derivatives()
        value = float(self.shares @ self.loss.value(self.margins + self.intercept, self.y))
        # Native sums have a fixed order, unlike those of a BLAS: the same bits on every machine.
        ones = np.ones((1, len(self.y)), np.float32)
        gradient = self.scales * _native.column_products(self.columns, ones, derivatives, self.pool).ravel()
        bound = max(float(self.numbers[1]) / 1.5, self.loss.curvature)  # so that the step can grow again
        while True:
            point = self.weights - gradient / bound
            weights = np.sign(point) * np.maximum(0.0, np.abs(point) - self.lam / bound)
            step = weights - self.weights
            margins = self.margins + _native.weighted_sum(self.columns, step * self.scales, 0.0)
            after = float(self.shares @ self.loss.value(margins + self.intercept, self.y))
            if after <= value + float(gradient @ step) + 0.5 * bound * float(step @ step) + 1e-15:
                break
            bound *= 2.0
        self.numbers[1] = bound
        self.weights, self.margins = weights, margins
        self.drop(weights == 0.0)
