"""What Sparse Random Features are compared with: kernel machines, all random features, Nyström, boosting."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thresher import _native
from thresher.columns.random_features import RandomFeatureMap
from thresher.core.batch import Batch
from thresher.core.feature_space import FeatureSpace, RandomFeatureSpec

Array = np.ndarray[Any, Any]
#: Rows whose random features are made at a time.
BLOCK = 4096


class Fit(NamedTuple):
    """A model as the tables show it."""

    functions: int
    predict: Callable[[Array], Array]
    seconds: float


def batch_of(x: Array) -> Batch:
    """Dense rows as functions take them."""
    rows, columns = x.shape
    keys = np.tile(np.arange(columns, dtype=np.uint64), rows)
    return Batch(np.arange(rows + 1, dtype=np.int64) * columns, keys, np.ascontiguousarray(x, np.float32).ravel())


def functions_of(kernel: str, gamma: float, count: int, inputs: int, seed: int = 0) -> RandomFeatureMap:
    """The first so many random functions of a kernel."""
    space = FeatureSpace("column", inputs).with_random_features(RandomFeatureSpec(kernel, gamma, seed))
    return RandomFeatureMap(space, np.arange(count, dtype=np.uint64), _native.ThreadPool(0))


def all_random_features(kernel: str, gamma: float, x: Array, y: Array, count: int) -> Fit:
    """Ridge on all of them (6), λ_N = 1 and features over √D: normal equations, summed up block by block.

    Of two classes the targets are -1 and +1. Single precision, which halves the time of what is all matrix products.
    """
    started = time.perf_counter()
    functions = functions_of(kernel, gamma, count, x.shape[1])
    scale = np.float32(1.0 / math.sqrt(count))
    shift = float(y.mean())
    products, sums = np.eye(count, dtype=np.float32), np.zeros(count)
    for begin in range(0, len(x), BLOCK):
        z = functions.values(batch_of(x[begin : begin + BLOCK])) * scale
        products += z @ z.T
        sums += z @ (y[begin : begin + BLOCK] - shift)
    import scipy.linalg

    w = scipy.linalg.solve(products, sums.astype(np.float32), assume_a="pos", overwrite_a=True)

    def predict(rows: Array) -> Array:
        parts = [rows[i : i + BLOCK] for i in range(0, len(rows), BLOCK)]
        return np.concatenate([w @ (functions.values(batch_of(part)) * scale) for part in parts]) + shift

    return Fit(count, predict, time.perf_counter() - started)


def nystroem(gamma: float, x: Array, y: Array, count: int, *, classes: bool) -> Fit:
    """The Gaussian kernel on rows drawn at random (scikit-learn's Nystroem), then a linear model."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline

    linear: Any = LogisticRegression(C=1.0, max_iter=500) if classes else Ridge(alpha=1.0)
    model = make_pipeline(Nystroem(gamma=gamma, n_components=count, random_state=0), linear)
    started = time.perf_counter()
    model.fit(x, y)
    seconds = time.perf_counter() - started
    return Fit(count, model.decision_function if classes else model.predict, seconds)


def kernel_machine(kernel: str, gamma: float, x: Array, y: Array, *, classes: bool) -> Fit:
    """SVC at C = 1, or kernel ridge at α = 1; of any kernel by its formula."""
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
    from sklearn.svm import SVC

    def gram(a: Array, b: Array) -> Array:
        if kernel == "perceptron":
            u, v = (np.hstack([math.sqrt(gamma) * z, np.ones((len(z), 1))]) for z in (a, b))
            u /= np.linalg.norm(u, axis=1, keepdims=True)
            v /= np.linalg.norm(v, axis=1, keepdims=True)
            return 1.0 - np.arccos(np.clip(u @ v.T, -1.0, 1.0)) / np.pi
        return (rbf_kernel if kernel == "gaussian" else laplacian_kernel)(a, b, gamma=gamma)

    started = time.perf_counter()
    if classes:
        how: dict[str, Any] = {"kernel": "rbf", "gamma": gamma} if kernel == "gaussian" else {"kernel": gram}
        machine = SVC(C=1.0, cache_size=1000, **how).fit(x, y)
        count = int(machine.n_support_.sum())
        predict: Callable[[Array], Array] = machine.decision_function
    else:
        mean = float(y.mean())
        machine = KernelRidge(alpha=1.0, kernel="precomputed").fit(gram(x, x), y - mean)
        count = len(x)

        def predict(rows: Array) -> Array:
            return np.asarray(machine.predict(gram(rows, x)) + mean)

    return Fit(count, predict, time.perf_counter() - started)


def boosted(x: Array, lam: float, rounds: int, solver: Callable[[], Any], *, half: bool) -> list[tuple[int, float]]:
    """Boosting with perceptrons (section 3.3): the greedy step (24) by a logistic fit to the slopes' signs.

    With ``half``, on half of the rows, chosen anew in every round: on all of them the same perceptron comes again once
    the fit no longer changes, and that is the end.
    Returns (functions, objective) after every round; ``solver`` makes an empty l1 solver.
    """
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    pool = _native.ThreadPool(0)
    machine = solver()
    machine.solve(lam, 1e-6, 200, pool)
    path = []
    ones = np.hstack([x, np.ones((len(x), 1))])
    for number in range(1, rounds + 1):
        some = rng.permutation(len(x))[: len(x) // 2] if half else np.arange(len(x))
        slopes = machine.slopes[some]
        wanted = slopes < 0
        if wanted.all() or not wanted.any():
            break
        weak = LogisticRegression(C=1.0, fit_intercept=False, max_iter=50)
        weak.fit(ones[some], wanted, sample_weight=np.abs(slopes) / np.abs(slopes).mean())
        column = np.where(ones @ weak.coef_[0] > 0, math.sqrt(2.0), 0.0).astype(np.float32)
        machine.add(column[None, :], np.ones(1), pool)
        solved = machine.solve(lam, 1e-6, 200, pool)
        machine.keep(np.flatnonzero(machine.weights))
        path.append((number, float(solved["objective"])))
    return path
