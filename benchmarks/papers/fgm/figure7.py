"""Figures 7, 8 and 9: real data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.svm import l1_min_c

from benchmarks.fgm.real import DATASETS, PREDICTING, SETS, load
from benchmarks.harness import table
from benchmarks.papers.fgm.sweep import by_count, draw, fgm_points, l1_points

COUNTS = (50, 100, 150, 200, 250, 300)


def run(sets: tuple[str, ...] = SETS) -> str:
    """Accuracy, time and de-biased accuracy within 300 features."""
    title = "## Figures 7, 8 and 9: real data within 300 features"
    if not os.environ.get(DATASETS):
        return f"{title}\n\nNot run: {DATASETS} names no folder of LIBSVM files."
    parts = [
        title,
        "The paper: FGM is as accurate as the l1 machines or better on all its data, as fast or faster, and close "
        "to its "
        "de-biased form, while l1-SVM is well below its own.",
    ]
    for name in sets:
        data = load(Path(os.environ[DATASETS]), name)
        asked = (25, *COUNTS)
        smallest = l1_min_c(data[0].astype(np.float64), data[1], loss="squared_hinge")  # without any feature below
        curves = {
            "PROX-FGM": fgm_points(data, [{"k": k} for k in asked]),
            "PROX-SLR": fgm_points(data, [{"k": k, "loss": "logistic"} for k in asked]),
            "norm": fgm_points(data, [{"k": k, "scale": "norm"} for k in asked]),
            "root, C = 0.1": fgm_points(data, [{"k": k, **PREDICTING} for k in asked]),
            "root, refit": fgm_points(data, [{"k": k, **PREDICTING, "refit": 0.1} for k in asked]),
            "l1-SVM": l1_points("l1-SVM", data, smallest * np.geomspace(1.5, 5000.0, 12)),
        }
        head = ["method", *map(str, COUNTS)]
        parts += [
            f"**{name}**",
            draw(curves, lambda p: p.accuracy, "test accuracy", f"{name} (Figure 7)", f"fgm-figure7-{name}"),
            "Test accuracy; de-biased; seconds of one fit:",
            table(head, by_count(curves, COUNTS, lambda p: p.accuracy)),
            table(head, by_count(curves, COUNTS, lambda p: p.debiased)),
            table(head, by_count(curves, COUNTS, lambda p: p.seconds, 2)),
        ]
    return "\n\n".join(parts)
