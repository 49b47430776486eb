"""Two checkouts of Thresher on the hard stream and on sorted files: what they find, how fast, and in how much memory.

THRESHER_DATASETS=FOLDER python -m benchmarks.between_answers OLD/src NEW/src [repeats]

Both need a built native module. Each fit is a process of its own: one pass and no refit, otherwise the defaults. The
checkouts take turns. The sorted files are those of ``benchmarks.first_file``.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.between import CHECKOUT, ONCE
from benchmarks.first_file import METHODS, SETS, K, sorted_files
from benchmarks.hard import hard_stream
from benchmarks.harness import DATASETS, ratios, table

FIT = f"""{CHECKOUT}
import json, resource, time, warnings
warnings.simplefilter("ignore")
{ONCE}
train, test, method, k, seed = sys.argv[1:]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.perf_counter()
selection = th.select(train, k=int(k), method=method, random_state=int(seed), **once)
seconds = time.perf_counter() - started
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
try:
    from thresher.selection.scoring import evaluate
except ImportError:  # a checkout of before the rooms
    from thresher.selection import evaluate
scores = evaluate(selection, th.scan(test))
print(json.dumps(dict(seconds=seconds, grown=grown, keys=selection.keys.tolist()[:1000], accuracy=scores["accuracy"],
                      loss=scores["log_loss"] if "log_loss" in scores else scores["loss"])))
"""
#: Features to keep of the hard stream.
HARD_K = 1000
Found = dict[str, list[dict[str, Any]]]


def fit(checkout: str, train: Path, test: Path, method: str, k: int, seed: int) -> dict[str, Any]:
    """One fit by one checkout."""
    arguments = [str(train), str(test), method, str(k), str(seed)]
    environment = {**os.environ, "PYTHONPATH": checkout}
    done = subprocess.run(
        [sys.executable, "-c", FIT, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def in_turns(old: str, new: str, repeats: int, *arguments: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Fits of both checkouts with the seeds 0, 1, …; the order within a turn alternates."""
    found: Found = {old: [], new: []}
    for seed in range(repeats):
        for checkout in (old, new) if seed % 2 == 0 else (new, old):
            found[checkout].append(fit(checkout, *arguments, seed))
    return found[old], found[new]


def hard(old: str, new: str, repeats: int) -> str:
    """True features found on the hard stream, its log loss, memory and time."""
    stream, lines = hard_stream(), []
    true = set(stream.truth())
    for method in METHODS:
        both = in_turns(old, new, repeats, stream.path("train", "svm"), stream.path("test", "svm"), method, HARD_K)
        for name, fits in zip(("old", "new"), both, strict=True):
            recall = [
                statistics.mean(len(true.intersection(found["keys"][:n])) / len(true) for found in fits)
                for n in (100, 1000)
            ]
            lines.append([method, name, *(f"{share:.3f}" for share in recall), *_means(fits), ""])
        lines[-1][-1] = _ratio(*both)
    header = ["method", "checkout", "R@100", "R@1000", "accuracy", "log loss", "MB", "seconds", "new / old"]
    return "### The hard stream\n\n" + table(header, lines)


def _means(fits: list[dict[str, Any]]) -> Iterator[str]:
    for what, digits in (("accuracy", 4), ("loss", 4), ("grown", 1), ("seconds", 3)):
        yield f"{statistics.mean(found[what] for found in fits):.{digits}f}"


def _ratio(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> str:
    seconds = [[found["seconds"] for found in fits] for fits in (new, old)]
    return f"{statistics.median(ratios(*seconds)):.3f}"


def in_order(old: str, new: str, repeats: int) -> str:
    """Accuracy and time of files sorted by class, plain and compressed."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            files = sorted_files(Path(folder), name)
            for method in METHODS:
                for order in ("sorted", "sorted, gzip"):
                    both = in_turns(old, new, repeats, files[order], files["test"], method, K)
                    cells = [
                        f"{statistics.mean(found[what] for found in fits):.3f}"
                        for what in ("accuracy", "seconds")
                        for fits in both
                    ]
                    lines.append([name, method, order, *cells, _ratio(*both)])
                    print(*lines[-1], file=sys.stderr, flush=True)
    header = ["data", "method", "file", "accuracy, old", "new", "seconds, old", "new", "new / old"]
    return "### Files sorted by class\n\n" + table(header, lines)


if __name__ == "__main__":
    paths = [str(Path(path).resolve()) for path in sys.argv[1:3]]
    number = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    print(hard(*paths, number))
    if DATASETS in os.environ:
        print("\n" + in_order(*paths, number))
