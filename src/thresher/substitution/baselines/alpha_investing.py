"""Alpha-investing: features come in by their p-values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats
from thresher.substitution.baselines.base import Rival
from thresher.substitution.problem import Kept, Targets
from thresher.substitution.settings import SubstitutionSettings


class AlphaInvesting(Rival):
    """A feature comes in if its p-value in the regression on what is in is below what the wealth allows [1]_.

    Targets of classes count as numbers. The wealth is 0.5 at first and for every feature taken.

    References
    ----------
    .. [1] J. Zhou, D. Foster, R. Stine, L. Ungar, "Streamwise Feature Selection", JMLR 7, 2006.
    """

    def __init__(self, settings: SubstitutionSettings, targets: Targets, team: _native.Team) -> None:
        super().__init__(settings, targets, team)
        self.numbers[:] = [1.0, 0.5, 0.0]  # there is no penalty; wealth, and features tried
        self._root = np.sqrt(self.shares)
        self._start()

    def _start(self) -> None:
        self._basis = np.empty((0, len(self.y)))
        self._left = self._root * self.y
        if self.settings.fit_intercept:
            self._join(self._root.copy())

    def _join(self, direction: Floats) -> None:
        direction = direction / math.sqrt(float(direction @ direction))
        self._basis = np.vstack([self._basis, direction[None]])
        self._left = self._left - direction * float(direction @ self._left)

    def _new(self, column: NDArray[np.float32]) -> Floats:
        rest = self._root * column
        for _ in range(2):
            rest = rest - (self._basis @ rest) @ self._basis
        return np.asarray(rest)

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        if id in self.ids:
            return
        self.numbers[2] += 1
        wealth = float(self.numbers[1])
        alpha = wealth / (2.0 * self.numbers[2])
        rest = self._new(column)
        square, left = float(rest @ rest), float(self._left @ self._left)
        if square <= 1e-12 or left <= 1e-300:
            return
        explained = min(float(rest @ self._left) ** 2 / square / left, 1.0 - 1e-15)
        z = math.sqrt(-len(self.y) * math.log1p(-explained))
        taken = math.erfc(z / math.sqrt(2.0)) < alpha
        self.numbers[1] = wealth - alpha + 0.5 * taken
        if taken:
            self._join(rest)
            self.take(id, column, 0.0)

    def kept(self) -> Kept:
        """With the weights of least squares on what is in."""
        if not self.ids:
            return super().kept()
        wide = self._root * self.columns * self.scales[:, None]
        wide = wide if not self.settings.fit_intercept else np.vstack([wide, self._root[None]])
        best = np.linalg.lstsq(wide.T, self._root * self.y, rcond=None)[0]
        self.weights = best[: len(self.ids)]
        return super().kept()

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        super().restore(state)
        self._start()
        for column in self.columns:
            self._join(self._new(column))
