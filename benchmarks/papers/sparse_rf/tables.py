"""What both tables share: a data set and a kernel, the three methods, theirs beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from benchmarks.harness import table
from benchmarks.sparse_rf import EVERY, MACHINE, OURS, result
from benchmarks.sparse_rf_cases import cases
from benchmarks.sparse_rf_data import MISSING, load


class Paper(NamedTuple):
    """One cell of a table of the paper: model size, score, training and prediction seconds of the three methods."""

    kernel: tuple[int, float, float, float]
    every: tuple[int, float, float, float]
    sparse: tuple[int, float, float, float]


def section(name: str, cells: Mapping[str, Paper], *, classes: bool) -> str:
    """The rows of one data set."""
    data = load(name)
    if data is None:
        return f"**{name}** {MISSING}"
    lines = []
    for kernel, paper in cells.items():
        case = cases()[name, kernel]
        what = f"{kernel}, gamma = {case.gamma:g}, λ_N = {case.lam:g}"
        methods = {
            "kernel machine": (MACHINE, paper.kernel),
            "RF": (EVERY, paper.every),
            "Sparse-RF": (OURS, paper.sparse),
        }
        for method, (called, theirs) in methods.items():
            one = result(name, kernel, called, classes=classes)
            mine = [one.functions, f"{one.score:.4f}", f"{one.training:.1f}", f"{one.prediction:.3f}"]
            lines.append([what, method, *mine, *theirs])
    score_name = "accuracy" if classes else "RMSE"
    ours = ["size", score_name, "training, s", "prediction, s"]
    header = ["kernel", "method", *ours, *(f"paper: {column}" for column in ours)]
    title = f"**{name}**, {len(data.x)} rows to learn from, {len(data.test)} to test on"
    return f"{title}\n\n{table(header, lines)}"
