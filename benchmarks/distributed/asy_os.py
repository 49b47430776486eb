"""Asy-OS on Ray beside threads: recall on the paper's synthetic regression, by the features of an exchange."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

import thresher as th
from benchmarks.harness import table
from benchmarks.papers.os.made import Made, S, made

P, WORKERS, SEEDS = 2000, 4, (0, 1, 2, 3)
CONTENDERS: dict[str, dict[str, Any]] = {
    "no threads: `staleness=4` is simulated": {"staleness": 4},
    "threads, u shared": {},
    "threads, `exchange=8`": {"exchange": 8},
    "threads, `exchange=32`": {"exchange": 32},
    "Ray, `exchange=8`": {"exchange": 8, "cluster": "ray"},
    "Ray, `exchange=32`": {"exchange": 32, "cluster": "ray"},
}


def recall(data: Made, **settings: Any) -> tuple[float, th.Selection]:
    """The share of the true features that a fit finds, in percent, and the fit."""
    found = th.select(
        th.FeatureStream(data.x),
        data.y,
        k=S,
        method="os",
        loss=data.loss,
        fit_intercept=False,
        refit=False,
        **settings,
    )
    true = np.flatnonzero(data.true)
    return 100 * float(np.isin(true, found.keys.astype(np.int64)).mean()), found


def run(seeds: tuple[int, ...] = SEEDS) -> str:
    """The section of the page."""
    try:
        import ray
    except ImportError:
        return "## Asy-OS on Ray\n\nNot run: Ray is not installed."
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    ray.init(num_cpus=WORKERS, object_store_memory=100 << 20, include_dashboard=False, logging_level="ERROR")
    try:
        lines = [_line(name, settings, seeds) for name, settings in CONTENDERS.items()]
    finally:
        ray.shutdown()
    head = ["workers on", "recall, %", "of each data set", "updates of u", "largest staleness", "seconds of a fit"]
    return (
        f"## Asy-OS on Ray\n\nThe paper's synthetic regression (s = {S}, p = {P:,}, noise 0.1), {WORKERS} workers, "
        f"three scans, means of {len(seeds)} data sets. The target is a recall on Ray of at most 3 points below that "
        "of threads, for exchanges of 8 and of 32 features. Staleness is in updates of u: a feature each where u is "
        "shared, an exchange each elsewhere. Runs differ by a few points, since scheduling decides what a worker sees, "
        "and by more on a busy machine where u is shared: a thread that waits for a processor is late by many "
        "features, and steps get short. The seconds include "
        f"the start of {WORKERS} actors; the machine has {os.cpu_count()} processors and a load of "
        f"{os.getloadavg()[0]:.0f} at the end, most of it by others.\n\n" + table(head, lines)
    )


def _line(name: str, settings: dict[str, Any], seeds: tuple[int, ...]) -> list[str]:
    recalls, seconds, updates, late = [], [], [], []
    for seed in seeds:
        data, started = made(P, seed, classes=False), time.perf_counter()
        percent, found = recall(data, workers=WORKERS, **settings)
        recalls.append(percent)
        seconds.append(time.perf_counter() - started)
        (facts,) = found.provenance["found_by"]
        updates.append(facts["updates"])
        late.append(facts["staleness"])
    each = " ".join(f"{percent:.0f}" for percent in recalls)
    return [
        name,
        f"{np.mean(recalls):.1f}",
        each,
        f"{np.mean(updates):,.0f}",
        str(max(late)),
        f"{np.median(seconds):.1f}",
    ]


if __name__ == "__main__":
    print(run())
