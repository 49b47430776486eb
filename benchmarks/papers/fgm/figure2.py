"""Figure 2: the small synthetic data."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.fgm.synthetic import made
from benchmarks.harness import table
from benchmarks.papers.fgm.sweep import Curves, by_count, draw, fgm_points, l1_points

COUNTS = (50, 100, 150, 200, 250, 300)


def curves_of(n: int, m: int, Bs: tuple[int, ...], svm: Any, lr: Any) -> Curves:
    """FGM by B (until the paper's stop), the l1 machines by C."""
    data, true = made(n, m)
    shared = {"k": 600, "fit_intercept": False, "tol": 1e-3}
    losses = {"PROX-FGM": "squared_hinge", "PROX-SLR": "logistic"}
    curves = {
        name: fgm_points(data, [{**shared, "max_iter": 10, "loss": loss, "B": B} for B in Bs], true)
        for name, loss in losses.items()
    }
    curves["norm"] = fgm_points(data, [{**shared, "max_iter": 10, "scale": "norm", "B": B} for B in Bs], true)
    curves["l1-SVM"] = l1_points("l1-SVM", data, svm, true, shift=False)
    curves["l1-LR"] = l1_points("l1-LR", data, lr, true, shift=False)
    return curves


def shown(curves: Curves, number: int, title: str, claim: str, counts: tuple[int, ...] = COUNTS) -> str:
    """Pictures and tables of accuracy, true features, de-biased accuracy and time."""
    name = f"fgm-figure{number}"
    head = ["method", *(f"{count} features" for count in counts)]
    return "\n\n".join(
        [
            title,
            claim,
            draw(curves, lambda p: p.accuracy, "test accuracy", f"Accuracy (Figure {number}a)", f"{name}a"),
            draw(curves, lambda p: p.true, "true features", f"True features (Figure {number}b)", f"{name}b"),
            "Test accuracy:",
            table(head, by_count(curves, counts, lambda p: p.accuracy)),
            "True features among them:",
            table(head, by_count(curves, counts, lambda p: p.true, 0)),
            "Test accuracy, de-biased by a plain SVM (C = 20):",
            table(head, by_count(curves, counts, lambda p: p.debiased)),
            "Seconds of one fit:",
            table(head, by_count(curves, counts, lambda p: p.seconds, 2)),
        ]
    )


def run(n: int = 4096, m: int = 4096) -> str:
    """4,096 x 4,096, as in the paper."""
    curves = curves_of(n, m, (5, 10, 15, 20, 25, 30), np.geomspace(0.0018, 0.007, 6), np.geomspace(0.006, 0.03, 6))
    claim = (
        "The paper: above 100 features FGM has more true features and better accuracy than l1-SVM and l1-LR, its own "
        "accuracy is close to the de-biased one, and that of the l1 machines is not; training takes about as long."
    )
    return shown(curves, 2, f"## Figure 2: {n} x {m}, 300 true features", claim)
