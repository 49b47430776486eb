"""The inner problem in its dual form, multiple kernel learning (28): a reference for a few hundred rows.

This is the paper's MKL-FGM. Like SimpleMKL, it descends in the weights μ of the kernels K_h = X_h X_h', and solves the
support vector machine of Σ μ_h K_h exactly at each step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats, Ids, ScaledColumns
from thresher.errors import SettingsError
from thresher.fgm.block_problem import BlockProblem, SolveResult

#: The row limit: a kernel matrix has rows² entries, and solving a machine takes time in rows³.
MAX_ROWS = 5000


class MKLProblem(BlockProblem):
    """The same solutions as `BlockProblem` (Theorem 3), computed slowly; squared hinge loss only."""

    def __init__(
        self, loss: str, y: Floats, weights: Floats, *, fit_intercept: bool, tolerance: float, pool: _native.ThreadPool
    ) -> None:
        if len(y) > MAX_ROWS:
            raise SettingsError(f'`solver="mkl"` supports at most {MAX_ROWS} rows, not {len(y)}; use `solver="apg"`')
        self._y, self._C, self._fit_intercept = y, weights, fit_intercept
        self._designs: list[NDArray[np.float64]] = []
        self._kernels: list[NDArray[np.float64]] = []
        self._mu = np.empty(0)
        self._beta, self._b = np.zeros(len(y)), 0.0
        super().__init__(loss, y, weights, fit_intercept=fit_intercept, tolerance=tolerance, pool=pool)

    def add(self, ids: Ids, columns: ScaledColumns) -> None:
        super().add(ids, columns)
        design = np.zeros((len(self._y), len(columns.scales)))
        place = np.repeat(np.arange(len(columns.scales)), np.diff(columns.indptr))
        design[columns.rows, place] = columns.values * columns.scales[place]
        self._designs.append(design)
        self._kernels.append(design @ design.T)
        self._mu = np.append(self._mu, 0.0) if len(self._mu) else np.ones(1)

    def _solve(self) -> SolveResult:
        if not self._kernels:
            return super()._solve()  # no kernel: the intercept alone
        steps = self._descend()
        lengths = self._lengths()
        value = self._dual_value()
        # The weights of a block are μ_h X_h'β.
        weights = [mu * design.T @ self._beta for mu, design in zip(self._mu, self._designs, strict=True)]
        self._solver.restore(np.concatenate(weights), self._b, 1.0, self._pool)
        m = self._solver.margins + self._b
        primal = 0.5 * sum(np.linalg.norm(w) for w in weights) ** 2
        primal += 0.5 * float(self._C @ np.maximum(0.0, 1.0 - self._y * m) ** 2)
        dual = value + 0.5 * float(self._mu @ lengths)
        return SolveResult(float(primal), dual, dual - 0.5 * float(lengths.max()), steps)

    def _lengths(self) -> Floats:
        return np.array([self._beta @ kernel @ self._beta for kernel in self._kernels])

    def _dual_value(self) -> float:
        """The dual objective of the machine at β = αy: α'1 - ½ Σ α²/C - ½ β'(Σ μ_h K_h)β."""
        size = np.abs(self._beta)
        return float(size.sum() - 0.5 * (size**2 / self._C).sum() - 0.5 * self._mu @ self._lengths())

    def _descend(self) -> int:
        """Projected gradient descent on the simplex of μ with backtracking; the objective is convex and smooth in μ."""
        if len(self._mu) > 1 and self._mu[-1] == 0.0:
            self._mu = np.full(len(self._mu), 1.0 / len(self._mu))
        self._solve_machine()
        value, step = self._dual_value(), 1.0
        for steps in range(1, 5001):
            gradient = -0.5 * self._lengths()
            mu, beta, b = self._mu, self._beta, self._b
            while True:
                self._mu = _project_on_simplex(mu - step * gradient)
                moved = self._mu - mu
                self._solve_machine()
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

    def _solve_machine(self) -> None:
        """Solve the machine of the kernel at μ exactly, by Newton steps on its set of support vectors."""
        kernel = np.tensordot(self._mu, np.stack(self._kernels), axes=1)
        n = len(self._y)
        support = np.ones(n, bool)
        for _ in range(200):
            at = np.flatnonzero(support & (self._C > 0))
            system = np.zeros((len(at) + 1, len(at) + 1))
            system[:-1, :-1] = kernel[np.ix_(at, at)] + np.diag(1.0 / self._C[at])
            right = np.append(self._y[at], 0.0)
            if self._fit_intercept:
                system[-1, :-1] = system[:-1, -1] = 1.0
            else:
                system[-1, -1] = 1.0
            solved = np.linalg.solve(system, right)
            beta = np.zeros(n)
            beta[at] = solved[:-1]
            b = float(solved[-1]) if self._fit_intercept else 0.0
            now = self._y * (kernel @ beta + b) < 1.0
            if np.array_equal(now, support):
                break
            support = now if now.any() else support
        self._beta, self._b = beta, b


def _project_on_simplex(v: Floats) -> Floats:
    """The nearest point with nonnegative components that sum to one."""
    descending = np.sort(v)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(v) + 1)
    nearest: Floats = np.maximum(0.0, v - excess[np.count_nonzero(descending > excess) - 1])
    return nearest
