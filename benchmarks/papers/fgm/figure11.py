"""Figure 11: the parameter B under three ways to end."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.fgm.real import load
from benchmarks.harness import DATASETS, table
from benchmarks.papers.fgm.figures import figure, save
from benchmarks.papers.fgm.sweep import fgm_points


def run(name: str = "reuters_acq", Bs: tuple[int, ...] = (2, 10, 20, 40, 60)) -> str:
    """Features, accuracy and time by B."""
    title = f"## Figure 11: B, {name}"
    if not os.environ.get(DATASETS):
        return f"{title}\n\nNot run: {DATASETS} names no folder of LIBSVM files."
    data = load(Path(os.environ[DATASETS]), name)
    ends = {"tol = 0.005": {"tol": 5e-3}, "tol = 0.001": {"tol": 1e-3}, "T = 10": {"max_iter": 10}}
    lines = []
    fig, ax = figure("B", "test accuracy", f"{name} (Figure 11)")
    for end, given in ends.items():
        points = fgm_points(data, [{"k": 2000, "B": B, **given} for B in Bs])
        ax.plot(Bs, [point.accuracy for point in points], marker=".", label=end)
        for B, point in zip(Bs, points, strict=True):
            lines.append([end, B, point.iterations, point.features, f"{point.accuracy:.4f}", f"{point.seconds:.2f}"])
    ax.legend(fontsize=7)
    return "\n\n".join(
        [
            title,
            "The paper (astro-ph): fewer iterations (0.005, or T = 10) are about as accurate as 0.001 and much faster.",
            save(fig, "fgm-figure11"),
            table(["end", "B", "iterations", "features", "test accuracy", "seconds"], lines),
        ]
    )
