"""Sparse Random Features against all random features and against kernel machines; needs THRESHER_DATASETS."""

from __future__ import annotations

import re
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import thresher as th
from benchmarks.harness import python, table
from benchmarks.sparse_rf_data import MISSING, Data, load
from benchmarks.sparse_rf_rivals import Fit, all_random_features, kernel_machine

Array = np.ndarray[Any, Any]
#: Random features in the paper's column RF.
ALL = 10_000


class Case(NamedTuple):
    """A data set and a kernel; what is drawn, what is paid, and how many may be kept."""

    name: str
    kernel: str
    gamma: float
    lam: float
    k: int | None = None
    draws: int = 100
    rounds: int = 20


CLASSES = (
    Case("ijcnn1", "gaussian", 1.0, 20.0),
    Case("cod_rna", "gaussian", 0.125, 10.0),
)
NUMBERS = (Case("house_16h", "gaussian", 3.0, 1.0),)
#: The paper's Table 1: kernel, RMSE of all random features, non-zeros and RMSE of sparse ones.
CPU = (
    (Case("cpu_act", "gaussian", 0.3, 0.3, k=60), 0.037, 57, 0.032),
    (Case("cpu_act", "laplacian", 0.3, 0.3, k=300), 0.035, 289, 0.027),
    (Case("cpu_act", "perceptron", 30.0, 0.3, k=260), 0.038, 251, 0.027),
)


def sparse(case: Case, data: Data, *, classes: bool) -> Fit:
    """Ours."""
    kind: Any = th.SparseRFClassifier if classes else th.SparseRFRegressor
    started = time.perf_counter()
    model = kind(case.k, kernel=case.kernel, gamma=case.gamma, lam=case.lam, draws=case.draws, rounds=case.rounds).fit(
        data.x, data.y
    )
    seconds = time.perf_counter() - started
    predict = model.decision_function if classes else model.predict
    return Fit(len(model.selection_), predict, seconds)


