"""The baselines of fgm, each in a few lines. They run in a separate process because they may need another Python.

``python baselines.py NAME FOLDER SIZE COUNTS`` fits the data in the folder (``x.npy`` or ``x.npz``, ``y.npy``, and test
rows) without an intercept, for each of the counts of features (groups of SIZE), and prints [features, accuracy,
seconds, fits] of each as JSON. It does not import thresher.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
#: Coefficients for a strength λ of the penalty on the mean logistic loss, from those for the last one.
Fit = Callable[[Any, Floats, int, float, Floats], Floats]


def slopes(x: Any, y: Floats, w: Floats) -> Floats:
    """The gradient of the mean logistic loss."""
    return np.asarray(x.T @ (-y / (1.0 + np.exp(y * (x @ w.astype(x.dtype))))).astype(x.dtype) / len(y), np.float64)


def norms(w: Floats, size: int) -> Floats:
    """The length of each group."""
    return np.sqrt((w.reshape(-1, size) ** 2).sum(axis=1))


def shrunk(w: Floats, size: int, by: float) -> Floats:
    """Every group shorter by so much."""
    factors = np.maximum(0.0, 1.0 - by / np.maximum(norms(w, size), 1e-300))
    return (w.reshape(-1, size) * factors[:, None]).ravel()


def fista(x: Any, y: Floats, size: int, lam: float, w: Floats) -> Floats:
    """Accelerated proximal gradient on all features."""
    v = np.random.default_rng(0).normal(size=x.shape[1])
    for _ in range(10):  # the largest singular value, by powers
        v = x.T @ (x @ (v / np.linalg.norm(v)).astype(x.dtype))
    bound = 1.1 * float(np.linalg.norm(v)) / (4 * len(y))
    z, momentum = w, 1.0
    for _ in range(300):
        fresh = shrunk(z - slopes(x, y, z) / bound, size, lam / bound)
        ahead = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        moved = fresh - w
        z, w, momentum = fresh + (momentum - 1.0) / ahead * moved, fresh, ahead
        if np.linalg.norm(moved) <= 1e-3 * np.linalg.norm(w):
            break
    return w


def block_descent(x: Any, y: Floats, size: int, lam: float, w: Floats) -> Floats:
    """Proximal steps, one group after the other; between passes over all groups, over those that are not zero."""
    w, margins = w.copy(), x @ w
    groups = np.arange(len(w) // size)
    for turn in range(60):
        moved = 0.0
        for g in groups if turn % 6 == 0 else groups[norms(w, size) > 0]:
            some = slice(g * size, (g + 1) * size)
            slope = x[:, some].T @ (-y / (1.0 + np.exp(y * margins))) / len(y)
            if not w[some].any() and np.linalg.norm(slope) <= lam:
                continue
            bound = float(np.linalg.norm(x[:, some], 2)) ** 2 / (4 * len(y))
            step = shrunk(w[some] - slope / bound, size, lam / bound) - w[some]
            margins, moved = margins + x[:, some] @ step, max(moved, float(np.abs(step).max()))
            w[some] += step
        if moved <= 1e-3 * np.abs(w).max(initial=0.0) and turn % 6 == 0:
            break
    return w


def ufo_mkl(x: Any, y: Floats, size: int, lam: float, w: Floats) -> Floats:
    """UFO-MKL (Orabona and Jie, 2011) with the hinge loss: ten passes, thresholds that grow with the rows."""
    groups = x.shape[1] // size
    q = 2.0 * np.log(groups) / (2.0 * np.log(groups) - 1.0)
    theta, w = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    order = np.random.default_rng(0).permuted(np.tile(np.arange(len(y)), (10, 1)), axis=1).ravel()
    for t, i in enumerate(order, 1):
        if y[i] * (x[i] @ w) < 1.0:
            theta += y[i] * x[i]
        lengths = norms(theta, size)
        kept = np.maximum(0.0, lengths - lam * t)
        total = float((kept**q).sum() ** (1.0 / q))
        factors = kept ** (q - 1.0) * total ** (2.0 - q) / np.maximum(lengths, 1e-300) if total > 0 else kept
        w = (theta.reshape(-1, size) * (q / t * factors)[:, None]).ravel()
    return w


def skglm_groups(x: Any, y: Floats, size: int, lam: float, w: Floats) -> Floats:
    """skglm's group lasso."""
    from skglm.datafits import LogisticGroup
    from skglm.penalties import WeightedGroupL2
    from skglm.solvers import GroupProxNewton
    from skglm.utils.data import grp_converter

    members, starts = grp_converter(size, x.shape[1])
    penalty = WeightedGroupL2(lam, np.ones(len(starts) - 1), starts, members)
    solver = GroupProxNewton(fit_intercept=False, tol=1e-4, warm_start=True)
    return np.asarray(solver.solve(x, y, LogisticGroup(starts, members), penalty, w.copy(), x @ w)[0])


def skglm_l1(x: Any, y: Floats, size: int, lam: float, w: Floats) -> Floats:
    """skglm's l1 logistic regression."""
    from skglm import SparseLogisticRegression

    return np.asarray(SparseLogisticRegression(alpha=lam, fit_intercept=False).fit(x, y).coef_).ravel()


def celer_l1(x: Any, y: Floats, size: int, lam: float, w: Floats) -> Floats:
    """celer's l1 logistic regression."""
    from celer import LogisticRegression

    return np.asarray(LogisticRegression(C=1.0 / (lam * len(y)), fit_intercept=False).fit(x, y).coef_).ravel()


