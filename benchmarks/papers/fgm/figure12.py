"""Figure 12: the parameter B until a number of features is reached."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.fgm.real import load
from benchmarks.harness import DATASETS, table
from benchmarks.papers.fgm.figures import figure, save
from benchmarks.papers.fgm.sweep import fgm_points


def run(name: str = "news20_ngram", Bs: tuple[int, ...] = (4, 10, 20, 40, 100, 400)) -> str:
    """Time and accuracy of 400 features by B."""
    title = f"## Figure 12: 400 features by B, {name}"
    if not os.environ.get(DATASETS):
        return f"{title}\n\nNot run: {DATASETS} names no folder of LIBSVM files."
    data = load(Path(os.environ[DATASETS]), name)
    lines = []
    fig, ax = figure("B", "seconds", f"400 features of {name} (Figure 12)")
    ax.set(xscale="log", yscale="log")
    for scale in (None, "norm"):
        points = fgm_points(data, [{"k": 400, "B": B, "scale": scale} for B in Bs])
        ax.plot(Bs, [point.seconds for point in points], marker=".", label=f"scale = {scale}")
        for B, point in zip(Bs, points, strict=True):
            lines.append([scale, B, point.iterations, point.features, f"{point.accuracy:.4f}", f"{point.seconds:.2f}"])
    ax.legend(fontsize=7)
    return "\n\n".join(
        [
            title,
            "The paper (astro-ph): a large B is much faster (B = 40 about 200 times faster than B = 2); B = 400 "
            "at once is "
            "dramatically less accurate.",
            save(fig, "fgm-figure12"),
            table(["scale", "B", "iterations", "features", "test accuracy", "seconds"], lines),
        ]
    )
