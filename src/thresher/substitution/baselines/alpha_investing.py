"""Alpha-investing: a sequence of tests that keeps features by their p-values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats
from thresher.substitution.baselines.base import Baseline
from thresher.substitution.problem import Kept, Targets
from thresher.substitution.settings import SubstitutionSettings


class AlphaInvesting(Baseline):
    """Keeps a feature if its p-value, in the regression on the kept features, is below what the wealth allows [1]_.

    Classes are regressed on as -1 and +1. The wealth starts at 0.5, and each kept feature adds 0.5.

    References
    ----------
    .. [1] J. Zhou, D. Foster, R. Stine, L. Ungar, "Streamwise Feature Selection", JMLR 7, 2006.
    """

    def __init__(self, settings: SubstitutionSettings, targets: Targets, pool: _native.ThreadPool) -> None:
        super().__init__(settings, targets, pool)
        self.numbers[:] = [1.0, 0.5, 0.0]  # a penalty that is not used, the wealth, and the features tested
        self._root_shares = np.sqrt(self.shares)
        self._reset()

    def _reset(self) -> None:
        self._basis = np.empty((0, len(self.y)))
        self._residual = self._root_shares * self.y
        if self.settings.fit_intercept:
            self._extend_basis(self._root_shares.copy())

    def _extend_basis(self, direction: Floats) -> None:
        direction = direction / math.sqrt(float(direction @ direction))
        self._basis = np.vstack([self._basis, direction[None]])
        self._residual = self._residual - direction * float(direction @ self._residual)

    def _orthogonal_part(self, column: NDArray[np.float32]) -> Floats:
        rest = self._root_shares * column
        for _ in range(2):  # once more, since rounding leaves a part in the span of the basis
            rest = rest - (self._basis @ rest) @ self._basis
        return np.asarray(rest)

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        if id in self.ids:
            return
        self.numbers[2] += 1
        wealth = float(self.numbers[1])
        alpha = wealth / (2.0 * self.numbers[2])
        rest = self._orthogonal_part(column)
        square, residual = float(rest @ rest), float(self._residual @ self._residual)
        if square <= 1e-12 or residual <= 1e-300:
            return
        explained = min(float(rest @ self._residual) ** 2 / square / residual, 1.0 - 1e-15)
        z = math.sqrt(-len(self.y) * math.log1p(-explained))
        kept = math.erfc(z / math.sqrt(2.0)) < alpha
        self.numbers[1] = wealth - alpha + 0.5 * kept
        if kept:
            self._extend_basis(rest)
            self.keep(id, column, 0.0)

    def kept(self) -> Kept:
        """The kept features with the weights of their least-squares regression."""
        if not self.ids:
            return super().kept()
        design = self._root_shares * self.columns * self.scales[:, None]
        design = design if not self.settings.fit_intercept else np.vstack([design, self._root_shares[None]])
        if np.isfinite(design).all():
            solution = np.linalg.lstsq(design.T, self._root_shares * self.y, rcond=None)[0]
        else:  # of a forged checkpoint; LAPACK might never return, and an answer that is not finite is refused
            solution = np.full(len(design), np.nan)
        self.weights = solution[: len(self.ids)]
        return super().kept()

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        super().restore(state)
        self._reset()
        for column in self.columns:
            self._extend_basis(self._orthogonal_part(column))
