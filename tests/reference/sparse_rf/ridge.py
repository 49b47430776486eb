"""Reference implementation of the l2 fits: Newton's method with the exact matrix of one output."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.reference.fgm.working_set import loss, slope

Array = np.ndarray[Any, Any]


def objective(name: str, x: Array, w: Array, b: float, y: Array, c: Array, ridge: float) -> float:
    """Σ c·loss(x'w + b, y) + ½ ridge |w|²."""
    return float(c @ loss(name, x @ w + b, y) + 0.5 * ridge * w @ w)


def _curvature(name: str, m: Array, y: Array) -> Array:
    if name == "squared":
        return np.ones(len(m))
    if name == "squared_hinge":
        return (y * m < 1.0).astype(np.float64)
    e = np.exp(-np.abs(m))
    return e / (1.0 + e) ** 2


def solve(
    name: str, x: Array, y: Array, c: Array, ridge: float, *, fit_intercept: bool, steps: int = 200
) -> tuple[Array, float]:
    """Newton's method with halved steps; the intercept has a negligible penalty, so that the matrix is regular."""
    a = np.hstack([x, np.ones((len(y), 1))]) if fit_intercept else x
    penalty = np.full(a.shape[1], ridge)
    penalty[x.shape[1] :] = 1e-12 * c.sum()
    w = np.zeros(a.shape[1])

    def value(at: Array) -> float:
        return float(c @ loss(name, a @ at, y) + 0.5 * penalty @ at**2)

    for _ in range(steps):
        m = a @ w
        gradient = a.T @ (c * slope(name, m, y)) + penalty * w
        step = np.linalg.solve((a.T * (c * _curvature(name, m, y))) @ a + np.diag(penalty), -gradient)
        length = 1.0
        while length > 1e-12 and value(w + length * step) > value(w) + 1e-4 * length * gradient @ step:
            length *= 0.5
        w = w + length * step
        if -gradient @ step <= 1e-15 * value(w):
            break
    return (w[:-1], float(w[-1])) if fit_intercept else (w, 0.0)
