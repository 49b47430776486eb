"""What the paper compares: Online Substitution, online baselines, and batch methods that see all features at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.papers.os.made import POOL, Made
from thresher import FeatureStream, _native, select
from thresher.core.losses import get_loss


def streamed(data: Made, method: str, k: int, **given: Any) -> Any:
    """A method of the loop, without a constant, as the paper's are; the columns found."""
    paper = {"arrivals": 1, "shrink": 0.0, "ridge": 0.0} if method == "os" else {}
    found = select(
        FeatureStream(data.x),
        data.y,
        k=k,
        method=method,
        loss=data.loss,
        fit_intercept=False,
        refit=False,
        **paper,
        **given,
    )
    return found.keys.astype(np.int64)


def proj_gd(data: Made, k: int, steps: int = 300) -> Any:
    """Projected gradient descent on the L0 ball; a step is as long as the loss allows, tried anew each time."""
    loss = get_loss(data.loss)
    n, p = data.x.shape
    w = np.zeros(p, np.float32)
    margins = np.zeros(n)
    eta = 1.0
    for _ in range(steps):
        slopes = (loss.derivative(margins, data.y) / n).astype(np.float32)
        value = loss.value(margins, data.y).mean()
        gradient = slopes @ data.x
        eta *= 1.5
        while True:
            trial = w - eta * gradient
            kept = np.argpartition(-np.abs(trial), k - 1)[:k]
            moved = np.zeros(p, np.float32)
            moved[kept] = trial[kept]
            after = data.x[:, kept] @ trial[kept].astype(np.float64)
            fall = 1e-4 / eta * float(((moved - w) ** 2).sum())
            if loss.value(after, data.y).mean() <= value - fall or eta < 1e-4:
                break
            eta *= 0.5
        still = set(np.flatnonzero(w).tolist()) == set(kept.tolist())
        done = still and np.abs(moved - w).max() <= 1e-5 * np.abs(moved).max()
        w, margins = moved, after
        if done:
            break
    return np.flatnonzero(w)


def penalty(data: Made, k: int) -> tuple[float, Any]:
    """The largest l1 penalty (within a tenth) at which the batch problem has at least k features, and its weights."""
    n, p = data.x.shape
    solver = _native.L1Solver(data.loss, data.y, np.full(n, 1.0 / n), False)
    solver.add(np.ascontiguousarray(data.x.T), np.ones(p), POOL)
    low, high = 0.0, float(np.abs(data.y @ data.x).max()) / n  # of either loss, at no weights
    lam, weights = high, None
    least = 1e-4 * high  # separable rows may need no more than fewer features at any penalty
    while (weights is None or high > 1.1 * low) and high > least:
        lam = 0.5 * high if low == 0.0 else float(np.sqrt(low * high))
        solver.solve(lam, 1e-4, 100, POOL)
        if (solver.weights != 0).sum() >= k:
            low, weights = lam, solver.weights
        else:
            high = lam
    return low or lam, weights


def proximal_gradient(data: Made, lam: float, k: int, steps: int = 200) -> Any:
    """LASSO by accelerated proximal gradient; the k largest weights."""
    n, p = data.x.shape
    w = np.zeros(p, np.float32)
    point, momentum = w, 1.0
    probe = np.random.default_rng(0).standard_normal(p, dtype=np.float32)
    for _ in range(20):
        probe = (data.x @ probe) @ data.x
        probe /= np.linalg.norm(probe)
    bound = 1.05 * float(np.linalg.norm(data.x @ probe) ** 2) / n
    y = data.y.astype(np.float32)
    for _ in range(steps):
        moved = point - ((data.x @ point - y) @ data.x) / (n * bound)
        after = np.sign(moved) * np.maximum(0.0, np.abs(moved) - lam / bound)
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        point = after + np.float32((momentum - 1.0) / following) * (after - w)
        done = np.abs(after - w).max() <= 1e-4
        w, momentum = after, following
        if done:
            break
    return strongest(w, k)


def liblinear(data: Made, lam: float, k: int) -> Any:
    """l1 squared hinge by LIBLINEAR, at the C that is this penalty."""
    from sklearn.svm import LinearSVC

    model = LinearSVC(penalty="l1", dual=False, C=0.5 / (lam * len(data.y)), fit_intercept=False, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.x, data.y)
    return strongest(model.coef_[0], k)


def strongest(weights: Any, k: int) -> Any:
    """The columns of the largest weights above zero."""
    order = np.argsort(-np.abs(weights), kind="stable")[:k]
    return order[weights[order] != 0]


def contenders(data: Made, k: int, scans: Sequence[int] = (2, 3)) -> dict[str, Callable[[], Any]]:
    """All of them, as the paper's first column has them, OS by scans; l1 methods share one penalty."""
    lam, _ = penalty(data, k)
    batch = {"LASSO": lambda: proximal_gradient(data, lam, k)}
    if data.test is not None:
        batch = {"l1 hinge (LIBLINEAR)": lambda: liblinear(data, lam, k)}
    return {
        **{f"OS, {many} scans": partial(streamed, data, "os", k, scans=many) for many in scans},
        "Proj-GD (batch)": lambda: proj_gd(data, k),
        **{f"{name} (batch)": run for name, run in batch.items()},
        "grafting": lambda: streamed(data, "grafting", k, scans=2, lam=lam),
        "naive L0": lambda: streamed(data, "naive-l0", k, scans=2),
        "naive L1": lambda: streamed(data, "naive-l1", k, scans=2, lam=lam),
        "alpha-investing": lambda: streamed(data, "alpha-investing", k, scans=2),
    }
