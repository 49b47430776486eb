"""Figure 4: the protocol of the privacy images, on images that are at hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fgm_real import VARIABLE, load
from benchmarks.papers.os.contenders import contenders, streamed
from benchmarks.papers.os.made import Made, Measured, measured
from benchmarks.papers.os.repeated import REPEATS, averaged, shown

COUNTS = (20, 40, 60, 80)
SCANS = (1, 2, 3, 4)
WORKERS = (1, 2, 4, 8)


def sampled(folder: Path, seed: int) -> Made:
    """One row in a hundred to learn from, the rest to test on; columns scaled as a method would."""
    x, y, test, truth = load(folder, "mnist38")
    every, labels = np.vstack([x.toarray(), test.toarray()]), np.concatenate([y, truth])
    order = np.random.default_rng(seed).permutation(len(labels))
    first = order[: len(order) // 100]
    rest = order[len(order) // 100 :]
    columns = np.flatnonzero(every[first].std(axis=0) > 0)
    scale = np.sqrt((every[first][:, columns] ** 2).mean(axis=0))
    every = (every[:, columns] / scale).astype(np.float32)
    labels = np.where(labels > 0, 1.0, -1.0)
    return Made(every[first], labels[first], np.ones(len(columns)), every[rest], labels[rest])


def run() -> str:
    """Test error by s, scans and workers."""
    if VARIABLE not in os.environ:
        return f"## Figure 4\n\nNot run: {VARIABLE} names no folder of data."
    folder = Path(os.environ[VARIABLE])
    data = [sampled(folder, seed) for seed in range(min(REPEATS, 10))]

    def of(found: Any, seed: int) -> Measured:
        return measured(data[seed % len(data)], found)

    def by_s(s: int, seed: int) -> dict[str, Measured]:
        return {label: of(run(), seed) for label, run in contenders(data[seed % len(data)], s).items()}

    def by_scans(scans: int, seed: int) -> dict[str, Measured]:
        return {"OS, s = 60": of(streamed(data[seed % len(data)], "os", 60, scans=scans), seed)}

    def by_workers(workers: int, seed: int) -> dict[str, Measured]:
        late = {"workers": workers, "staleness": workers}
        return {"Asy-OS, s = 60": of(streamed(data[seed % len(data)], "os", 60, **late), seed)}

    return "\n\n".join(
        [
            "## Figure 4: images, one in a hundred to learn from",
            "The paper's images of private and public scenes are not at hand; here threes and eights (mnist38), with "
            "the same protocol. The paper: the l1 batch method has the higher error where s is small, the others "
            "hardly depend on s; 2 or 3 scans are enough. (What counts as recall here is the share of all columns.)",
            shown(averaged("os-figure4-s", COUNTS, by_s), COUNTS, "s", "test error", "os-figure4-s", "Features"),
            shown(
                averaged("os-figure4-scans", SCANS, by_scans), SCANS, "scans", "test error", "os-figure4-scans", "Scans"
            ),
            shown(
                averaged("os-figure4-workers", WORKERS, by_workers),
                WORKERS,
                "workers",
                "test error",
                "os-figure4-workers",
                "Staleness",
            ),
        ]
    )
