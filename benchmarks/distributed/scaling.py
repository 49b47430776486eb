"""Two workers of MISSION against one: processor time of a worker, wall time, and what a round costs.

THRESHER_HARD=PREFIX python -m benchmarks distributed.scaling
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.hard import hard_stream
from benchmarks.harness import python, spread, table

#: How often the rows of the hard stream are read in a pass, and the turns.
COPIES, TURNS = 4, 5
#: The share of the rows after which a fit is steady: models are large, rounds are long.
STEADY = 0.25
WAYS: dict[str, dict[str, object]] = {
    "one process": {},
    "two threads": {"workers": 2},
    "two on Ray": {"workers": 2, "cluster": "ray"},
}
#: A fit that prints, for the steady part of its pass: rows, seconds, rounds, its own processor time and that of actors.
FIT = """
import json, os, sys, time
import thresher as th
from thresher.distributed.run import WorkersRun
from benchmarks.workers import METHODS
settings, steady, files = json.loads(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
rounds, merge = [], WorkersRun._merge
def counted(run, found):
    rounds.append(len(rounds))
    return merge(run, found)
WorkersRun._merge = counted
def actors():
    if "cluster" not in settings:
        return []
    from ray._private import state
    alive = [one["Pid"] for one in state.actors().values() if one["State"] == "ALIVE" and one["Pid"]]
    ticks = [open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[11:13] for pid in sorted(alive)]
    return [sum(map(int, both)) / os.sysconf("SC_CLK_TCK") for both in ticks]
seen = []
def note(progress):
    if not progress.phase and (progress.fraction or 0) >= steady:
        if not seen or progress.rows > seen[-1][0]:
            seen.append((progress.rows, time.perf_counter(), len(rounds), time.process_time(), actors()))
th.select(files, k=1024, passes=1, refit=False, progress=note, **METHODS["mission"], **settings)
first, last = ([each for each in seen if len(each[4]) == len(seen[-2][4])][at] for at in (0, -1))
print(json.dumps([b - a for a, b in zip(first[:4], last[:4])] + [[b - a for a, b in zip(first[4], last[4])]]))
"""


class Steady(NamedTuple):
    """The steady part of a fit, in microseconds a row: wall time, and processor time of its slowest worker."""

    wall: float
    worker: float
    round_ms: float  # wall time of a round beyond the processor time of its slowest worker


def measure(files: list[str], settings: dict[str, object]) -> Steady:
    """One fit in a process of its own."""
    printed = python(FIT, json.dumps(settings), str(STEADY), *files).splitlines()[-1]
    rows, wall, rounds, own, actors = json.loads(printed)
    # Threads take turns at reading and learning: each has its share of the processor time of the process.
    worker = max(actors) if actors else own / int(str(settings.get("workers", 1)))
    return Steady(1e6 * wall / rows, 1e6 * worker / rows, 1e3 * (wall - worker) / rounds if rounds else 0.0)


def run() -> str:
    """The section of the page."""
    stream = hard_stream()
    found: dict[str, list[Steady]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="thresher-scaling-") as folder:
        files = []
        for number in range(COPIES):
            files.append(str(Path(folder) / f"rows{number}.svm"))
            os.symlink(stream.path("train", "svm"), files[-1])
        for _ in range(TURNS):
            for way, settings in WAYS.items():
                found[way].append(measure(files, settings))
    alone = found["one process"]
    lines = []
    for way, fits in found.items():
        shares = [fit.worker / one.worker for fit, one in zip(fits, alone, strict=True)]
        faster = [one.wall / fit.wall for fit, one in zip(fits, alone, strict=True)]
        rounds = f"{statistics.median(fit.round_ms for fit in fits):.0f}" if way != "one process" else ""
        lines.append(
            [way, f"{statistics.median(fit.worker for fit in fits):.2f}", spread(shares), spread(faster), rounds]
        )
    return (
        f"### Two workers of MISSION\n\nThe hard stream {COPIES} times over, k = 1024, one pass, default rounds; from "
        f"{100 * STEADY:.0f}% of the rows on, {TURNS} turns, on {os.cpu_count()} processors. *Worker*: processor time "
        "of the slowest worker for a row of the data, in µs (on threads: that of the process, divided among them), and "
        "divided by that of one process; to reach was 0.6. *Wall*: how many times faster than one process, which reads "
        "and learns at the same time; to reach was 1.25 on threads. *Round*: wall time of a round beyond its worker's "
        "processor time, in ms; to reach was 50 on Ray.\n\n"
        + table(["workers", "worker, µs a row", "worker / one process", "wall, times faster", "round, ms"], lines)
    )
