"""The number of features that ``k="auto"`` chooses, against the best of a grid on the test rows.

THRESHER_DATASETS=FOLDER python -m benchmarks right_k
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import thresher as th
from benchmarks.first_file_defaults import unpacked
from benchmarks.harness import DATASETS, table
from thresher.selection.compare import nested_sizes
from thresher.selection.scoring import evaluate

SETS = ("basehock", "pcmac", "dexter", "farm_ads", "reuters_acq", "mnist38")
#: Methods, and the largest k of the grid, which is also ``k_max``.
METHODS = {"mission": 5000, "b-arda": 5000, "fgm": 1000}
SEEDS = range(3)
#: A k is good if it loses no more than this share of the test rows against the best one.
POINT, COLUMNS = 0.01, {"mnist38": 784}


def run() -> str:
    """The table; nothing without the data."""
    title = '## The right k: `k="auto"`'
    if DATASETS not in os.environ:
        return f"{title}\n\n*Not run: `{DATASETS}` names no folder.*"
    lines, met = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            train, test = (unpacked(Path(folder), f"{name}.{part}.svm") for part in ("train", "test"))
            for method, most in METHODS.items():
                line, close, few = _compared(train, test, method, min(most, COLUMNS.get(name, most)))
                met.append((close, few))
                lines.append([name, method, *line])
                print(*lines[-1], file=sys.stderr, flush=True)
    close, few, both = (sum(map(part, met)) for part in (lambda m: m[0], lambda m: m[1], all))
    return (
        f"{title}\n\nTest accuracy in percent, means of {len(SEEDS)} seeds. *Best* is the best k of a grid (1, 2, 5, "
        "10, … up to 5000; fgm: 1000), chosen on the test rows, and *smallest* the smallest k of the grid within one "
        'point of it. `k="auto"` sees the training rows only. *Time* is that of `k="auto"` divided by that of a fit '
        "with the k that it chose.\n\nThe aim is an accuracy within one point of the best, with at most twice the "
        f"smallest k. The accuracy is within a point in {close} of {len(met)} cases, k is at most twice the smallest "
        f"in {few}, and both hold in {both}. One point is about one standard error of the accuracy on the test rows of "
        "all sets but reuters_acq and mnist38 (300 to 830 rows), so that the smallest k within a point of the best is "
        "itself uncertain by a factor of two and more.\n\n"
        + table(["data", "method", "best k", "accuracy", "smallest", "k by auto", "accuracy", "time", "aim"], lines)
    )


def _compared(train: Path, test: Path, method: str, most: int) -> tuple[list[object], bool, bool]:
    rows = th.scan(test)
    grid = {}
    for k in nested_sizes(most):
        found = [th.select(train, k=k, method=method, random_state=seed) for seed in SEEDS]
        grid[k] = statistics.mean(evaluate(one, rows)["accuracy"] for one in found)
    chosen, accuracies, times = [], [], []
    for seed in SEEDS:
        start = time.perf_counter()
        found = th.select(train, k="auto", k_max=most, method=method, random_state=seed)
        auto = time.perf_counter() - start
        assert found.k_curve is not None
        chosen.append(found.k_curve["chosen"])
        start = time.perf_counter()
        th.select(train, k=chosen[-1], method=method, random_state=seed)
        times.append(auto / (time.perf_counter() - start))
        accuracies.append(evaluate(found, rows)["accuracy"])
    best = max(grid, key=lambda k: grid[k])
    smallest = min(k for k in grid if grid[k] >= grid[best] - POINT)
    accuracy = statistics.mean(accuracies)
    close, few = accuracy >= grid[best] - POINT, statistics.median(chosen) <= 2 * smallest
    verdict = "both" if close and few else "accuracy" if close else "k" if few else "neither"
    by_auto = ", ".join(map(str, chosen)) if len(set(chosen)) > 1 else str(chosen[0])
    shown = [f"{100 * grid[best]:.1f}", smallest, by_auto, f"{100 * accuracy:.1f}", f"{statistics.median(times):.1f} x"]
    return [best, *shown, verdict], close, few
