"""The comparisons of Sparse Random Features: which data with which kernel, and how ours is fitted and scored."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import thresher as th
from benchmarks.sparse_rf.baselines import Fit
from benchmarks.sparse_rf.data import Data

#: gamma and λ_N, by `benchmarks.sparse_rf.tune`.
CHOSEN = Path(__file__).with_name("chosen.json")


class Asked(NamedTuple):
    """A data set and a kernel, and how many functions may be kept; the kernel's width where it is not to be chosen."""

    name: str
    kernel: str
    k: int | None
    classes: bool
    gamma: float | None = None


class Case(NamedTuple):
    """A data set and a kernel; what is drawn, what is paid, and how many may be kept."""

    name: str
    kernel: str
    gamma: float
    lam: float
    k: int | None = None
    draws: int = 100
    rounds: int = 20


KERNELS = ("gaussian", "laplacian", "perceptron")
ASKED = (
    *(Asked("cpu_act", kernel, k, False) for kernel, k in zip(KERNELS, (60, 300, 260), strict=True)),
    Asked("house_16h", "gaussian", None, False),
    Asked("cod_rna", "gaussian", None, True),
    Asked("ijcnn1", "gaussian", None, True, gamma=1.0),
)


def cases() -> dict[tuple[str, str], Case]:
    """What was chosen, by set and kernel."""
    chosen = json.loads(CHOSEN.read_text())
    return {asked[:2]: Case(*asked[:2], **chosen[f"{asked.name} {asked.kernel}"], k=asked.k) for asked in ASKED}


#: What a row may take: a tenth of what it takes in all random features of the paper's column RF, in single precision.
ROW_BYTES = 10_000 * 4 // 10


def sparse(case: Case, data: Data, *, classes: bool) -> Fit:
    """Ours; where its size is free, within a tenth of the memory of all random features."""
    kind: Any = th.SparseRFClassifier if classes else th.SparseRFRegressor
    started = time.perf_counter()
    memory = None if case.k is not None else max(ROW_BYTES * len(data.x), 1 << 24)
    settings = {"kernel": case.kernel, "gamma": case.gamma, "lam": case.lam, "memory": memory}
    model = kind(case.k, draws=case.draws, max_iter=case.rounds, **settings).fit(data.x, data.y)
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
