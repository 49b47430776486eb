"""Figure 4: the protocol of the privacy images, on images that are at hand."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fgm.real import load
from benchmarks.harness import DATASETS
from benchmarks.papers.os.contenders import contenders, streamed
from benchmarks.papers.os.made import Made, Measured, measured
from benchmarks.papers.os.repeated import REPEATS, Experiment, averaged, shown

COUNTS = (20, 40, 60, 80)
SCANS = (1, 2, 3, 4)
WORKERS = (1, 2, 4, 8)


#: Fields of what is measured, and what they are called. (There are no true features to recall.)
FIELDS = {"error": "test error", "tuned": "test error with a ridge by cross-validation"}


@cache
def images(folder: Path) -> tuple[Any, Any]:
    """Threes and eights, of both parts together."""
    x, y, test, truth = load(folder, "mnist38")
    labels = np.where(np.concatenate([y, truth]) > 0, 1.0, -1.0)
    return np.vstack([x.toarray(), test.toarray()]), labels


def sampled(folder: Path, seed: int) -> Made:
    """One row in a hundred to learn from, the rest to test on; columns scaled as a method would."""
    every, labels = images(folder)
    order = np.random.default_rng(seed).permutation(len(labels))
    first = order[: len(order) // 100]
    rest = order[len(order) // 100 :]
    columns = np.flatnonzero(every[first].std(axis=0) > 0)
    scale = np.sqrt((every[first][:, columns] ** 2).mean(axis=0))
    scaled = (every[:, columns] / scale).astype(np.float32)
    return Made(scaled[first], labels[first], np.ones(len(columns)), scaled[rest], labels[rest])


def experiments(folder: Path) -> dict[str, tuple[tuple[int, ...], Experiment]]:
    """What is measured, by axis: the places on it, and one run."""

    def by_s(s: int, seed: int) -> dict[str, Measured]:
        data = sampled(folder, seed)
        return {label: measured(data, run()) for label, run in contenders(data, s).items()}

    def by_scans(scans: int, seed: int) -> dict[str, Measured]:
        data = sampled(folder, seed)
        return {"OS, s = 60": measured(data, streamed(data, "os", 60, scans=scans))}

    def by_workers(workers: int, seed: int) -> dict[str, Measured]:
        data = sampled(folder, seed)
        late = {"workers": workers, "staleness": workers}
        return {"Asy-OS, s = 60": measured(data, streamed(data, "os", 60, **late))}

    return {"s": (COUNTS, by_s), "scans": (SCANS, by_scans), "workers": (WORKERS, by_workers)}


def run() -> str:
    """Test error by s, scans and workers."""
    if DATASETS not in os.environ:
        return f"## Figure 4\n\nNot run: {DATASETS} names no folder of data."
    parts = [
        "## Figure 4: images, one in a hundred to learn from",
        "The paper's images of private and public scenes are not available; here mnist38 (threes and eights) with "
        f"the same protocol, means of {REPEATS} draws. The paper: the l1 batch method has the higher error where s is "
        "small, the others hardly depend on s; 2 or 3 scans are enough.",
    ]
    for axis, (places, experiment) in experiments(Path(os.environ[DATASETS])).items():
        name = f"os-figure4-{axis}"
        fields = FIELDS | {"kept": "features kept"} if axis == "s" else FIELDS
        title = {"s": "Features", "scans": "Scans", "workers": "Staleness"}[axis]
        parts.append(shown(averaged(name, places, experiment), places, axis, fields, name, title))
    return "\n\n".join(parts)
