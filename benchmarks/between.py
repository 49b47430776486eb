"""Two checkouts of Thresher in turns on the same data: ``python -m benchmarks.between OLD/src NEW/src [repeats]``.

Both need a built native module. Each task is a process of its own that prints its seconds of work, without the start of
the program: a few rows come first, so that all modules are loaded. The tasks use only names that stayed the same for
long, so that old checkouts run them.
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.hard import hard_stream
from benchmarks.harness import ratios, spread, table

#: Imports the package of a checkout. One that is installed to be edited would come before PYTHONPATH.
CHECKOUT = """
import os, sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
import thresher as th
from thresher import _native
for module in (th, _native):
    assert module.__file__.startswith(os.environ["PYTHONPATH"]), module.__file__
"""
TIMED = """{checkout}
import time, warnings
import numpy as np
warnings.simplefilter("ignore")
def task(svm, vw, rows):
    {task}
{prepare}
task(*sys.argv[1:3], 200)
started = time.perf_counter()
task(*sys.argv[3:], None)
print(time.perf_counter() - started)
"""
KERNEL_DATA = """
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 10))
y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
"""
# One pass and no fit after it, and settings as they were before defaults were chosen by held-out rows; checkouts of
# before the rooms have no such settings.
ONCE = """
import importlib.util
rooms = importlib.util.find_spec("thresher.fgm") is not None
once = {"passes": 1, "refit": False} if rooms else {"passes": 1}
"""
FIXED = """
import importlib.util
rooms = importlib.util.find_spec("thresher.fgm") is not None
fixed = {"preset": "fixed"} if rooms else {}
raw = {"scale": None, "draws": 100} if rooms else {}
"""
#: What is done before the clock starts, and what is timed.
TASKS = {
    "parse LIBSVM": ("", "sum(batch.nnz for batch, _ in th.scan_libsvm(svm).batches())"),
    "parse VW text, with names": ("", "sum(batch.nnz for batch, _ in th.scan_vw(vw).batches(want_names=True))"),
    "mission": (ONCE, "th.select(svm, k=16_383, sketch=(1, 786_432), **once)"),
    "mission, VW text": (ONCE, "th.select(vw, k=16_383, sketch=(1, 786_432), **once)"),
    "b-arda": (ONCE, "th.select(svm, k=1000, method='b-arda', **once)"),
    "fgm": (FIXED, "th.select(svm, k=80, method='fgm', **fixed)"),
    "sparse-rf": (
        KERNEL_DATA + FIXED,
        "th.select(X[:rows], y[:rows], k=100, method='sparse-rf', loss='squared', gamma=0.1, lam=1.0, **raw)",
    ),
}


def seconds_of(checkout: str, task: str, files: list[str]) -> float:
    """The seconds of one task with the package of one checkout."""
    prepare, timed = TASKS[task]
    environment = {**os.environ, "PYTHONPATH": checkout}
    code = TIMED.format(checkout=CHECKOUT, prepare=prepare, task=timed)
    done = subprocess.run(
        [sys.executable, "-c", code, *files], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def run(old: str, new: str, *, rows: int = 400_000, repeats: int = 9) -> str:
    """Time every task with both checkouts in turns; the order within a turn alternates."""
    seconds = {task: {old: list[float](), new: list[float]()} for task in TASKS}
    with tempfile.TemporaryDirectory() as folder:
        stream = hard_stream().head(rows, folder)
        files = [str(stream.path("train", form)) for form in ("svm", "vw")]
        files = _few_rows(files, folder) + files
        for turn in range(repeats):
            for task, of in seconds.items():
                for checkout in (old, new) if turn % 2 == 0 else (new, old):
                    of[checkout].append(seconds_of(checkout, task, files))
    lines = [
        [task, spread(of[old], 3), spread(of[new], 3), f"{min(of[new]) / min(of[old]):.3f}", _ratio(of[new], of[old])]
        for task, of in seconds.items()
    ]
    return table(["task", "old, seconds", "new, seconds", "new / old, least", "new / old, median of turns"], lines)


def _few_rows(files: list[str], folder: str) -> list[str]:
    """The first lines of files, as files."""
    few = [str(Path(folder) / f"few{Path(name).suffix}") for name in files]
    for name, short in zip(files, few, strict=True):
        with open(name) as whole, open(short, "w") as file:
            file.writelines(itertools.islice(whole, 1000))
    return few


def _ratio(new: list[float], old: list[float]) -> str:
    return f"{statistics.median(ratios(new, old)):.3f}"


if __name__ == "__main__":
    paths = [str(Path(path).resolve()) for path in sys.argv[1:3]]
    print(run(*paths, repeats=int(sys.argv[3]) if len(sys.argv) > 3 else 9))
