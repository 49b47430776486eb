"""The paper's synthetic data, and how a selection of features is measured on it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from thresher import _native

S = 100
EVEN = np.empty(0)
POOL = _native.ThreadPool(0)


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
    """What a selection is worth: recall of the true features, and errors after a refit.

    ``error`` is the recovery error of the weights, or of classes the test error; ``kept`` how many features there are.
    Of classes, ``fitted`` is the error on the rows learned from, and ``tuned`` the test error after a refit whose ridge
    was chosen by cross-validation on these rows.
    """

    recall: float
    error: float
    kept: float
    fitted: float = float("nan")
    tuned: float = float("nan")


RIDGES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
FOLDS = 5


def measured(data: Made, found: Any) -> Measured:
    """A selection of columns by position, fitted once more as all methods are."""
    found = np.asarray(found, np.int64)
    true = np.flatnonzero(data.true)
    recall = len(set(found.tolist()) & set(true.tolist())) / len(true)
    x = data.x[:, found]
    weights = refitted(data.loss, x, data.y, RIDGES[0])
    if data.test is None:
        distance = data.true.copy()
        distance[found] -= weights
        return Measured(recall, float(np.linalg.norm(distance) / np.linalg.norm(data.true)), len(found))
    test = data.test[:, found]
    tuned = refitted(data.loss, x, data.y, chosen_ridge(data.loss, x, data.y))
    fitted = wrong(x, weights, data.y)
    return Measured(recall, wrong(test, weights, data.truth), len(found), fitted, wrong(test, tuned, data.truth))


def refitted(loss: str, x: Any, y: Any, ridge: float, start: Any = None) -> Any:
    """The weights at the bottom of the mean loss and half a ridge times their square."""
    columns = np.ascontiguousarray(x.T)
    ones, start = np.ones(len(columns)), np.zeros(len(columns)) if start is None else start
    return _native.refit(loss, 1.0, y[None], EVEN, False, columns, ones, start, ridge, 100, POOL)[0]


def chosen_ridge(loss: str, x: Any, y: Any) -> float:
    """The ridge of the fewest errors on rows left out, the largest of several such; test rows have no say."""
    fold = np.arange(len(y)) % FOLDS
    errors = dict.fromkeys(sorted(RIDGES, reverse=True), 0.0)
    for f in range(FOLDS):
        weights = None
        for ridge in errors:  # from the largest down, each from where the last one ended
            weights = refitted(loss, x[fold != f], y[fold != f], ridge, weights)
            errors[ridge] += wrong(x[fold == f], weights, y[fold == f])
    return min(errors, key=lambda ridge: errors[ridge])


def wrong(x: Any, weights: Any, y: Any) -> float:
    """The share of rows on the other side."""
    return float((np.sign(x @ weights) != y).mean())
