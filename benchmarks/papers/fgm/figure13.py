"""Figures 13 and 14: polynomials of degree 2, time and accuracy."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fgm.families import KDDB, planted
from benchmarks.fgm.families_kernels import scaled
from benchmarks.fgm.l1_machines import l1_model
from benchmarks.harness import DATASETS, table
from benchmarks.papers.fgm.sweep import Curves, Point, by_count, draw
from thresher import FGMClassifier

COUNTS = (25, 50, 100, 200, 300)


def polynomial_points(data: Any, counts: Sequence[int], **settings: Any) -> list[Point]:
    """fgm over all products, asked for so many features."""
    x, y, test, truth = data
    points = []
    for count in counts:
        started = time.perf_counter()
        model = FGMClassifier(k=count, **{"family": "polynomial:2", "scale": None, **settings}).fit(x, y)
        seconds = time.perf_counter() - started
        found, score = len(model.selection_), float(model.score(test, truth))
        points.append(Point(found, score, score, 0, seconds, len(model.path_)))
    return points


def occurring(wide: Any, columns: Any) -> Any:
    """These columns of a matrix that has far more of them than it has numbers."""
    import scipy.sparse as sp

    at = np.searchsorted(columns, wide.indices).clip(0, len(columns) - 1)
    kept = columns[at] == wide.indices
    indptr = np.concatenate([[0], np.cumsum(kept)])[wide.indptr]
    return sp.csr_matrix((wide.data[kept], at[kept].astype(np.int32), indptr), (wide.shape[0], len(columns)))


def formed_points(data: Any, rows: int, Cs: Sequence[float], most: float = 40.0) -> list[Point]:
    """LIBLINEAR's l1-SVM on all products formed, of some of the rows; no more fits once ``most`` seconds are over."""
    from sklearn.preprocessing import PolynomialFeatures

    x, y, test, truth = data
    expand, begun = PolynomialFeatures(2, include_bias=False), time.perf_counter()
    wide = expand.fit_transform(x[:rows].astype(np.float64))
    there = np.unique(wide.indices)
    wide = occurring(wide, there)
    forming, points = time.perf_counter() - begun, []
    wide_test = occurring(expand.transform(test.astype(np.float64)), there)
    begun = time.perf_counter()
    for C in Cs:
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = l1_model("l1-SVM", C, True).fit(wide, y[:rows])
        seconds, score = time.perf_counter() - started, float(model.score(wide_test, truth))
        points.append(Point(int(np.count_nonzero(model.coef_)), score, score, 0, forming + seconds, 1))
        if time.perf_counter() - begun > most:
            break
    return points


def shown(name: str, title: str, curves: Curves) -> list[str]:
    """Pictures and tables of both figures for one set."""
    return [
        draw(curves, lambda p: p.seconds, "training seconds", f"{title} (Figure 13)", f"fgm-figure13-{name}"),
        draw(curves, lambda p: p.accuracy, "test accuracy", f"{title} (Figure 14)", f"fgm-figure14-{name}"),
        table([f"{title}: seconds", *map(str, COUNTS)], by_count(curves, COUNTS, lambda p: p.seconds, 2)),
        table([f"{title}: accuracy", *map(str, COUNTS)], by_count(curves, COUNTS, lambda p: p.accuracy)),
    ]


def run(few: int = 2000) -> str:
    """Three sets, as in the paper."""
    title = "## Figures 13 and 14: polynomials of degree 2"
    if not os.environ.get(DATASETS):
        return f"{title}\n\nNot run: {DATASETS} names no folder of LIBSVM files."
    parts = [
        title,
        "The paper (mnist38, real-sim, kddb with O(10^14) products): FGM is much faster than LIBLINEAR on all "
        "products, which it cannot form for kddb; there FGM trains within 1000 seconds on four cores.",
        "Here: mnist38 (pixels in [0, 1]), reuters_acq in place of real-sim, and rows shaped like kddb. C = 1, "
        f"unscaled columns. l1-PSVM is LIBLINEAR on the products of the first {few} rows, formed in advance: the "
        "products of all rows would not fit. Its seconds cover forming them and one fit.",
    ]
    folder = Path(os.environ[DATASETS])
    for name, Cs in (("mnist38", np.geomspace(3e-4, 3e-2, 5)), ("reuters_acq", np.geomspace(0.03, 3.0, 5))):
        data = scaled(name, folder)
        some = (data[0][:few], data[1][:few], data[2], data[3])
        curves = {
            "PFGM": polynomial_points(data, COUNTS, C=1.0),
            "PSLR (logistic)": polynomial_points(data, COUNTS, C=1.0, loss="logistic"),
            f"PFGM, {few} rows": polynomial_points(some, COUNTS, C=1.0),
            f"l1-PSVM, {few} rows": formed_points(data, few, Cs.tolist()),
            "FGM (linear)": polynomial_points(data, COUNTS, C=1.0, family="linear"),
        }
        parts += shown(name, name, curves)
    made = planted(KDDB[0] + 50_000, *KDDB[1:])
    split = (made.x[50_000:], made.y[50_000:], made.x[:50_000], made.y[:50_000])
    kddb = {
        "PFGM": polynomial_points(split, (25, 100), scale="norm", C=10.0, max_iter=10),
        "FGM (linear)": polynomial_points(split, (25, 100), scale="norm", C=10.0, family="linear"),
    }
    parts += [
        "Rows shaped like kddb (1,000,000 training rows, labels from ten planted pairs and noise; scaled columns):",
        table(
            ["method", "features", "seconds", "test accuracy"],
            [[k, p.features, f"{p.seconds:.1f}", f"{p.accuracy:.4f}"] for k, points in kddb.items() for p in points],
        ),
    ]
    return "\n\n".join(parts)
