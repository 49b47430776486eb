"""Sparse Random Features against all random features, Nyström and kernel machines; needs THRESHER_DATASETS."""

from __future__ import annotations

import functools
import re
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import thresher as th
from benchmarks.harness import python, table
from benchmarks.sparse_rf_cases import Case, cases, scored, sparse
from benchmarks.sparse_rf_data import MISSING, Data, load
from benchmarks.sparse_rf_rivals import all_random_features, kernel_machine, nystroem

Array = np.ndarray[Any, Any]
#: Random features in the paper's column RF, and rows that Nyström's method takes for its basis.
ALL, BASIS = 10_000, 1000
OURS, EVERY, NYSTROEM, MACHINE = "sparse", "every", "nystroem", "machine"
#: The paper's Table 1 by kernel: RMSE of all random features, non-zeros and RMSE of sparse ones.
CPU = {"gaussian": (0.037, 57, 0.032), "laplacian": (0.035, 289, 0.027), "perceptron": (0.038, 251, 0.027)}


def run() -> str:
    """All comparisons."""
    parts = [
        "## sparse-rf: against random features and kernel machines",
        f"All random features: ridge on D = {ALL} functions of the same kernel, λ_N = 1, by normal equations in single "
        f"precision. Nyström: scikit-learn's Nystroem on {BASIS} rows drawn at random, with ridge regression at α = 1 "
        "or logistic regression at C = 1. Kernel machines: SVC at C = 1, kernel ridge at α = 1, with the same kernel. "
        "One run each, both cores. Numbers to predict, and their inputs, are scaled to 0..1. gamma and λ_N were chosen "
        "without the test rows (`benchmarks/sparse_rf_tune.py`): gamma by the kernel machine's score on rows held out "
        "of those to learn from, λ_N as the largest that is within .001 of Sparse RF's best there; on cpu_act, where "
        "the number of functions is given, both by Sparse RF's.",
        _cpu(),
        *(_compared(name, "gaussian", classes=True) for name in ("ijcnn1", "cod_rna")),
        _compared("house_16h", "gaussian", classes=False),
        _growth(),
    ]
    return "\n\n".join(parts)


def _cpu() -> str:
    if load("cpu_act") is None:
        return f"**cpu_act** {MISSING}"
    lines = []
    for kernel, (theirs, nonzeros, reached) in CPU.items():
        case = cases()["cpu_act", kernel]
        mine = result("cpu_act", kernel, OURS, classes=False)
        settings = f"{case.kernel}, gamma = {case.gamma:g}, λ_N ≥ {case.lam:g}, k = {case.k}"
        paper = [theirs, f"{reached} ({nonzeros})"]
        lines.append([settings, f"{mine.score:.4f}", mine.functions, f"{mine.training:.1f}", *paper])
    header = ["cpu_act", "test RMSE", "functions", "seconds", "paper, RF", "paper, Sparse-RF (non-zeros)"]
    return table(header, lines)


def _compared(name: str, kernel: str, *, classes: bool) -> str:
    data = prepared(name, classes=classes)
    if data is None:
        return f"**{name}** {MISSING}"
    case = cases()[name, kernel]
    machine, every = "SVC" if classes else "kernel ridge", f"all {ALL} random features"
    methods = {"sparse-rf": OURS, every: EVERY, f"Nyström, {BASIS} rows": NYSTROEM, machine: MACHINE}
    results = {what: result(name, kernel, method, classes=classes) for what, method in methods.items()}
    lines = [
        [what, f"{one.score:.4f}", one.functions, f"{one.training:.1f}", f"{one.prediction:.3f}"]
        for what, one in results.items()
    ]
    mine = results["sparse-rf"]
    matrix, growth = len(data.x) * ALL * 4, _memory(case, classes=classes)
    said = (
        f"**{name}**, {len(data.x)} x {data.x.shape[1]}, {kernel} kernel, gamma = {case.gamma:g}, λ_N = {case.lam:g}, "
        f"{case.draws} functions drawn {case.rounds} times. Functions: "
        f"{mine.functions / results[machine].functions:.3f} of those of {machine}. Training: "
        f"{results[every].training / mine.training:.1f} times faster than {every}, "
        f"{results[machine].training / mine.training:.1f} times faster than {machine}. Prediction: "
        f"{results[machine].prediction / mine.prediction:.0f} times faster than {machine}. Memory at the most: "
        f"{growth / 2**20:.0f} MB more than before, {growth / matrix:.3f} of the {matrix / 2**20:.0f} MB that all "
        "random features take in single precision."
    )
    header = ["", "accuracy" if classes else "RMSE", "functions", "training, s", "prediction, s"]
    return f"{said}\n\n{table(header, lines)}"


class Result(NamedTuple):
    """A fitted model as the tables show it: its size, its score on the test rows, and seconds."""

    functions: int
    score: float
    training: float
    prediction: float


def prepared(name: str, *, classes: bool) -> Data | None:
    """A data set, classes as -1 and +1."""
    data = load(name)
    return data._replace(y=np.where(data.y > 0, 1.0, -1.0)) if data is not None and classes else data


@functools.cache
def result(name: str, kernel: str, method: str, *, classes: bool) -> Result:
    """One method on one set; once, whoever asks for it."""
    data, case = prepared(name, classes=classes), cases()[name, kernel]
    assert data is not None
    if method == OURS:
        fit = sparse(case, data, classes=classes)
    elif method == EVERY:
        fit = all_random_features(kernel, case.gamma, data.x, data.y, ALL)
    elif method == NYSTROEM:
        fit = nystroem(case.gamma, data.x, data.y, BASIS, classes=classes)
    else:
        fit = kernel_machine(kernel, case.gamma, data.x, data.y, classes=classes)
    score, seconds = scored(fit, data, classes=classes)
    return Result(fit.functions, score, fit.seconds, seconds)


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


def wave(rows: int) -> tuple[Array, Array]:
    """Ten inputs, three of which count."""
    rng = np.random.default_rng(0)
    x = rng.random((rows, 10))
    return x, np.sin(4 * x[:, 0]) * x[:, 1] + x[:, 2] ** 2 + 0.1 * rng.normal(size=rows)


def _growth() -> str:
    """Rows ten times as many, with as many functions to keep."""
    lines, last = [], None
    for rows in (20_000, 200_000):
        x, y = wave(rows)
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            model = th.SparseRFRegressor(lam=1e-3 * rows, rounds=10).fit(x, y)
            seconds.append(time.perf_counter() - started)
        middle = statistics.median(seconds)
        held = model.selection_.provenance["plan"]["total"]
        times = "" if last is None else f"{middle / last[0]:.1f}, {held / last[1]:.1f}"
        lines.append([rows, len(model.selection_), f"{middle:.2f}", f"{held / 2**20:.0f}", times])
        last = (middle, held)
    header = ["rows", "functions", "seconds", "MB planned", "times as long, times as much"]
    return "**Ten times the rows** (made up, 10 inputs, λ_N = rows / 1000; medians of 3)\n\n" + table(header, lines)
