"""What columns in any unit cost where all features share one: time, memory, and the answer.

THRESHER_DATASETS=FOLDER python -m benchmarks.any_scale_cost [ROWS] [REPEATS] [NAME,NAME]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import thresher as th
from benchmarks.any_scale_files import METHODS
from benchmarks.first_file_defaults import unpacked
from benchmarks.hard import hard_stream
from benchmarks.harness import DATASETS, ratios, spread, table
from benchmarks.which_method import plain

#: Rows of the hard stream, repetitions (each with a seed of its own), features to keep, and the share of test rows.
ROWS, REPEATS, K, HELD = 50_000, 5, 1000, 0.2
NAMES = ("hard stream", "genomes", "news20_ngram", "rcv1_vw1500")
WAYS: tuple[bool | str, ...] = (False, "auto", True)


class Case(NamedTuple):
    """Files, options, and the names of the true features, if they are known."""

    name: str
    files: Any
    options: dict[str, Any]
    true: frozenset[str] = frozenset()


def run(rows: int = ROWS, repeats: int = REPEATS, names: Sequence[str] = NAMES) -> str:
    """A line for every data set and method; nothing without the data."""
    title = "## What units of columns cost"
    if DATASETS not in os.environ:
        return f"{title}\n\n*Not run: `{DATASETS}` names no folder.*"
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder), rows, names):
            for method in METHODS:
                lines.append(_line(case, method, repeats))
                print(*lines[-1], file=sys.stderr, flush=True)
    header = [
        "data",
        "method",
        "auto standardises",
        "time, auto / False",
        "time, True / False",
        "bytes, auto",
        "bytes, True",
    ]
    header += [f"{score}, {way}" for score in ("accuracy", "log loss", "recall") for way in WAYS]
    return (
        f"{title}\n\nData whose features share a unit, learned in one pass without refit, k = {K}, {HELD:.0%} test "
        f"rows; `standardize` is False, auto and True in turns, {repeats} times, each with a seed of its own, after a "
        "fit that is not counted. Time is that of the processor, for reading and learning: median [least - most] of "
        f"the ratios. Bytes are those that the plan has more for each of the {K} kept features. Scores are "
        "means; recall is the share of the 100 true features among the first 100. The hard stream has its first "
        f"{rows:,} rows.\n\n{table(header, lines)}"
    )


def _line(case: Case, method: str, repeats: int) -> list[object]:
    seconds: dict[object, list[float]] = {way: [] for way in WAYS}
    scores: dict[object, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
    bytes_more: dict[object, float] = {}
    decided = False
    th.select(case.files, k=K, method=method, passes=1, refit=False, **case.options)
    for seed in range(repeats):
        for way in WAYS if seed % 2 == 0 else WAYS[::-1]:
            if way is True and "kmer" in case.options:
                continue  # letters have no unit
            options = {"method": method, "standardize": way, "random_state": seed, **case.options}
            begin = time.process_time()
            found = th.select(case.files, k=K, passes=1, refit=False, holdout=HELD, **options)
            seconds[way].append(time.process_time() - begin)
            test, plan = found.provenance["test"], found.provenance["plan"]
            recall = len(case.true & set(found.names[:100])) / max(1, len(case.true))
            scores[way].append((test["accuracy"], test["log_loss"], recall))
            bytes_more[way] = (plan.get("columns", 0) + plan.get("scales", 0)) / K
            decided |= way == "auto" and bool(found.settings["standardize"])
    cells: list[object] = [case.name, method, "yes" if decided else "no"]
    cells += [spread(ratios(seconds[way], seconds[False])) if seconds[way] else "-" for way in WAYS[1:]]
    cells += [f"{bytes_more[way] - bytes_more[False]:.0f}" if way in bytes_more else "-" for way in WAYS[1:]]
    for score in range(3):
        for way in WAYS:
            known = bool(scores[way]) and (score < 2 or bool(case.true))
            cells.append(f"{statistics.mean(one[score] for one in scores[way]):.4f}" if known else "-")
    return cells


def cases(folder: Path, rows: int, names: Sequence[str]) -> Iterator[Case]:
    """The data sets of these names."""
    for name in names:
        if name == "hard stream":
            stream = hard_stream().head(rows, folder, test_rows=1)
            true = frozenset(str(key) for key in stream.truth())
            yield Case(name, stream.path("train", "svm"), {}, true)
        elif name == "genomes":
            folders = Path(os.environ[DATASETS]) / "genomes15"
            files = [plain(folders / f"{one}.fa.xz", folder) for one in ("escherichia_coli", "bacillus_anthracis")]
            yield Case(name, files, {"kmer": 8, "fragments": 200})
        else:
            yield Case(name, unpacked(folder, f"{name}.train.svm"), {})


if __name__ == "__main__":
    numbers = [int(number) for number in sys.argv[1:3]]
    print(run(*(numbers or (ROWS,)), **({"names": sys.argv[3].split(",")} if sys.argv[3:] else {})))
