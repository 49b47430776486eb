"""The scales of inputs by their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def scaled(x: Array, factors: dict[int, float], logs: set[int]) -> Array:
    """The columns times their factors, 0 without one; v becomes sign(v) ln(1 + |v|) for the columns in `logs`."""
    out = np.zeros(x.shape)
    for j, factor in factors.items():
        out[:, j] = x[:, j] * factor
        if j in logs:
            out[:, j] = np.sign(out[:, j]) * np.log1p(np.abs(out[:, j]))
    return out.astype(np.float32)


def moments(x: Array, weights: Array) -> tuple[Array, Array, Array]:
    """The variance, mean square and kurtosis of each column, rows having weights."""
    share = weights / weights.sum()
    centred = x - share @ x
    variances = share @ centred**2
    return variances, share @ x**2, share @ centred**4 / np.maximum(variances**2, 1e-300)
