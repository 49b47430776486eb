"""Figure 3: running time of Asy-OS."""

from __future__ import annotations

import os
import statistics

from benchmarks.harness import table
from benchmarks.papers.mission.figures import beside, figure, save
from benchmarks.papers.os.asynchronous import curve, data_of, time_to

WORKERS = (1, 2, 4, 8)
REPEATS = int(os.environ.get("THRESHER_REPEATS", "10"))


def run() -> str:
    """Error against time, and the time to a set error."""
    parts = [
        "## Figure 3: running time of Asy-OS",
        "The paper: the error falls faster with more workers, up to 8 on a network of machines. Here workers are "
        f"threads of one machine with {os.cpu_count()} cores, so more workers than that cannot help. n = 1,000, p = "
        "8,192; η = 0.3 and m = 1 for all; the error is read from the central state. Features held by no worker form "
        "a pool, from which workers draw. If features were bound to workers, a worker without free places would lose "
        "good features, and many workers would end at a higher error. Times are medians to an error a tenth above "
        "the lowest that all reach.",
    ]
    for classes in (False, True):
        data, s = data_of(classes)
        what = "training error (classes)" if classes else "fitting error"
        runs = {workers: [curve(data, s, workers) for _ in range(min(REPEATS, 5))] for workers in WORKERS}
        fig, ax = figure("seconds", what, f"Asy-OS, s = {s}: {what}")
        for workers, curves in runs.items():
            best = min(curves, key=lambda points: points[-1][0])
            ax.plot([t for t, _ in best], [error for _, error in best], marker=".", label=f"{workers} workers")
        beside(fig)
        picture = save(fig, f"os-figure3-{'classes' if classes else 'numbers'}")
        wanted = max(min(error for _, error in points) for curves in runs.values() for points in curves) * 1.1
        seconds = {w: statistics.median(time_to(points, wanted) for points in curves) for w, curves in runs.items()}
        lines = [[w, f"{t:.2f}", f"{seconds[1] / t:.2f}"] for w, t in seconds.items()]
        parts += [picture, f"To {what} {wanted:.3f}:", table(["workers", "seconds", "speedup"], lines)]
    return "\n\n".join(parts)
