"""Selection frequencies of two disjoint seeds: how well they agree, and how many features reach the threshold.

THRESHER_DATASETS=FOLDER python -m benchmarks error_control.stability
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import thresher as th
from benchmarks.first_file_defaults import unpacked
from benchmarks.harness import DATASETS, table
from thresher.methods import Data, get_method
from thresher.run import RunOptions
from thresher.trust.stability.run import StableRun
from thresher.trust.stability.settings import Stability

SETS = ("colon", "allaml", "arcene")
#: The method, and settings that held-out rows would otherwise choose anew for each seed, from 8 to 20 of them.
METHOD, SETTINGS = "mission", {"passes": 5}
PAIRS, K, SEEDS = 100, 50, (0, 1)
#: The features that are compared, and the rank correlation to reach.
STRONGEST, AIM = 50, 0.9


def run() -> str:
    """The table; nothing without the data."""
    title = "## Stability: the same frequencies from other halves"
    if DATASETS not in os.environ:
        return f"{title}\n\n*Not run: `{DATASETS}` names no folder.*"
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            lines.append([name, *_compared(unpacked(Path(folder), f"{name}.train.svm"))])
            print(*lines[-1], file=sys.stderr, flush=True)
    reached = sum(float(str(line[4])) >= AIM for line in lines)
    return (
        f"{title}\n\n`{METHOD}`, `stability={PAIRS}`, `k={K}`, `passes={SETTINGS['passes']}`: the frequencies of two "
        "seeds, which divide the rows into other halves. *Correlation* is Spearman's, among the "
        f"{STRONGEST} features of the largest mean frequency; the aim is {AIM:g}, reached in {reached} of "
        f"{len(lines)} cases. *Stable* are the features at the threshold for one expected false one, for each seed. "
        f"*Time* is that of the fit with its {2 * PAIRS} fits of halves.\n\n"
        + table(["data", "rows", "features", "stable", "correlation", "time"], lines)
    )


def _compared(train: Path) -> list[object]:
    start = time.perf_counter()
    runs = [_run(train, seed) for seed in SEEDS]
    seconds = (time.perf_counter() - start) / len(SEEDS)
    facts = [run.selection().provenance["stability"] for run in runs]
    keys = np.unique(np.concatenate([run.frequencies.keys for run in runs]))
    both = np.stack([run.frequencies.of_keys(keys) for run in runs])
    chosen = both[:, np.argsort(-both.mean(axis=0), kind="stable")[:STRONGEST]]
    with open(train) as rows:
        count = sum(1 for _ in rows)
    return [
        count,
        facts[0]["features_seen"],
        " and ".join(str(one["stable"]) for one in facts),
        f"{spearman(*chosen):.3f}",
        f"{seconds:.1f} s",
    ]


def _run(train: Path, seed: int) -> StableRun:
    """The fit with all frequencies, of which a selection lists the largest."""
    spec = get_method(METHOD)
    settings = spec.make_settings(method=METHOD, k=K, loss=spec.loss, seed=seed, **SETTINGS)
    run = StableRun(spec, Data(th.scan(train)), settings, RunOptions(), Stability(pairs=PAIRS, seed=seed))
    run.run()
    return run


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """The correlation of ranks; ties have their mean rank."""
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[at]