def sgd_l1(x: Any, y: Floats, size: int, lam: float, w: Floats) -> Floats:
    """scikit-learn's stochastic gradient with l1."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", penalty="l1", alpha=lam, fit_intercept=False, random_state=0)
    return np.asarray(model.fit(x, y).coef_).ravel()


#: By name: the fit for a strength, and whether the matrix is to be stored by columns.
SEARCHED: dict[str, tuple[Fit, bool]] = {
    "FISTA": (fista, False),
    "BCD": (block_descent, True),
    "UFO-MKL": (ufo_mkl, False),
    "skglm, groups": (skglm_groups, True),
    "skglm": (skglm_l1, True),
    "celer": (celer_l1, True),
    "SGD, l1": (sgd_l1, False),
}


def searched(name: str, x: Any, y: Floats, size: int, count: int, most: int = 14) -> tuple[Floats, int]:
    """Down from the strength that leaves nothing, each fit from the one before, until there are enough; then halve the
    range (in its logarithm) until the count is met within 4 %."""
    fit, _ = SEARCHED[name]
    high = float(norms(slopes(x, y, np.zeros(x.shape[1])), size).max())
    low, best, w, fits = 0.0, None, np.zeros(x.shape[1]), 0
    while fits < most:
        fits += 1
        lam = float(np.sqrt(low * high)) if low else 0.5 * high
        w = fit(x, y, size, lam, w)
        found = int(np.count_nonzero(norms(w, size)))
        if best is None or abs(found - count) < abs(best[0] - count):
            best = (found, w)
        if abs(found - count) <= 0.04 * count:
            break
        low, high = (low, lam) if found < count else (lam, high)
    assert best is not None
    return best[1], fits


def adelie(x: Any, y: Floats, size: int, counts: list[int]) -> Iterator[tuple[Floats, float, int]]:
    """adelie's group lasso: one path up to the largest count; of each, the model on it that comes nearest, and the
    seconds until the path was there."""
    import adelie as ad

    started, seconds = time.perf_counter(), list[float]()

    def enough(state: Any) -> bool:  # asked after every strength
        seconds.append(time.perf_counter() - started)
        return int(state.active_set_size) >= max(counts)

    state = ad.grpnet(
        X=x,
        glm=ad.glm.binomial(y=(y > 0).astype(np.float64)),
        groups=np.arange(0, x.shape[1], size),
        alpha=1.0,
        fit_intercept=False,
        exit_cond=enough,
        min_ratio=1e-3,
        lmda_path_size=100,
        early_exit=False,
        n_threads=2,
        progress_bar=False,
    )
    found = np.array([np.count_nonzero(norms(row.toarray().ravel(), size)) for row in state.betas])
    assert len(found) == len(seconds)
    for count in counts:
        nearest = int(np.argmin(np.abs(found - count)))
        yield state.betas[[nearest]].toarray().ravel(), seconds[nearest], nearest + 1


def whole(name: str, x: Any, y: Floats, count: int) -> tuple[Floats, int]:
    """Those that need no search: abess takes the count, the others all features."""
    if name == "abess":
        from abess import LogisticRegression as BestSubset

        return np.asarray(BestSubset(support_size=count, fit_intercept=False).fit(x, y > 0).coef_).ravel(), 1
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    plain: Any = {
        "CD-SVM": LinearSVC(C=1.0, fit_intercept=False, dual="auto"),
        "CD-LR": LogisticRegression(C=1.0, fit_intercept=False, solver="liblinear", dual=x.shape[1] > x.shape[0]),
    }[name]
    return np.asarray(plain.fit(x, y).coef_).ravel(), 1


def fitted(name: str, x: Any, y: Floats, size: int, counts: list[int]) -> Iterator[tuple[Floats, float, int]]:
    """Coefficients, seconds and fits for each count."""
    if name == "adelie":
        yield from adelie(x, y, size, counts)
        return
    if name.startswith(("skglm", "celer")):  # what is compiled on first use is compiled before
        few = np.asfortranarray(np.random.default_rng(0).normal(size=(60, 4 * size)))
        SEARCHED[name][0](
            few if isinstance(x, np.ndarray) else type(x)(few), np.sign(few[:, 0]), size, 0.1, np.zeros(4 * size)
        )
    for count in counts:
        started = time.perf_counter()
        w, fits = searched(name, x, y, size, count) if name in SEARCHED else whole(name, x, y, count)
        yield w, time.perf_counter() - started, fits


def main(name: str, folder: str, size: int, counts: list[int]) -> None:
    """Load, fit, and print."""
    import scipy.sparse as sp

    def loaded(what: str) -> Any:
        dense = Path(folder) / f"{what}.npy"
        return np.load(dense, mmap_mode="r") if dense.exists() else sp.load_npz(dense.with_suffix(".npz"))

    x, test, truth = loaded("x"), loaded("test"), loaded("truth")
    by_columns = name == "adelie" or (name in SEARCHED and SEARCHED[name][1])
    if isinstance(x, np.ndarray):
        x = np.array(x, np.float32 if name == "FISTA" else np.float64, order="F" if by_columns else "C")
    else:
        x = (x.tocsc() if by_columns else x.tocsr()).astype(np.float64)
    out = []
    for w, seconds, fits in fitted(name, x, np.array(loaded("y"), np.float64), size, counts):
        used = np.flatnonzero(w)
        accuracy = float(np.mean(np.sign(test[:, used] @ w[used]) == truth))
        out.append([np.flatnonzero(norms(w, size)).tolist(), accuracy, seconds, fits])
    print(json.dumps(out))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # the search asks for fits that do not converge
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
