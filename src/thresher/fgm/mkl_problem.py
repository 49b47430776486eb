"""The inner problem in its dual, as multiple kernel learning (28): for a few hundred rows, and to compare with.

It is the paper's MKL-FGM, in the manner of SimpleMKL: descend in the weights μ of the kernels K_h = X_h X_h', each
time with the support vector machine of Σ μ_h K_h solved exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Columns, Floats, Ids
from thresher.errors import SettingsError
from thresher.fgm.block_problem import BlockProblem, Solved

#: Rows at most: kernels take rows x rows numbers, and each machine the cube of that in time.
MOST_ROWS = 5000


class MKLProblem(BlockProblem):
    """The same answers as `BlockProblem` (Theorem 3), slowly; squared hinge loss only."""

    def __init__(
        self, loss: str, y: Floats, weights: Floats, *, shift: bool, tolerance: float, team: _native.Team
    ) -> None:
        if len(y) > MOST_ROWS:
            raise SettingsError(f'solver="mkl" holds rows x rows numbers: for {MOST_ROWS} rows at most, not {len(y)}')
        self._y, self._C, self._with_shift = y, weights, shift
        self._designs: list[NDArray[np.float64]] = []
        self._kernels: list[NDArray[np.float64]] = []
        self._mu = np.empty(0)
        self._beta, self._b = np.zeros(len(y)), 0.0
        super().__init__(loss, y, weights, shift=shift, tolerance=tolerance, team=team)

    def add(self, ids: Ids, columns: Columns) -> None:
        super().add(ids, columns)
        design = np.zeros((len(self._y), len(columns.scales)))
        place = np.repeat(np.arange(len(columns.scales)), np.diff(columns.indptr))
        design[columns.rows, place] = columns.values * columns.scales[place]
        self._designs.append(design)
        self._kernels.append(design @ design.T)
        self._mu = np.append(self._mu, 0.0) if len(self._mu) else np.ones(1)

    def _solve(self) -> Solved:
        if not self._kernels:
            return super()._solve()  # no kernel: the best shift alone
        steps = self._descend()
        lengths = self._lengths()
        value = self._dual_value()
        # The weights of a block are μ_h X_h'β: its norm is μ_h times that of X_h'β.
        weights = [mu * design.T @ self._beta for mu, design in zip(self._mu, self._designs, strict=True)]
        self._solver.restore(np.concatenate(weights), self._b, 1.0, self._team)
        m = self._solver.margins + self._b
        primal = 0.5 * sum(np.linalg.norm(w) for w in weights) ** 2
        primal += 0.5 * float(self._C @ np.maximum(0.0, 1.0 - self._y * m) ** 2)
        dual = value + 0.5 * float(self._mu @ lengths)
        return Solved(float(primal), dual, dual - 0.5 * float(lengths.max()), steps)

    def _lengths(self) -> Floats:
        return np.array([self._beta @ kernel @ self._beta for kernel in self._kernels])

    def _dual_value(self) -> float:
        """The machine's value at its β = αy: α'1 - ½ Σ α²/C - ½ β'(Σ μ_h K_h)β."""
        size = np.abs(self._beta)
        return float(size.sum() - 0.5 * (size**2 / self._C).sum() - 0.5 * self._mu @ self._lengths())

    def _descend(self) -> int:
        """Projected gradient on the simplex of μ, by backtracking; the value is convex and smooth in μ."""
        if len(self._mu) > 1 and self._mu[-1] == 0.0:
            self._mu = np.full(len(self._mu), 1.0 / len(self._mu))
        self._machine()
        value, step = self._dual_value(), 1.0
        for steps in range(1, 5001):
            gradient = -0.5 * self._lengths()
            mu, beta, b = self._mu, self._beta, self._b
            while True:
                self._mu = _on_simplex(mu - step * gradient)
                moved = self._mu - mu
                self._machine()
                now = self._dual_value()
                if now <= value + gradient @ moved + (moved @ moved) / (2.0 * step) + 1e-14 * abs(value):
                    break
                step *= 0.5
            if not now < value:
                self._mu, self._beta, self._b = mu, beta, b
                return steps
            gained, value, step = value - now, now, 1.5 * step
            if gained <= 1e-3 * self._tolerance * abs(value):
                return steps
        return steps

    def _machine(self) -> None:
        """The exact machine of the kernel at μ: Newton on its support vectors, which end in finitely many sets."""
        kernel = np.tensordot(self._mu, np.stack(self._kernels), axes=1)
        n = len(self._y)
        support = np.ones(n, bool)
        for _ in range(200):
            at = np.flatnonzero(support & (self._C > 0))
            system = np.zeros((len(at) + 1, len(at) + 1))
            system[:-1, :-1] = kernel[np.ix_(at, at)] + np.diag(1.0 / self._C[at])
            right = np.append(self._y[at], 0.0)
            if self._with_shift:
                system[-1, :-1] = system[:-1, -1] = 1.0
            else:
                system[-1, -1] = 1.0
            solved = np.linalg.solve(system, right)
            beta = np.zeros(n)
            beta[at] = solved[:-1]
            b = float(solved[-1]) if self._with_shift else 0.0
            now = self._y * (kernel @ beta + b) < 1.0
            if np.array_equal(now, support):
                break
            support = now if now.any() else support
        self._beta, self._b = beta, b


def _on_simplex(v: Floats) -> Floats:
    """The nearest point whose parts are not negative and sum to one."""
    falling = np.sort(v)[::-1]
    over = (np.cumsum(falling) - 1.0) / np.arange(1, len(v) + 1)
    nearest: Floats = np.maximum(0.0, v - over[np.count_nonzero(falling > over) - 1])
    return nearest
