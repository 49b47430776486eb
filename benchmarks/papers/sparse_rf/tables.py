"""What both tables share: a data set and a kernel, the three methods, theirs beside ours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.harness import table
from benchmarks.sparse_rf import ALL, Case, scored, sparse
from benchmarks.sparse_rf_data import MISSING, load
from benchmarks.sparse_rf_rivals import all_random_features, kernel_machine


class Paper(NamedTuple):
    """One cell of a table of the paper: model size, score, training and prediction seconds of the three methods."""

    kernel: tuple[int, float, float, float]
    every: tuple[int, float, float, float]
    sparse: tuple[int, float, float, float]


def section(name: str, cells: dict[str, tuple[Case, Paper]], *, classes: bool) -> str:
    """The rows of one data set."""
    data = load(name)
    if data is None:
        return f"**{name}** {MISSING}"
    if classes:
        data = data._replace(y=np.where(data.y > 0, 1.0, -1.0))
    lines = []
    for kernel, (case, paper) in cells.items():
        fits = {
            "kernel machine": (kernel_machine(case.kernel, case.gamma, data.x, data.y, classes=classes), paper.kernel),
            "RF": (all_random_features(case.kernel, case.gamma, data.x, data.y, ALL), paper.every),
            "Sparse-RF": (sparse(case, data, classes=classes), paper.sparse),
        }
        for method, (fit, theirs) in fits.items():
            score, seconds = scored(fit, data, classes=classes)
            mine = [fit.functions, f"{score:.4f}", f"{fit.seconds:.1f}", f"{seconds:.3f}"]
            lines.append([f"{kernel}, gamma = {case.gamma:g}", method, *mine, *theirs])
    what = "accuracy" if classes else "RMSE"
    ours = ["size", what, "training, s", "prediction, s"]
    header = ["kernel", "method", *ours, *(f"paper: {column}" for column in ours)]
    settings = ", ".join(f"{case.lam:g} ({kernel})" for kernel, (case, _) in cells.items())
    title = f"**{name}**, {len(data.x)} rows to learn from, {len(data.test)} to test on; λ_N of Sparse-RF {settings}"
    return f"{title}\n\n{table(header, lines)}"
