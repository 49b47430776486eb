"""VW text to batches with names, against Vowpal Wabbit reading the same file without learning (--noop)."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.data import write_zipf
from benchmarks.harness import python, ratios, spread, table

OURS = """
import sys, thresher as th
rows = sum(len(batch) for batch, _ in th.scan_vw(sys.argv[1]).batches(want_names=True))
assert rows > 0
"""


def _ours(path: Path) -> float:
    started = time.perf_counter()
    python(OURS, str(path), pinned=True)
    return time.perf_counter() - started


def _vw(path: Path) -> float:
    command = (
        "import os, sys; from benchmarks.harness import one_core; one_core(); "
        "os.execv(sys.executable, [sys.executable, '-m', 'vowpalwabbit', '--noop', '--quiet', '-d', sys.argv[1]])"
    )
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", command, str(path)], capture_output=True, check=True)
    return time.perf_counter() - started


def run(rows: int = 50_000, repeats: int = 5) -> str:
    """Time whole processes on one core, and the same less what a ten-row file takes."""
    with tempfile.TemporaryDirectory() as folder:
        _, path = write_zipf(Path(folder), rows)
        _, ten = write_zipf(Path(folder), 10)
        size = path.stat().st_size / 2**20
        whole: dict[str, list[float]] = {"thresher": [], "vw": []}
        net: dict[str, list[float]] = {"thresher": [], "vw": []}
        for _ in range(repeats):
            for name, read in (("thresher", _ours), ("vw", _vw)):
                idle, busy = read(ten), read(path)
                whole[name].append(busy)
                net[name].append(busy - idle)
    return "\n".join(
        [
            "## VW text to batches with names, one core",
            "",
            f"{rows} rows, {size:.0f} MB; Thresher hands out every name, `vw --noop` only parses. Reading time is the "
            f"whole process minus the same on ten rows; medians [least - most] of {repeats} runs.",
            "",
            table(
                ["reader", "reading, s", "MB/s", "whole process, s"],
                [
                    [title, spread(net[name], 3), f"{size / statistics.median(net[name]):.0f}", spread(whole[name], 3)]
                    for name, title in (
                        ("thresher", "thresher `scan_vw`, with names"),
                        ("vw", "Vowpal Wabbit `--noop`"),
                    )
                ],
            ),
            "",
            f"Times faster: reading {spread(ratios(net['vw'], net['thresher']), 1)}, "
            f"whole process {spread(ratios(whole['vw'], whole['thresher']), 1)}.",
        ]
    )
