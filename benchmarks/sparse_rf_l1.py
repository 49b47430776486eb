"""The l1 subproblem of Sparse Random Features: 50,000 rows, 500 functions, against celer, skglm and LIBLINEAR."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import table
from thresher import _native

ROWS, FUNCTIONS, INPUTS, GAMMA = 50_000, 500, 22, 1.0
LAMS = (1.0, 10.0, 100.0, 1000.0)
#: The share of the objective that the duality gap may be; and the tolerances that a rival is tried with until it is.
GAP, TOLERANCES = 1e-4, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
#: A rival is not tried on after a fit that took so long, in seconds.
PATIENCE = 15.0
Array = np.ndarray[Any, Any]


def made(loss: str, rows: int = ROWS, functions: int = FUNCTIONS) -> tuple[Array, Array]:
    """Random Fourier features of rows in the unit cube, and noisy targets."""
    rng = np.random.default_rng(0)
    x = rng.random((rows, INPUTS)).astype(np.float32)
    omega = rng.normal(size=(INPUTS, functions)).astype(np.float32) * np.sqrt(2 * GAMMA).astype(np.float32)
    z = np.sqrt(2.0) * np.cos(x @ omega + rng.uniform(0, 2 * np.pi, functions))
    signal = np.sin(3 * x[:, 0] * x[:, 1]) + x[:, 2] ** 2 - x[:, 3]
    y = (signal - signal.mean()) / signal.std() + 0.3 * rng.normal(size=rows)
    return z.astype(np.float32), (y if loss == "squared" else np.where(y > 0.3, 1.0, -1.0))


def gap_of(loss: str, z: Array, y: Array, lam: float, c: float, w: Array) -> float:
    """The duality gap of these weights (no shift), as a share of the objective."""
    m = z @ w
    if loss == "squared":
        slopes, value = c * (m - y), 0.5 * c * float(((m - y) ** 2).sum())
    elif loss == "squared_hinge":
        short = np.maximum(0.0, 1.0 - y * m)
        slopes, value = -c * y * short, 0.5 * c * float((short**2).sum())
    else:
        slopes, value = -c * y / (1.0 + np.exp(y * m)), c * float(np.logaddexp(0.0, -y * m).sum())
    theta = slopes * min(1.0, lam / max(float(np.abs(z.T @ slopes).max()), 1e-300))
    if loss == "logistic":
        p = np.clip(-y * theta / c, 1e-300, 1.0)
        q = np.clip(1.0 - p, 1e-300, 1.0)
        dual = -c * float((p * np.log(p) + q * np.log(q)).sum())
    else:
        dual = -float((theta**2 / (2.0 * c) + theta * y).sum())
    objective = value + lam * float(np.abs(w).sum())
    return (objective - dual) / objective


def ours(loss: str, z: Array, y: Array, lam: float, c: float) -> Callable[[float], Array]:
    """Columns as they are kept by the loop: columns x rows."""
    columns, factors, team = np.ascontiguousarray(z.T), np.ones(z.shape[1]), _native.Team(0)

    def fit(tolerance: float) -> Array:
        solver = _native.L1Solver(loss, y, np.full(len(y), c), False)
        solver.add(columns, factors, team)
        solver.solve(lam, tolerance, 500, team)
        return solver.weights

    return fit


def rivals(loss: str, z: Array, y: Array, lam: float) -> dict[str, Callable[[float], Array]]:
    """Those that are installed and have the loss; each in the layout and precision that suits it best."""
    n = len(y)
    wide = np.asfortranarray(z, dtype=np.float64)
    found: dict[str, Callable[[float], Array]] = {}
    if loss != "squared_hinge" and _there("celer"):
        import celer

        def with_celer(tolerance: float) -> Array:
            if loss == "squared":
                model = celer.Lasso(alpha=lam / n, fit_intercept=False, tol=tolerance)
            else:
                model = celer.LogisticRegression(C=1.0 / lam, fit_intercept=False, tol=tolerance)
            return np.ravel(model.fit(wide, y).coef_)

        found["celer"] = with_celer
    if loss != "squared_hinge" and _there("skglm"):
        import skglm

        def with_skglm(tolerance: float) -> Array:
            if loss == "squared":
                model = skglm.Lasso(alpha=lam / n, fit_intercept=False, tol=tolerance)
            else:
                model = skglm.SparseLogisticRegression(alpha=lam / n, fit_intercept=False, tol=tolerance)
            return np.ravel(model.fit(wide, y).coef_)

        found["skglm"] = with_skglm
    if loss == "squared":
        from sklearn.linear_model import Lasso

        found["scikit-learn, Gram"] = lambda tolerance: (
            Lasso(alpha=lam / n, fit_intercept=False, precompute=True, tol=tolerance, max_iter=10_000)
            .fit(wide, y)
            .coef_
        )
    else:
        found["LIBLINEAR"] = lambda tolerance: np.ravel(_liblinear(loss, lam, tolerance).fit(wide, y).coef_)
    return found


def _liblinear(loss: str, lam: float, tolerance: float) -> Any:
    if loss == "squared_hinge":
        from sklearn.svm import LinearSVC

        return LinearSVC(penalty="l1", dual=False, C=1.0 / lam, fit_intercept=False, tol=tolerance, max_iter=1000)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(penalty="l1", solver="liblinear", C=1.0 / lam, fit_intercept=False, tol=tolerance)


def _there(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def until_exact(fit: Callable[[float], Array], gap: Callable[[Array], float]) -> tuple[float, float]:
    """Seconds and gap of the loosest tolerance that is exact enough; of the last one tried, if none is."""
    seconds, reached = float("nan"), float("nan")
    for tolerance in TOLERANCES:
        started = time.perf_counter()
        w = fit(tolerance)
        seconds, reached = time.perf_counter() - started, gap(w)
        if reached <= GAP or seconds > PATIENCE:
            break
    return seconds, reached


def run() -> str:
    """Seconds of each at the same duality gap, by loss and λ."""
    parts = [
        "## sparse-rf: the l1 subproblem",
        f"{ROWS} rows, {FUNCTIONS} random Fourier features of {INPUTS} inputs (gamma = {GAMMA:g}), the paper's λ_N "
        f"against the sum of the losses, no shift, from zero. Seconds to a duality gap of {GAP:g} of the objective; a "
        "rival is tried with ever smaller tolerances until its gap is that small, and only its last fit counts; where "
        f"it says > it ended with a larger gap, after more than {PATIENCE:g} s or with the smallest tolerance. Rivals "
        "get their columns in double precision, columns first; ours copies its columns, which counts.",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a rival says about its own convergence is seen in its gap
        for loss in ("squared", "squared_hinge", "logistic"):
            parts.append(f"**{loss}**\n\n{_table(loss)}")
    return "\n\n".join(parts)


def _table(loss: str) -> str:
    z, y = made(loss)
    c = 2.0 if loss == "squared_hinge" else 1.0
    lines = []
    names: list[str] = []
    for lam in LAMS:
        contenders = {"thresher": ours(loss, z, y, lam, c), **rivals(loss, z, y, lam)}
        names = list(contenders)
        double = z.astype(np.float64)
        results = {}
        for name, fit in contenders.items():
            if lam == LAMS[0]:
                fit(1.0)  # what is compiled on first use is compiled now
            results[name] = until_exact(fit, partial(gap_of, loss, double, y, lam, c))
        kept = int(np.count_nonzero(contenders["thresher"](GAP)))
        best = min(
            (seconds for name, (seconds, gap) in results.items() if name != "thresher" and gap <= GAP), default=None
        )
        shown = [f"{'' if gap <= GAP else '> '}{seconds:.2f}" for seconds, gap in results.values()]
        lines.append([f"{lam:g}", kept, *shown, "-" if best is None else f"{best / results['thresher'][0]:.1f}"])
    return table(["λ", "kept", *(f"{name}, s" for name in names), "times the best rival"], lines)
