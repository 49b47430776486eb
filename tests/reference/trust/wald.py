"""The fit of candidates on a half of the rows, by the formulas, for dense columns."""

from __future__ import annotations

import numpy as np


def design(x: np.ndarray) -> np.ndarray:
    """The columns with an intercept behind them."""
    return np.column_stack([x, np.ones(len(x))])


def fit(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, *, linear: bool, penalty: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The point, its intercept last, and the covariance of the weights: A⁻¹ H A⁻¹ with A = H + diag(penalty)."""
    z = design(x)
    ridge = np.diag(np.zeros(z.shape[1]) if penalty is None else np.append(penalty, 0.0))
    if linear:
        information = z.T @ (weight[:, None] * z)
        point = np.linalg.solve(information + ridge, z.T @ (weight * y))
        variance = (weight * (y - z @ point) ** 2).sum() / (len(y) - z.shape[1])
    else:
        point, variance = np.zeros(z.shape[1]), 1.0
        for _ in range(100):
            chance = 1.0 / (1.0 + np.exp(-z @ point))
            information = z.T @ ((weight * chance * (1 - chance))[:, None] * z)
            step = np.linalg.solve(information + ridge, z.T @ (weight * (y - chance)) - ridge @ point)
            point = point + step
            if np.abs(step).max() < 1e-12:
                break
    inverse = np.linalg.inv(information + ridge)
    return point, variance * inverse @ information @ inverse


def statistics(x: np.ndarray, y: np.ndarray, weight: np.ndarray, **how) -> np.ndarray:
    """Each weight divided by its standard error."""
    point, covariance = fit(x, y, weight, **how)
    return (point / np.sqrt(np.diag(covariance)))[:-1]


def squared_length(point: np.ndarray, covariance: np.ndarray, group: np.ndarray) -> float:
    """The squared length of a group's whitened weights: b' V⁻¹ b."""
    return float(point[group] @ np.linalg.solve(covariance[np.ix_(group, group)], point[group]))
