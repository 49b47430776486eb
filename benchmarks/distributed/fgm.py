"""Workers of FGM, which share the columns: the bits of one process, their memory, and what an iteration costs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import thresher as th
from benchmarks.hard import HardStream, write_hard
from thresher.distributed.ray_connection import own_priority

_STREAM, _ROWS, _ROUNDS = 7, 50_000, 5
#: A memory into which the columns of so many rows do not fit.
_LITTLE, _FEW_ROWS = "48MB", 20_000
_HOW: dict[str, Any] = {"k": 200, "method": "fgm", "preset": "fixed", "calibrate": False, "repeat": False}
#: The number of workers, and where they run.
_CASES = ((1, None), (2, None), (4, None), (2, "ray"), (4, "ray"))


class Fit(NamedTuple):
    """A fit, the seconds until its first iteration, and those of each iteration."""

    selection: th.Selection
    reading: float
    iterations: list[float]


def fit(stream: HardStream, workers: int, cluster: str | None) -> Fit:
    """Fit the training rows."""
    times: list[float] = []

    def note(progress: Any) -> None:
        if not progress.phase and progress.passes_done > len(times):
            times.append(time.perf_counter())

    started = time.perf_counter()
    selection = th.select(stream.path("train", "svm"), workers=workers, cluster=cluster, progress=note, **_HOW)
    return Fit(selection, times[0] - started, np.diff(times).tolist())


def _least(fits: list[Fit]) -> NDArray[np.float64]:
    """The least milliseconds of each iteration, over several fits."""
    return 1000 * np.min([one.iterations for one in fits], axis=0)


@contextmanager
def _one_ray() -> Iterator[bool]:
    """A Ray for all fits; whether there is one."""
    try:
        import ray
    except ImportError:
        yield False
        return
    most = max(workers for workers, _ in _CASES)
    with own_priority():
        ray.init(
            address="local", num_cpus=most, object_store_memory=512 << 20, include_dashboard=False, log_to_driver=False
        )
    yield True
    ray.shutdown()


def _same(one: th.Selection, other: th.Selection) -> bool:
    parts = ("keys", "weights", "counts", "intercept")
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)


def run() -> str:
    """The section of the page."""
    lines = [
        "### Workers of FGM",
        "",
        f"FGM (`preset=fixed`, k = {_HOW['k']}, {_HOW['k'] // 10} features an iteration) on the first {_ROWS:,} rows "
        "of a hard",
        f"stream of seed {_STREAM}. Reading (the least of the fits) includes the first iteration, and the start of "
        "workers on a running Ray. Iterations",
        f"are medians of the least time of each iteration over {_ROUNDS} fits in turn, since other programs ran on the "
        "machine. All",
        "workers ran on its two processors, so that more of them share the same processors, with the priority of one",
        "process, as on a Ray that Thresher starts; to reach",
        "were the same bits as in one process, and at most 30 ms an iteration on top.",
        "",
        "| workers | where | bits | s for reading | ms an iteration | on top | MB of columns in the largest worker |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    with tempfile.TemporaryDirectory(prefix="thresher-workers-") as folder:
        whole = write_hard(Path(folder) / "hard", seed=_STREAM)
        stream, short = whole.head(_ROWS, folder), whole.head(_FEW_ROWS, folder)
        found: dict[tuple[int, str | None], list[Fit]] = {case: [] for case in _CASES}
        with _one_ray() as there:
            for _ in range(_ROUNDS):
                for workers, cluster in _CASES:
                    if cluster is None or there:
                        found[workers, cluster].append(fit(stream, workers, cluster))
        little = little_memory(short)
    alone = found[_CASES[0]]
    usual = _least(alone)
    for (workers, cluster), fits in found.items():
        if not fits:
            lines.append(f"| {workers} | Ray | not run: it is not installed | | | | |")
            continue
        same = all(_same(one.selection, alone[0].selection) for one in fits)
        each = _least(fits)
        more = float(np.median(each - usual))
        reading = min(one.reading for one in fits)
        facts = fits[0].selection.provenance
        largest = facts.get("workers", {}).get("largest", facts["plan"]["columns"])
        where = ("threads" if cluster is None else "Ray") if workers > 1 else "one process"
        lines.append(
            f"| {workers} | {where} | {'the same' if same else 'OTHER'} | {reading:.1f} | {np.median(each):.0f} | "
            f"{more:+.0f} | {largest / 1e6:.0f} |"
        )
    return "\n".join([*lines, "", little])


def little_memory(stream: HardStream) -> str:
    """What workers are for: columns that do not fit into the memory of one process."""
    seconds, fits = [], []
    for workers in (1, 2):
        started = time.perf_counter()
        path = stream.path("train", "svm")
        fits.append(th.select(path, workers=workers, memory=_LITTLE, **_HOW))
        seconds.append(time.perf_counter() - started)
    return (
        f"Columns that do not fit: the first {_FEW_ROWS:,} rows with `memory={_LITTLE}` took one process, which reads "
        f"the data in every iteration, {seconds[0]:.1f} s, and\ntwo workers on threads {seconds[1]:.1f} s, with "
        f"{'the same' if _same(*fits) else 'OTHER'} bits."
    )