def scored(fit: Fit, data: Data, *, classes: bool) -> tuple[float, float]:
    """Accuracy or RMSE on the test rows, and the seconds that predicting took (the least of three)."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        predicted = fit.predict(data.test)
        times.append(time.perf_counter() - started)
        if times[0] > 2.0:
            break
    if classes:
        return float(np.mean((predicted > 0) == (data.truth > 0))), min(times)
    return float(np.sqrt(np.mean((predicted - data.truth) ** 2))), min(times)


def run() -> str:
    """All comparisons."""
    parts = [
        "## sparse-rf: against random features and kernel machines",
        f"All random features: ridge on D = {ALL} functions of the same kernel, λ_N = 1, by normal equations in single "
        "precision. Kernel machines: SVC at C = 1, kernel ridge at α = 1, with the same kernel. One run each, both "
        "cores. "
        "Numbers to predict, and their inputs, are scaled to 0..1.",
        _cpu(),
        *(_compared(case, classes=True) for case in CLASSES),
        *(_compared(case, classes=False) for case in NUMBERS),
        _growth(),
    ]
    return "\n\n".join(parts)


def _cpu() -> str:
    data = load("cpu_act")
    if data is None:
        return f"**cpu_act** {MISSING}"
    lines = []
    for case, theirs, nonzeros, reached in CPU:
        fit = sparse(case, data, classes=False)
        error, _ = scored(fit, data, classes=False)
        settings = f"{case.kernel}, gamma = {case.gamma:g}"
        lines.append([settings, f"{error:.4f}", fit.functions, f"{fit.seconds:.1f}", theirs, f"{reached} ({nonzeros})"])
    header = ["cpu_act", "test RMSE", "functions", "seconds", "paper, RF", "paper, Sparse-RF (non-zeros)"]
    return table(header, lines)


def _compared(case: Case, *, classes: bool) -> str:
    data = load(case.name)
    if data is None:
        return f"**{case.name}** {MISSING}"
    y = np.where(data.y > 0, 1.0, -1.0) if classes else data.y
    data = data._replace(y=y)
    machine = "SVC" if classes else "kernel ridge"
    fits = {
        "sparse-rf": sparse(case, data, classes=classes),
        f"all {ALL} random features": all_random_features(case.kernel, case.gamma, data.x, data.y, ALL),
        machine: kernel_machine(case.kernel, case.gamma, data.x, data.y, classes=classes),
    }
    results = {name: scored(fit, data, classes=classes) for name, fit in fits.items()}
    lines = [
        [name, f"{results[name][0]:.4f}", fit.functions, f"{fit.seconds:.1f}", f"{results[name][1]:.3f}"]
        for name, fit in fits.items()
    ]
    mine, (all_name, every), (machine_name, exact) = fits["sparse-rf"], *list(fits.items())[1:]
    matrix = len(data.x) * ALL * 4
    growth = _memory(case, classes=classes)
    said = (
        f"**{case.name}**, {len(data.x)} x {data.x.shape[1]}, {case.kernel} kernel, gamma = {case.gamma:g}, "
        f"λ_N = {case.lam:g}, {case.draws} functions drawn {case.rounds} times. "
        f"Functions: {mine.functions / exact.functions:.3f} of those of {machine_name}. Training: "
        f"{every.seconds / mine.seconds:.1f} times faster than {all_name}, {exact.seconds / mine.seconds:.1f} times "
        f"faster than {machine_name}. Prediction: {results[machine_name][1] / results['sparse-rf'][1]:.0f} times "
        "faster "
        f"than {machine_name}. Memory at the most: {growth / 2**20:.0f} MB more than before, "
        f"{growth / matrix:.3f} of the {matrix / 2**20:.0f} MB that all random features take in single precision."
    )
    return (
        said
        + "\n\n"
        + table(["", "accuracy" if classes else "RMSE", "functions", "training, s", "prediction, s"], lines)
    )


def _memory(case: Case, *, classes: bool) -> int:
    """How much a process of its own grows by this fit."""
    code = (
        "import sys; from benchmarks import sparse_rf as b; "
        "case = b.Case(*eval(sys.argv[1])); data = b.load(case.name); "
        "few = slice(None, None, len(data.x) // 200); small = data._replace(x=data.x[few], y=data.y[few]); "
        "b.sparse(case._replace(rounds=1), small, classes=eval(sys.argv[2])); before = b.peak(); "
        "b.sparse(case, data, classes=eval(sys.argv[2])); print(b.peak() - before)"
    )
    return int(python(code, repr(tuple(case)), repr(classes)).split()[-1])


def peak() -> int:
    """The most this process has held so far. (That of ``getrusage`` begins with what its parent held.)"""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def _growth() -> str:
    """Rows ten times as many, with as many functions to keep."""
    rng = np.random.default_rng(0)
    lines, last = [], None
    for rows in (20_000, 200_000):
        x = rng.random((rows, 10))
        y = np.sin(4 * x[:, 0]) * x[:, 1] + x[:, 2] ** 2 + 0.1 * rng.normal(size=rows)
        seconds = []
        for _ in range(3 if rows == 20_000 else 1):
            started = time.perf_counter()
            model = th.SparseRFRegressor(lam=1e-3 * rows, rounds=10).fit(x, y)
            seconds.append(time.perf_counter() - started)
        middle = statistics.median(seconds)
        held = model.selection_.provenance["plan"]["total"]
        times = "" if last is None else f"{middle / last[0]:.1f}, {held / last[1]:.1f}"
        lines.append([rows, len(model.selection_), f"{middle:.2f}", f"{held / 2**20:.0f}", times])
        last = (middle, held)
    header = ["rows", "functions", "seconds", "MB planned", "times as long, times as much"]
    return "**Ten times the rows** (made up, 10 inputs, λ_N = rows / 1000)\n\n" + table(header, lines)
