"""A first file, as people have them: its rows in any order, read with the defaults."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import thresher as th
from benchmarks.harness import DATASETS, table
from thresher.selection.scoring import evaluate

#: Data sets of two classes, features to keep, and random seeds that accuracies are means over.
SETS = ("news20_ngram", "farm_ads", "reuters_acq")
K = 500
SEEDS = 10
METHODS = ("mission", "b-arda")
#: Texts of 20 classes.
NEWS, NEWS_K = "20news_bydate", 2000


def run(seeds: int = SEEDS) -> str:
    """The table of sorted and shuffled files; nothing without the data."""
    if DATASETS not in os.environ:
        return f"## The first file\n\n*Not run: `{DATASETS}` names no folder.*"
    with tempfile.TemporaryDirectory() as folder:
        return "## The first file\n\n" + any_order(Path(folder), range(seeds))


def any_order(folder: Path, seeds: Sequence[int]) -> str:
    """Accuracies and times with rows shuffled, sorted by class, and sorted and compressed."""
    lines = []
    for name in SETS:
        files = sorted_files(folder, name)
        for method in METHODS:
            found = {
                order: _scores(path, files["test"], seeds, method=method, k=K)
                for order, path in files.items()
                if order != "test"
            }
            lines.append([name, method, *_cells(found)])
    files = _news(folder)
    options = {"method": "mission", "k": NEWS_K, "loss": "softmax", "text": "text", "target": "group"}
    found = {order: _scores(path, files["test"], seeds, **options) for order, path in files.items() if order != "test"}
    lines.append([NEWS, "mission", *_cells(found)])
    header = ["data", "method", "shuffled", "sorted", "sorted, gzip", "seconds, shuffled", "sorted", "sorted, gzip"]
    return (
        "### Rows in any order\n\nThe same rows shuffled before they are written, sorted by class, and sorted by class "
        f"in a gzip file, which cannot be read out of order. One pass with the default memory, k = {K} "
        f"({NEWS_K} for the 20 classes of {NEWS}); accuracy on the test rows and its standard error, and seconds of "
        f"`th.select`, means of {len(seeds)} seeds.\n\n" + table(header, lines)
    )


def _scores(train: Path, test: Path, seeds: Sequence[int], **options: Any) -> list[tuple[float, float]]:
    """The test accuracy and the seconds of each seed."""
    found = []
    for seed in seeds:
        started = time.perf_counter()
        selection = th.select(train, passes=1, refit=False, random_state=seed, **options)
        seconds = time.perf_counter() - started
        reading = {name: options[name] for name in ("text", "target") if name in options}
        held = th.scan(test) if not reading else th.scan_text(test, **reading)
        found.append((float(evaluate(selection, held)["accuracy"]), seconds))
    return found


def _cells(found: dict[str, list[tuple[float, float]]]) -> list[str]:
    accuracies = [[accuracy for accuracy, _ in scores] for scores in found.values()]
    seconds = [statistics.mean(seconds for _, seconds in scores) for scores in found.values()]
    errors = [statistics.stdev(some) / len(some) ** 0.5 if len(some) > 1 else 0.0 for some in accuracies]
    return [
        *(f"{statistics.mean(some):.3f} ± {error:.3f}" for some, error in zip(accuracies, errors, strict=True)),
        *(f"{mean:.2f}" for mean in seconds),
    ]


def sorted_files(folder: Path, name: str) -> dict[str, Path]:
    """The training lines in three files, and the test lines."""
    lines = _lines(f"{name}.train.svm.xz")
    test = folder / f"{name}.test.svm"
    test.write_bytes(b"".join(_lines(f"{name}.test.svm.xz")))
    return {**_written(folder, name, ".svm", lines, lambda line: float(line.split(maxsplit=1)[0])), "test": test}


def _news(folder: Path) -> dict[str, Path]:
    lines: dict[str, list[bytes]] = {"train": [], "test": []}
    for line in _lines(f"{NEWS}.jsonl.xz"):
        lines[json.loads(line)["split"]].append(line)
    test = folder / f"{NEWS}.test.jsonl"
    test.write_bytes(b"".join(lines["test"]))
    written = _written(folder, NEWS, ".jsonl", lines["train"], lambda line: json.loads(line)["group"])
    return {**written, "test": test}


def _lines(name: str) -> list[bytes]:
    with lzma.open(Path(os.environ[DATASETS]) / name) as file:
        return file.read().splitlines(keepends=True)


def _written(folder: Path, name: str, ending: str, lines: list[bytes], label: Any) -> dict[str, Path]:
    random.Random(0).shuffle(lines)
    shuffled, in_order = b"".join(lines), b"".join(sorted(lines, key=label))
    files = {order: folder / f"{name}.{order}{ending}" for order in ("shuffled", "sorted")}
    files["shuffled"].write_bytes(shuffled)
    files["sorted"].write_bytes(in_order)
    files["sorted, gzip"] = folder / f"{name}.sorted{ending}.gz"
    files["sorted, gzip"].write_bytes(gzip.compress(in_order, 6))
    return files
