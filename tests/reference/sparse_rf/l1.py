"""Reference implementation of the l1 problem: proximal gradient, and a lower bound from the dual."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.reference.fgm.working_set import loss, slope

Array = np.ndarray[Any, Any]


def objective(name: str, x: Array, w: Array, b: float, y: Array, c: Array, penalties: Array) -> float:
    """Σ c·loss(x'w + b, y) + Σ λ_j |w_j|."""
    return float(c @ loss(name, x @ w + b, y) + penalties @ np.abs(w))


def lower_bound(name: str, x: Array, slopes: Array, y: Array, c: Array, penalties: Array) -> float:
    """The dual objective at these slopes, scaled to be feasible. With an intercept the slopes must sum to zero."""
    theta = slopes * min(1.0, float(np.min(penalties / np.maximum(np.abs(x.T @ slopes), 1e-300))))
    if name == "logistic":
        p = np.clip(-y * theta / c, 1e-300, 1.0)
        q = np.clip(1.0 - p, 1e-300, 1.0)
        return -float(c @ (p * np.log(p) + q * np.log(q)))
    return -float((theta**2 / (2.0 * c) + theta * y).sum())


def solve(
    name: str, x: Array, y: Array, c: Array, penalties: Array, *, fit_intercept: bool, steps: int = 4_000
) -> tuple[Array, float]:
    """Accelerated proximal gradient with a safe constant step; momentum restarts when the objective rises."""
    a = np.hstack([x, np.ones((len(y), 1))]) if fit_intercept else x
    limits = np.append(penalties, 0.0) if fit_intercept else penalties
    bound = np.linalg.norm(np.sqrt(c)[:, None] * a, 2) ** 2 * (0.25 if name == "logistic" else 1.0) + 1e-9
    w = point = np.zeros(a.shape[1])
    momentum, last = 1.0, np.inf
    for _ in range(steps):
        u = point - a.T @ (c * slope(name, a @ point, y)) / bound
        moved = np.sign(u) * np.maximum(0.0, np.abs(u) - limits / bound)
        now = float(c @ loss(name, a @ moved, y) + limits @ np.abs(moved))
        following = 1.0 if now > last else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        point = moved + (momentum - 1.0) / following * (moved - w)
        w, momentum, last = moved, following, now
    return (w[:-1], float(w[-1])) if fit_intercept else (w, 0.0)
