"""l1 solvers on one problem, to one duality gap; in a process of its own, as baselines may need another Python.

``python l1_subproblem.py FOLDER LOSS LAMS`` fits what is in the folder (``z.npy``, ``y.npy``) without a shift, and
prints {λ: {baseline: [seconds, gap]}} as JSON. Nothing of thresher is imported here.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

#: The share of the objective that the duality gap may be; and the tolerances that a solver is tried with until it is.
GAP, TOLERANCES = 1e-4, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
#: A solver is not tried on after a fit that took so long, in seconds; one that is quicker has so many turns.
PATIENCE, TURNS = 4.0, 3
Array = np.ndarray[Any, Any]
Solver = Callable[[float], Array]


def factor(loss: str) -> float:
    """What the loss is multiplied with: LIBLINEAR's squared hinge, and the paper's, have no half."""
    return 2.0 if loss == "squared_hinge" else 1.0


def gap_of(loss: str, z: Array, y: Array, lam: float, w: Array) -> float:
    """The duality gap of these weights (no shift), as a share of the objective."""
    m, c = z @ w, factor(loss)
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


def until_exact(fit: Solver, gap: Callable[[Array], float]) -> tuple[float, float]:
    """Seconds (the median of some turns) and gap of the loosest tolerance that is exact enough, or the last tried."""
    seconds, reached = float("nan"), float("nan")
    for tolerance in TOLERANCES:
        seconds, reached = _timed(fit, tolerance, gap)
        if reached > GAP and seconds <= PATIENCE:
            continue
        if reached <= GAP and seconds <= PATIENCE / TURNS:
            seconds = statistics.median([seconds, *(_timed(fit, tolerance, None)[0] for _ in range(TURNS - 1))])
        break
    return seconds, reached


def _timed(fit: Solver, tolerance: float, gap: Callable[[Array], float] | None) -> tuple[float, float]:
    started = time.perf_counter()
    w = fit(tolerance)
    seconds = time.perf_counter() - started
    return seconds, float("nan") if gap is None else gap(w)


def baselines(loss: str, z: Array, y: Array, lam: float) -> dict[str, Solver]:
    """Those that are installed and have the loss; each in the layout and precision that suits it best."""
    n = len(y)
    found: dict[str, Solver] = {}
    if loss != "squared_hinge" and _there("celer"):
        import celer

        def with_celer(tolerance: float) -> Array:
            if loss == "squared":
                model = celer.Lasso(alpha=lam / n, fit_intercept=False, tol=tolerance)
            else:
                model = celer.LogisticRegression(C=1.0 / lam, fit_intercept=False, tol=tolerance)
            return np.ravel(model.fit(z, y).coef_)

        found["celer"] = with_celer
    if loss != "squared_hinge" and _there("skglm"):  # its squared hinge is a dual one, with an l2 penalty
        import skglm

        def with_skglm(tolerance: float) -> Array:
            if loss == "squared":
                model = skglm.Lasso(alpha=lam / n, fit_intercept=False, tol=tolerance)
            else:
                model = skglm.SparseLogisticRegression(alpha=lam / n, fit_intercept=False, tol=tolerance)
            return np.ravel(model.fit(z, y).coef_)

        found["skglm"] = with_skglm
    if loss == "squared":
        from sklearn.linear_model import Lasso

        found["scikit-learn, Gram"] = lambda tolerance: (
            Lasso(alpha=lam / n, fit_intercept=False, precompute=True, tol=tolerance, max_iter=10_000).fit(z, y).coef_
        )
    else:
        found["LIBLINEAR"] = lambda tolerance: np.ravel(_liblinear(loss, lam, tolerance).fit(z, y).coef_)
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


def main() -> None:
    """All baselines at all λ."""
    folder, loss, lams = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    z, y = np.asfortranarray(np.load(folder / "z.npy"), dtype=np.float64), np.load(folder / "y.npy")
    warnings.simplefilter("ignore")  # what a baseline says about its own convergence is seen in its gap
    for fit in baselines(loss, z[:2000], y[:2000], lams[0]).values():
        fit(1e-2)  # what is compiled on first use is compiled now
    results = {}
    for lam in lams:
        gap = partial(gap_of, loss, z, y, lam)
        results[lam] = {name: until_exact(fit, gap) for name, fit in baselines(loss, z, y, lam).items()}
    print(json.dumps(results))


if __name__ == "__main__":
    main()
