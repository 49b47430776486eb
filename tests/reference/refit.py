"""The slow twin of the final fit: the objective of a dense matrix, row by row, and its gradient by differences."""

import numpy as np


def row_loss(kind: str, loss: str, delta: float, m: np.ndarray, target) -> float:
    """The loss of one row with margins ``m``."""
    if kind == "softmax":
        return float(np.log(np.exp(m - m.max()).sum()) - (m[int(target)] - m.max()))
    targets = np.atleast_1d(target) if kind in ("one", "many") else np.where(np.arange(len(m)) == target, 1.0, -1.0)
    return sum(_value(loss, delta, a, b) for a, b in zip(m, targets, strict=True))


def _value(loss: str, delta: float, m: float, y: float) -> float:
    if loss == "logistic":
        return float(np.logaddexp(0.0, -y * m))
    if loss == "squared_hinge":
        return 0.5 * max(0.0, 1.0 - y * m) ** 2
    r = abs(m - y)
    if loss == "squared":
        return 0.5 * r * r
    if loss == "huber":
        return 0.5 * r * r if r <= delta else delta * (r - 0.5 * delta)
    assert loss == "squared_epsilon"
    return 0.5 * max(0.0, r - delta) ** 2


def objective(x, y, weights, kind, loss, delta, lanes, ridge, point) -> float:
    """Σ c_i loss_i / Σ c_i + ½ ridge |w|²; the point holds the weights and the intercept of each output."""
    table = point.reshape(lanes, -1)
    total = 0.0
    for row, target, weight in zip(x, y, weights, strict=True):
        m = table[:, :-1] @ row + table[:, -1]
        total += weight * row_loss(kind, loss, delta, m, target)
    return total / weights.sum() + 0.5 * ridge * float((table[:, :-1] ** 2).sum())


def gradient(point, value, step: float = 1e-5) -> np.ndarray:
    """The gradient of a function by central differences."""
    out = np.empty(len(point))
    for i in range(len(point)):
        there, back = point.copy(), point.copy()
        there[i] += step
        back[i] -= step
        out[i] = (value(there) - value(back)) / (2 * step)
    return out
