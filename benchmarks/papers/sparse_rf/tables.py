"""What both tables share: a data set and a kernel, the three methods, theirs beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from benchmarks.harness import table
from benchmarks.sparse_rf.data import MISSING
from benchmarks.sparse_rf.measured import measured


class Paper(NamedTuple):
    """One cell of a table of the paper: model size, score, training and prediction seconds of the three methods."""

    kernel: tuple[int, float, float, float]
    every: tuple[int, float, float, float]
    sparse: tuple[int, float, float, float]


def section(name: str, cells: Mapping[str, Paper], *, classes: bool) -> str:
    """The rows of one data set."""
    lines, title = [], ""
    for kernel, paper in cells.items():
        one = measured(name, kernel)
        if one is None:
            return f"**{name}** {MISSING}"
        what = f"{kernel}, gamma = {one.gamma:g}, λ_N = {one.lam:g}"
        methods = {"kernel machine": ("machine", paper.kernel), "RF": ("every", paper.every)}
        for method, (called, theirs) in {**methods, "Sparse-RF": ("sparse", paper.sparse)}.items():
            r = one.results[called]
            mine = [r.functions, f"{r.score:.4f}", f"{r.training:.1f}", f"{r.prediction:.3f}"]
            lines.append([what, method, *mine, *theirs])
        title = f"**{name}**, {one.rows} training rows, {one.tests} test rows"
    ours = ["size", "accuracy" if classes else "RMSE", "training, s", "prediction, s"]
    header = ["kernel", "method", *ours, *(f"paper: {column}" for column in ours)]
    return f"{title}\n\n{table(header, lines)}"
