"""LIBSVM text to batches, against scikit-learn's reader, on one core; and memory against the size of the file."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

from benchmarks.data import write_zipf
from benchmarks.harness import python, ratios, spread, table

OURS = """
import sys, time, thresher as th
from thresher.core.memory import peak_resident
source = th.scan_libsvm(sys.argv[1])
started = time.perf_counter()
nnz = sum(batch.nnz for batch, _ in source.batches())
print(time.perf_counter() - started, nnz, peak_resident())
"""
THEIRS = """
import sys, time
from sklearn.datasets import load_svmlight_file
from thresher.core.memory import peak_resident
started = time.perf_counter()
x, _ = load_svmlight_file(sys.argv[1])
print(time.perf_counter() - started, x.nnz, peak_resident())
"""


def run(rows: int = 200_000, repeats: int = 5) -> str:
    """Time both readers in turns, each in a fresh process pinned to one core."""
    with tempfile.TemporaryDirectory() as folder:
        path, _ = write_zipf(Path(folder), rows)
        size = path.stat().st_size
        seconds: dict[str, list[float]] = {"thresher": [], "scikit-learn": []}
        nnz = set()
        for _ in range(repeats):
            for name, code in (("thresher", OURS), ("scikit-learn", THEIRS)):
                took, count, _ = python(code, str(path), pinned=True).split()
                seconds[name].append(float(took))
                nnz.add(int(count))
        assert len(nnz) == 1, "the readers disagree"
        large = Path(folder) / "large.svm"
        with open(large, "wb") as out:
            for _ in range(8):
                with open(path, "rb") as once:
                    shutil.copyfileobj(once, out)
        peaks = [int(python(OURS, str(p), pinned=True).split()[2]) for p in (path, large)]
    times = ratios(seconds["scikit-learn"], seconds["thresher"])
    rate = {name: size / 2**20 / statistics.median(values) for name, values in seconds.items()}
    return "\n".join(
        [
            "## LIBSVM text to batches, one core",
            "",
            f"{rows} rows, {nnz.pop()} non-zeros, {size / 2**20:.0f} MB of text; medians [least - most] of {repeats} "
            "runs.",
            "",
            table(
                ["reader", "seconds", "MB/s", "times scikit-learn"],
                [
                    [
                        "thresher `scan_libsvm`",
                        spread(seconds["thresher"], 3),
                        f"{rate['thresher']:.0f}",
                        spread(times, 1),
                    ],
                    [
                        "scikit-learn `load_svmlight_file`",
                        spread(seconds["scikit-learn"], 3),
                        f"{rate['scikit-learn']:.0f}",
                        "1",
                    ],
                ],
            ),
            "",
            f"Peak resident memory of the process: {peaks[0] / 2**20:.1f} MB for the file, "
            f"{peaks[1] / 2**20:.1f} MB for eight times the file.",
        ]
    )
