"""Timing in turns, and tables."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

#: The variable that names the folder with NAME.train.svm and NAME.test.svm, compressed or not.
DATASETS = "THRESHER_DATASETS"
#: What the papers' online methods do: one pass over all rows, and no fit after it.
ONE_PASS = ("--passes", "1", "--no-refit")


def interleaved(
    contenders: Mapping[str, Callable[[], object]],
    repeats: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each contender, run in turns so that a slow spell hits all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, run in contenders.items():
            started = clock()
            run()
            seconds[name].append(clock() - started)
    return seconds


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A markdown table."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (header, ["---"] * len(header), *rows)]
    return "\n".join(lines)


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Median, least and most."""
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f} - {max(values):.{digits}f}]"


def ratios(slow: Sequence[float], fast: Sequence[float]) -> list[float]:
    """How many times faster, turn by turn."""
    return [a / b for a, b in zip(slow, fast, strict=True)]


def one_core() -> None:
    """Keep this process, and what it starts, on one core where the system lets us."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def python(code: str, *args: str, pinned: bool = False) -> str:
    """Run Python code in a process of its own; what it printed."""
    prepare = "from benchmarks.harness import one_core; one_core()\n" if pinned else ""
    done = subprocess.run([sys.executable, "-c", prepare + code, *args], capture_output=True, text=True, check=True)
    return done.stdout


def machine() -> str:
    """What this was run on."""
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            cpu = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    import numpy
    import sklearn

    return (
        f"Machine: {cpu}, {os.cpu_count()} cores, {platform.system()}; Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, scikit-learn {sklearn.__version__}."
    )
