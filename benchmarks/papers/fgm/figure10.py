"""Figure 10: the parameter C."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.fgm.real import load
from benchmarks.harness import DATASETS, table
from benchmarks.papers.fgm.sweep import by_count, draw, fgm_points, l1_points

COUNTS = (50, 100, 150, 200)


def run(sets: tuple[str, ...] = ("reuters_acq", "farm_ads")) -> str:
    """Accuracy by count for four values of C."""
    title = "## Figure 10: C"
    if not os.environ.get(DATASETS):
        return f"{title}\n\nNot run: {DATASETS} names no folder of LIBSVM files."
    parts = [title, "The paper (real-sim, astro-ph): a small C underfits, a very large one (500) may overfit."]
    for name in sets:
        data = load(Path(os.environ[DATASETS]), name)
        curves = {
            f"C = {C:g}": fgm_points(data, [{"k": k, "C": C} for k in (25, *COUNTS, 300)])
            for C in (0.5, 5.0, 50.0, 500.0)
        }
        curves["l1-SVM"] = l1_points("l1-SVM", data, np.geomspace(1e-3, 0.1, 8))
        parts += [
            draw(curves, lambda p: p.accuracy, "test accuracy", f"{name} (Figure 10)", f"fgm-figure10-{name}"),
            table([name, *map(str, COUNTS)], by_count(curves, COUNTS, lambda p: p.accuracy)),
        ]
    return "\n\n".join(parts)
