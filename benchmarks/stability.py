"""Selection frequencies of two disjoint seeds: how well they agree, and how many features reach the threshold.

THRESHER_DATASETS=FOLDER python -m benchmarks stability
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import thresher as th
from benchmarks.budgeted_l1 import VARIABLE
from benchmarks.first_file_defaults import unpacked
from benchmarks.harness import table

SETS = ("colon", "allaml", "arcene")
METHODS = ("mission", "fgm")
PAIRS, K, SEEDS = 100, 50, (0, 1)
#: The features that are compared, and the rank correlation to reach.
STRONGEST, AIM = 50, 0.9


def run() -> str:
    """The table; nothing without the data."""
    title = "## Stability: the same frequencies from other halves"
    if VARIABLE not in os.environ:
        return f"{title}\n\n*Not run: `{VARIABLE}` names no folder.*"
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            train = unpacked(Path(folder), f"{name}.train.svm")
            for method in METHODS:
                lines.append([name, method, *_compared(train, method)])
                print(*lines[-1], file=sys.stderr, flush=True)
    reached = sum(float(line[5]) >= AIM for line in lines)
    return (
        f"{title}\n\n`stability={PAIRS}`, `k={K}`: the frequencies of two seeds, which divide the rows into other "
        f"halves. *Correlation* is Spearman's, among the {STRONGEST} features of the largest mean frequency; the aim "
        f"is {AIM:g}, reached in {reached} of {len(lines)} cases. *Stable* are the features at the threshold for one "
        f"expected false one, for each seed. *Time* is that of the fit with its {2 * PAIRS} fits of halves.\n\n"
        + table(["data", "method", "rows", "features", "stable", "correlation", "time"], lines)
    )


def _compared(train: Path, method: str) -> list[object]:
    start = time.perf_counter()
    found = [th.select(train, k=K, method=method, stability=PAIRS, random_state=seed) for seed in SEEDS]
    seconds = (time.perf_counter() - start) / len(SEEDS)
    facts = [one.provenance["stability"] for one in found]
    first, second = (dict(zip(one["keys"], one["frequency"], strict=True)) for one in facts)
    keys = sorted({*first, *second})
    both = np.array([[one.get(key, 0.0) for key in keys] for one in (first, second)])
    chosen = both[:, np.argsort(-both.mean(axis=0), kind="stable")[:STRONGEST]]
    return [
        found[0].provenance["rows"] if method == "fgm" else sum(1 for _ in open(train)),
        facts[0]["features_seen"],
        " and ".join(str(one["stable"]) for one in facts),
        f"{spearman(*chosen):.3f}",
        f"{seconds:.1f} s",
    ]


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """The correlation of ranks; ties have their mean rank."""
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    distinct, at, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[at]
