"""Grafting, and its light form: an l1 problem over what has come in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats
from thresher.substitution.baselines.base import Rival
from thresher.substitution.problem import Targets
from thresher.substitution.settings import SubstitutionSettings


class Grafting(Rival):
    """A feature whose slope is above the penalty comes in, and all that are in are fitted to the bottom [1]_.

    References
    ----------
    .. [1] S. Perkins, J. Theiler, "Online Feature Selection using Grafting", ICML 2003.
    """

    def __init__(self, settings: SubstitutionSettings, targets: Targets, team: _native.Team) -> None:
        super().__init__(settings, targets, team)
        self._solver = self._fresh()

    def _fresh(self) -> _native.L1Solver:
        return _native.L1Solver(self.loss.name, self.y, np.ascontiguousarray(self.shares), self.settings.fit_intercept)

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        if id in self.ids or not abs(self._slope(column)) > self.lam:
            return
        self.take(id, column, 0.0)
        self._solver.add(column[None].copy(), 1.0 / self.scales[-1:], self.team)  # it keeps what it is given
        self._solver.solve(self.lam, 1e-5, 100, self.team)
        self.weights = self._solver.weights / self.scales
        self.margins, self.shift = self._solver.margins, float(self._solver.shift)
        gone = self.weights == 0.0
        if gone.any():
            self._solver.keep(np.flatnonzero(~gone))
            self.leave(gone)

    def slopes(self) -> Floats:
        """The solver leaves the constant at its best."""
        if self.ids:
            return self.shares * self.loss.derivative(self.margins + self.shift, self.y)
        return super().slopes()

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        super().restore(state)
        self._solver = self._fresh()
        if self.ids:
            self._solver.add(self.columns.copy(), 1.0 / self.scales, self.team)
            self._solver.restore(self.weights * self.scales, self.shift, self.team)


class GraftingLight(Rival):
    """As grafting, but with a single proximal step over all that are in for every feature that arrives [1]_.

    References
    ----------
    .. [1] J. Zhu, N. Lao, E. P. Xing, "Grafting-Light: Fast, Incremental Feature Selection and Structure Learning of
       Markov Random Fields", KDD 2010.
    """

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        if id not in self.ids and abs(self._slope(column)) > self.lam:
            self.take(id, column, 0.0)
        if not self.ids:
            return
        slopes = self.slopes()
        value = float(self.shares @ self.loss.value(self.margins + self.shift, self.y))
        gradient = self.scales * (self.columns @ slopes.astype(np.float32))
        bound = max(float(self.numbers[1]) / 1.5, self.loss.curvature)  # the step may become longer again
        while True:
            point = self.weights - gradient / bound
            weights = np.sign(point) * np.maximum(0.0, np.abs(point) - self.lam / bound)
            move = weights - self.weights
            margins = self.margins + (move * self.scales).astype(np.float32) @ self.columns
            after = float(self.shares @ self.loss.value(margins + self.shift, self.y))
            if after <= value + float(gradient @ move) + 0.5 * bound * float(move @ move) + 1e-15:
                break
            bound *= 2.0
        self.numbers[1] = bound
        self.weights, self.margins = weights, margins
        self.leave(weights == 0.0)
