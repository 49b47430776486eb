"""The paper's synthetic data, and how a selection of features is measured on it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from thresher import _native

S = 100
EVEN = np.empty(0)
TEAM = _native.Team(0)


class Made(NamedTuple):
    """Standard normal columns, true weights on some of them, and targets; as many rows again to test classes on."""

    x: Any
    y: Any
    true: Any
    test: Any
    truth: Any

    @property
    def loss(self) -> str:
        """The paper's (2) or (3)."""
        return "squared" if self.test is None else "squared_hinge"


def made(p: int, seed: int, *, classes: bool, s: int = S, n: int | None = None) -> Made:
    """n = 1.2 s log2 p rows; noise of 0.1 on numbers, none on classes."""
    rng = np.random.default_rng([seed, p, int(classes)])
    n = int(1.2 * s * np.log2(p)) if n is None else n
    x = rng.standard_normal((n, p), dtype=np.float32)
    true = np.zeros(p)
    true[rng.choice(p, s, replace=False)] = rng.normal(size=s)
    clean = x @ true
    if not classes:
        return Made(x, clean + 0.1 * rng.normal(size=n), true, None, None)
    test = rng.standard_normal((n, p), dtype=np.float32)
    return Made(x, np.where(clean > 0, 1.0, -1.0), true, test, np.where(test @ true > 0, 1.0, -1.0))


class Measured(NamedTuple):
    """Recall of the true features, and after a refit the recovery error of the weights or the test error."""

    recall: float
    error: float


def measured(data: Made, found: Any) -> Measured:
    """A selection of columns by position, fitted once more as all methods are."""
    found = np.asarray(found, np.int64)
    true = np.flatnonzero(data.true)
    recall = len(set(found.tolist()) & set(true.tolist())) / len(true)
    columns = np.ascontiguousarray(data.x[:, found].T)
    ones, start = np.ones(len(found)), np.zeros(len(found))
    weights = _native.refit(data.loss, 1.0, data.y[None], EVEN, False, columns, ones, start, 1e-6, 100, TEAM)[0]
    if data.test is None:
        distance = data.true.copy()
        distance[found] -= weights
        return Measured(recall, float(np.linalg.norm(distance) / np.linalg.norm(data.true)))
    return Measured(recall, float((np.sign(data.test[:, found] @ weights) != data.truth).mean()))
