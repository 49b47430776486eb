"""Reference implementation of the Feature Generating Machine: dense NumPy, every step as in the paper."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def scores(x: Array, residual: Array, *, power: float, weights: Array | None = None) -> Array:
    """(Σ r x)² of every column, after dividing it by its root mean square to this power."""
    w = np.ones(len(x)) if weights is None else weights
    sums = residual @ x
    squares = w @ (x * x) / w.sum()
    return np.where(squares > 0, sums**2 / np.where(squares > 0, squares, 1.0) ** power, 0.0)


def best(values: Array, limit: int) -> list[int]:
    """The positions of the largest positive values; ties go to the smaller position."""
    return [int(j) for j in np.lexsort((np.arange(len(values)), -values))[:limit] if values[j] > 0]


def loss(name: str, m: Array, y: Array) -> Array:
    """The loss of each row."""
    if name == "squared":
        return 0.5 * (m - y) ** 2
    if name == "squared_hinge":
        return 0.5 * np.maximum(0.0, 1.0 - y * m) ** 2
    return np.logaddexp(0.0, -y * m)


def slope(name: str, m: Array, y: Array) -> Array:
    """The derivative of the loss with respect to the margin."""
    if name == "squared":
        return m - y
    if name == "squared_hinge":
        return -y * np.maximum(0.0, 1.0 - y * m)
    return -y / (1.0 + np.exp(y * m))


def objective(name: str, blocks: list[Array], w: list[Array], b: float, y: Array, c: Array) -> float:
    """½(Σ‖w_h‖)² + Σ c·loss (31)."""
    margins = sum((x @ v for x, v in zip(blocks, w, strict=True)), np.zeros(len(y))) + b
    return 0.5 * sum(float(np.linalg.norm(v)) for v in w) ** 2 + float(c @ loss(name, margins, y))


def shrink(norms: Array, tau: float) -> Array:
    """argmin_o≥0 (tau/2) Σ (o_h - norms_h)² + ½ (Σ o_h)², by trying every number of positive components."""
    order = np.sort(norms)[::-1]
    candidates = [np.zeros_like(norms)]
    for count in range(1, len(norms) + 1):
        # With `count` positive components: tau (o - norm) + Σ o = 0 for these, so Σ o = tau Σ norm / (tau + count).
        total = tau * order[:count].sum() / (tau + count)
        candidates.append(np.maximum(0.0, norms - total / tau))
    # The optimum solves this equation. Comparing objectives, which are flat there, would lose half of the digits.
    errors = [np.abs(np.maximum(0.0, norms - o.sum() / tau) - o).max() for o in candidates]
    return candidates[int(np.argmin(errors))]


def solve(
    name: str, blocks: list[Array], y: Array, c: Array, *, fit_intercept: bool, steps: int = 4000
) -> tuple[list[Array], float]:
    """Proximal gradient with a safe constant step; the intercept has its own step."""
    x = np.hstack(blocks)
    bound = 2.0 * (np.linalg.norm(np.sqrt(c)[:, None] * x, 2) ** 2 + 1e-9)
    bound_b = 2.0 * (c.sum() + 1e-9)
    w, b = [np.zeros(block.shape[1]) for block in blocks], 0.0
    for _ in range(steps):
        margins = sum(block @ v for block, v in zip(blocks, w, strict=True)) + b
        r = c * slope(name, margins, y)
        u = [v - block.T @ r / bound for block, v in zip(blocks, w, strict=True)]
        norms = np.array([np.linalg.norm(v) for v in u])
        kept = shrink(norms, bound)
        w = [v * (k / n if n > 0 else 0.0) for v, k, n in zip(u, kept, norms, strict=True)]
        b -= r.sum() / bound_b if fit_intercept else 0.0
    return w, b
