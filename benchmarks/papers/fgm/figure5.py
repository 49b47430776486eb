"""Figures 5 and 6: with and without the shift."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import table
from benchmarks.papers.fgm.figures import figure, save
from benchmarks.papers.fgm.sweep import by_count, draw, fgm_points, l1_points
from thresher import FGMClassifier

COUNTS = (100, 200, 300)


def objectives(data: Any) -> str:
    """Figure 5: the objective after every iteration, with the shift and without."""
    fig, ax = figure("iteration", "objective / objective at the start", "The shift (Figure 5a)")
    # Both against the objective of no feature and no shift, as one start for both.
    start = 10.0 * len(data[1]) / 2.0
    for with_shift in (True, False):
        path = FGMClassifier(k=300, B=20, scale=None, fit_intercept=with_shift).fit(*data[:2]).path_
        relative = [entry["objective"] / start for entry in path]
        label = "FGM-SHIFT" if with_shift else "FGM"
        ax.plot(np.arange(1, len(relative) + 1), relative, marker=".", label=label)
    ax.legend(fontsize=7)
    return save(fig, "fgm-figure5")


def run(n: int = 4096, m: int = 4096, shift: float = 4.0) -> str:
    """Labels are the sign of x'w - 4."""
    rng = np.random.default_rng(0)
    w = np.zeros(m, np.float32)
    w[rng.choice(m, 300, replace=False)] = rng.random(300)
    x, test = (rng.standard_normal((n, m), dtype=np.float32) for _ in range(2))
    data = (x, np.sign(x @ w - shift), test, np.sign(test @ w - shift))
    curves = {
        ("FGM-SHIFT" if with_shift else "FGM"): fgm_points(
            data, [{"k": k, "B": 20, "fit_intercept": with_shift} for k in (60, *COUNTS)]
        )
        for with_shift in (True, False)
    }
    for with_shift in (True, False):
        name = "l1-SVM-SHIFT" if with_shift else "l1-SVM"
        curves[name] = l1_points("l1-SVM", data, np.geomspace(0.0018, 0.007, 5), shift=with_shift)
    return "\n\n".join(
        [
            f"## Figures 5 and 6: a hyperplane {shift:g} away from the origin",
            "The paper: with an intercept (its shift) the objective is much lower and accuracy significantly better, "
            "for FGM and for l1-SVM; FGM is better than l1-SVM either way.",
            objectives(data),
            draw(curves, lambda p: p.accuracy, "test accuracy", "The shift (Figure 6a)", "fgm-figure6"),
            table(["method", *map(str, COUNTS)], by_count(curves, COUNTS, lambda p: p.accuracy)),
        ]
    )
