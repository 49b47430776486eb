"""Sparse Random Features with default settings on data as it comes, against kernel machines on scaled data.

THRESHER_DATASETS=FOLDER python -m benchmarks sparse_rf.defaults
"""

from __future__ import annotations

import lzma
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_svmlight_file,
    load_wine,
)
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import thresher as th
from benchmarks.harness import DATASETS, table

Array = np.ndarray[Any, Any]
Parts = tuple[Array, Array, Array, Array]
SEEDS = range(5)
#: Sets of scikit-learn, split by the seed; files with their own test rows, and the number of their columns.
BUNDLED = {"digits": load_digits, "wine": load_wine, "breast_cancer": load_breast_cancer, "diabetes": load_diabetes}
FILES = {"mnist38": 784, "ijcnn1": 22, "cod_rna": 8}
CLASSES = ("digits", "wine", "breast_cancer", "ijcnn1", "cod_rna", "mnist38")
NUMBERS = ("cpu_act", "house_16h", "diabetes")
#: Kernel ridge: widths by the number of inputs, penalties, and the most rows, whose matrix is rows².
WIDTHS, ALPHAS, MOST = (0.0625, 0.25, 1.0, 4.0), (1e-3, 1e-2, 1e-1, 1.0, 10.0), 8000


def run() -> str:
    """All comparisons."""
    title = "## sparse-rf: defaults, inputs as they come"
    if DATASETS not in os.environ:
        return f"{title}\n\n*Not run: `{DATASETS}` names no folder.*"
    return "\n\n".join(
        [
            title,
            f"Means of {len(SEEDS)} seeds. A seed splits the sets of scikit-learn, 80 to 20; files have their own test "
            "rows, and a seed changes only the random features. No fit sees test rows. The constants of the search "
            "(grids and limits) were chosen with some of these sets in sight, so the figures are optimistic. SVC runs "
            "with its defaults after StandardScaler, in the same process, in turn with sparse-rf; seconds are those of "
            "`fit`, on a machine that other programs used too: compare the ratios.",
            _classification(),
            f"Kernel ridge after StandardScaler: gamma ({len(WIDTHS)} multiples of 1 / inputs) and alpha "
            f"({len(ALPHAS)}) are those of the least error on a fifth of the training rows, then fitted on all of "
            f"them, or on {MOST} if there are more: its matrix has the square of their number.",
            _regression(),
        ]
    )


def data(name: str, seed: int) -> Parts:
    """Training and test inputs, training and test targets."""
    folder = Path(os.environ[DATASETS])
    if name in FILES:
        read = []
        for part in ("train", "test"):
            with lzma.open(folder / f"{name}.{part}.svm.xz") as text:
                read.append(load_svmlight_file(text, n_features=FILES[name], zero_based=False))
        (x, y), (test, targets) = read
        return x.toarray(), test.toarray(), y, targets
    if name not in BUNDLED:
        with np.load(folder / f"{name}.npz") as held:
            x, y, train, test = (held[key] for key in ("X", "y", "train_idx", "test_idx"))
        return x[train], x[test], y[train], y[test]
    found: Parts = tuple(train_test_split(*BUNDLED[name](return_X_y=True), test_size=0.2, random_state=seed))
    return found


def timed(model: Any, x: Array, y: Array) -> float:
    """The seconds of a fit."""
    started = time.perf_counter()
    model.fit(x, y)
    return time.perf_counter() - started


def against_svc(parts: Parts, seed: int, **settings: Any) -> list[float]:
    """Accuracy, basis functions and seconds of sparse-rf, then those of SVC with these settings."""
    x, test, y, targets = parts
    ours, theirs = th.SparseRFClassifier(random_state=seed), make_pipeline(StandardScaler(), SVC(**settings))
    seconds = [timed(ours, x, y), timed(theirs, x, y)]
    found = [ours.score(test, targets), len(ours.selection_), seconds[0]]
    return [*found, theirs.score(test, targets), len(theirs[-1].support_), seconds[1]]


def compared(name: str, runs: list[list[float]]) -> list[object]:
    """The means of such runs, as a row of a table."""
    mine, functions, seconds, theirs, vectors, others = np.mean(runs, axis=0)
    row = [name, f"{mine:.4f}", f"{theirs:.4f}", f"{functions:.0f}", f"{vectors:.0f}"]
    row += [f"{seconds:.2f}", f"{others:.2f}", f"{seconds / others:.1f}"]
    print(*row, file=sys.stderr, flush=True)
    return [*row]


HEADER = ["data", "accuracy", "SVC", "functions", "support vectors", "seconds", "SVC", "ratio"]


def _classification() -> str:
    rows = [compared(name, [against_svc(data(name, seed), seed) for seed in SEEDS]) for name in CLASSES]
    return table(HEADER, rows)


def _kernel_ridge(parts: Parts) -> float:
    """The test RMSE of kernel ridge, its settings chosen on held-out training rows."""
    x, test, y, targets = parts
    scaler = StandardScaler().fit(x)
    x, test, mean = scaler.transform(x), scaler.transform(test), y.mean()
    order = np.random.default_rng(0).permutation(len(x))
    held, rest = order[: len(x) // 5][: MOST // 4], order[len(x) // 5 :][: MOST // 2]
    best = (np.inf, 0.0, 0.0)
    for width in WIDTHS:
        gamma = width / x.shape[1]
        kernel, other = rbf_kernel(x[rest], gamma=gamma), rbf_kernel(x[held], x[rest], gamma=gamma)
        for alpha in ALPHAS:
            found = np.linalg.solve(kernel + alpha * np.eye(len(rest)), y[rest] - mean)
            best = min(best, (float(np.mean((other @ found + mean - y[held]) ** 2)), gamma, alpha))
    _, gamma, alpha = best
    every = order[:MOST]
    weights = np.linalg.solve(rbf_kernel(x[every], gamma=gamma) + alpha * np.eye(len(every)), y[every] - mean)
    return float(np.sqrt(np.mean((rbf_kernel(test, x[every], gamma=gamma) @ weights + mean - targets) ** 2)))


def _regression() -> str:
    rows = []
    for name in NUMBERS:
        runs = []
        for seed in SEEDS:
            parts = data(name, seed)
            x, test, y, targets = parts
            model = th.SparseRFRegressor(random_state=seed)
            seconds = timed(model, x, y)
            theirs = _kernel_ridge(parts) if name in BUNDLED or not runs else runs[0][1]
            mine = float(np.sqrt(np.mean((model.predict(test) - targets) ** 2)))
            runs.append([mine, theirs, len(model.selection_), seconds])
        mine, theirs, functions, seconds = np.mean(runs, axis=0)
        rows.append(
            [name, f"{mine:.4g}", f"{theirs:.4g}", f"{mine / theirs:.3f}", f"{functions:.0f}", f"{seconds:.1f}"]
        )
        print(*rows[-1], file=sys.stderr, flush=True)
    return table(["data", "RMSE", "kernel ridge", "ratio", "functions", "seconds"], rows)
