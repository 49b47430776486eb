"""fgm with all defaults: against l1 models and chi² with as many features, and what choosing its settings costs.

THRESHER_DATASETS=FOLDER python -m benchmarks.fgm.defaults [SET …]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import thresher as th
from benchmarks.hard import hard_stream
from benchmarks.harness import DATASETS, table
from benchmarks.l1_and_chi2 import L1Path, chi2_columns, logistic, matrices, searched, svm, unpacked
from thresher.selection.scoring import evaluate

#: Data as it is: words, n-grams, pixels, and two of the NIPS 2003 challenge.
WORDS = ("basehock", "pcmac", "dexter", "farm_ads", "reuters_acq", "news20_ngram")
NUMBERS = ("mnist38", "arcene", "gisette_valid1000")
SIZES, TIMES = (50, 200, 500), 3
_TITLE = "## fgm: all defaults"


@dataclass(frozen=True)
class Cell:
    """The accuracies of a data set with k features, and times relative to a fit with fixed settings."""

    name: str
    k: int
    l1: float
    l1_refitted: float
    chi2: float
    fixed: float
    ours: float
    chosen: str
    ratio: float


def run() -> str:
    """The section; nothing without the data."""
    if DATASETS not in os.environ:
        return f"{_TITLE}\n\n*Not run: `{DATASETS}` names no folder.*"
    return section([cell for name in (*WORDS, *NUMBERS) for cell in cells(name)], hard_rows())


def cells(name: str) -> list[Cell]:
    """The comparisons of a data set."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        train, test = (unpacked(Path(folder), f"{name}.{part}.svm") for part in ("train", "test"))
        x, y, held, held_y = matrices(train, test)
        if name in NUMBERS:
            x, held = _by_largest(x, held)
        paths = [L1Path(x, y, make) for make in (logistic, svm)]
        for k in SIZES:
            fits = [path.largest(k) for path in paths]
            best = chi2_columns(x, y, k)
            ours, fixed, ratio = _ours(train, k)
            cell = Cell(
                name,
                k,
                max(float(model.score(held, held_y)) for _, model in fits),
                max(searched(x[:, columns], y, held[:, columns], held_y) for columns, _ in fits),
                searched(x[:, best], y, held[:, best], held_y),
                _accuracy(fixed, test),
                _accuracy(ours, test),
                _chosen(ours),
                ratio,
            )
            found.append(cell)
            print(cell, file=sys.stderr, flush=True)
    return found


def hard_rows() -> list[list[object]]:
    """The hard stream: true features found by default, and seconds with reading."""
    stream = hard_stream()
    truth, rows = set(stream.truth()), []
    for k in (80, 100):
        seconds = []
        for _ in range(TIMES):
            began = time.perf_counter()
            found = th.select(stream.path("train", "svm"), k=k, method="fgm")
            seconds.append(time.perf_counter() - began)
        rows.append([k, len(truth & set(found.keys.tolist())), f"{statistics.median(seconds):.2f}"])
    return rows


def section(found: list[Cell], hard: list[list[object]]) -> str:
    """The section of the page."""
    near_l1 = sum(cell.ours >= cell.l1 - 0.005 for cell in found)
    near_refitted = sum(cell.ours >= cell.l1_refitted - 0.005 for cell in found)
    near_chi2 = sum(cell.ours >= cell.chi2 - 0.01 for cell in found)
    ratios = [cell.ratio for cell in found]
    lines = [
        [
            cell.name,
            cell.k,
            *(f"{x:.4f}" for x in (cell.l1, cell.l1_refitted, cell.chi2, cell.fixed, cell.ours)),
            cell.chosen,
            f"{cell.ratio:.1f}",
        ]
        for cell in found
    ]
    heads = ["data", "k", "l1", "l1, refitted", "chi²", "fixed", "fgm", "chosen", "time"]
    return "\n\n".join(
        [
            _TITLE,
            'Test accuracy of `FGMClassifier(k)`, which chooses C, scale and refit on held-out rows; `preset="fixed"` '
            "(C = 10, norm, no refit) does not. Beside it, scikit-learn with as many features: the l1 fit with most "
            "non-zeros not above k, logistic or SVM, the better one on test rows; the same columns refitted by an l2 "
            "logistic regression (C by cross-validation), the better one; the k best columns by chi² with such a "
            f"regression. Columns of {', '.join(NUMBERS)} are divided by their largest value for scikit-learn. Nothing "
            "is random. Time: process time of a fit, reading included, as a multiple of one with fixed settings, one "
            f"thread, interleaved, medians of {TIMES}; from {min(ratios):.1f} to {max(ratios):.1f}, median "
            f"{statistics.median(ratios):.1f}.",
            f"At or within .005 of the l1 in {near_l1} of {len(found)} cells (refitted: {near_refitted}), within .01 "
            f"of chi² in {near_chi2}. The constants of the search (strengths, folds and penalties) were chosen with "
            "these sets in sight, so the figures are optimistic.",
            table(heads, lines),
            "The hard stream of 200,000 rows (more than settings are chosen for), all defaults, with reading, median "
            f"of {TIMES}:",
            table(["k", "true features", "seconds"], hard),
        ]
    )


def _ours(train: Path, k: int) -> tuple[th.Selection, th.Selection, float]:
    """Our fits, chosen and fixed, and how much longer the first takes."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(TIMES):
        found = []
        for taken, preset in zip(times, (None, "fixed"), strict=True):
            began = time.process_time()
            found.append(th.select(train, k=k, method="fgm", preset=preset, n_jobs=1))
            taken.append(time.process_time() - began)
    return found[0], found[1], statistics.median(times[0]) / statistics.median(times[1])


def _accuracy(selection: th.Selection, test: Path) -> float:
    return float(evaluate(selection, th.scan(test))["accuracy"])


def _chosen(selection: th.Selection) -> str:
    settings = selection.settings
    return f"{settings['C']:g}, {settings['scale']}, {settings['refit'] or 'no refit'}"


def _by_largest(x: Any, held: Any) -> tuple[Any, Any]:
    """The columns divided by their largest value."""
    from scipy.sparse import diags

    largest = np.asarray(abs(x).max(axis=0).todense()).ravel()
    factors = diags(1.0 / np.where(largest > 0, largest, 1.0))
    return tuple(
        type(x)((scaled.data, scaled.indices.astype(np.int32), scaled.indptr.astype(np.int32)), scaled.shape)
        for scaled in ((x @ factors).tocsr(), (held @ factors).tocsr())
    )


if __name__ == "__main__":
    names = sys.argv[1:]
    print(section([cell for name in names for cell in cells(name)], []) if names else run())
