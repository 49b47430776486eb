"""Which method: all families with their default settings on data of several kinds of users, and the race of `auto`.

THRESHER_DATASETS=FOLDER python -m benchmarks.which_method [SEEDS]
"""

from __future__ import annotations

import lzma
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import thresher as th
from benchmarks.hard import write_hard
from benchmarks.harness import DATASETS, table
from benchmarks.l1_and_chi2 import unpacked
from thresher.errors import ThresherError

METHODS = ("mission", "b-arda", "os", "fgm", "sparse-rf")
SEEDS, HELD, ROWS = 3, 0.2, 100_000
#: A method that takes longer than this on one seed is not run on further ones.
PATIENCE = 60.0


class Case(NamedTuple):
    """Data of a kind of user, with the arguments of `thresher.select`."""

    user: str
    name: str
    data: tuple[Any, ...]
    options: dict[str, Any]
    dense: bool = False


def run(seeds: int = SEEDS) -> str:
    """The table; nothing without the data."""
    title = "## Which method"
    if DATASETS not in os.environ:
        return f"{title}\n\n*Not run: `{DATASETS}` names no folder.*"
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder)):
            methods = METHODS if case.dense else METHODS[:-1]
            cells = [_cell(case, method, seeds) for method in methods] + ["-"] * (len(METHODS) - len(methods))
            lines.append([case.user, case.name, case.options["k"], *cells, _cell(case, "auto", seeds)])
            print(*lines[-1], sep=" | ", file=sys.stderr, flush=True)
    return (
        f"{title}\n\nAll families with their default settings: accuracy on held-out rows (for numbers R²), and seconds "
        f"for the whole command; medians of {seeds} seeds, each with other held-out rows ({HELD:.0%}). `sparse-rf` is "
        "for tables: its k are functions of all columns. *auto*: the methods that won the race on a sample, the score, "
        "and seconds with the race. Both processors of this machine are free for every fit.\n\n"
        + table(["for", "data", "k", *METHODS, "auto"], lines)
    )


def _cell(case: Case, method: str, seeds: int) -> str:
    scores, seconds, chosen = [], [], []
    for seed in range(seeds):
        begin = time.perf_counter()
        try:
            found = th.select(*case.data, method=method, holdout=HELD, random_state=seed, **case.options)
        except ThresherError as error:
            print(case.name, method, error, file=sys.stderr)
            return "refused"
        seconds.append(time.perf_counter() - begin)
        test = found.provenance["test"]
        scores.append(test["accuracy"] if "accuracy" in test else test["r2"])
        chosen.append(str(found.settings["method"]))
        if seconds[-1] > PATIENCE:
            break
    names = f"{', '.join(sorted(set(chosen)))}: " if method == "auto" else ""
    return f"{names}{statistics.median(scores):.3f}, {statistics.median(seconds):.1f} s"


def cases(folder: Path) -> Iterator[Case]:
    """Click logs, texts, k-mers, wide tables and small tables."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_svmlight_file

    data = Path(os.environ[DATASETS])
    yield Case(
        "click logs",
        "hard stream, 100,000 rows",
        (write_hard(folder / "hard", rows=ROWS).path("train", "vw"),),
        {"k": 100},
    )
    criteo = plain(data / "criteo_kaggle_tiny.tsv.xz", folder)
    yield Case("click logs", "criteo_kaggle_tiny", (criteo,), {"k": 100, "schema": "criteo"})
    yield Case("texts", "reuters_acq", (unpacked(folder, "reuters_acq.train.svm"),), {"k": 100})
    yield Case("texts", "farm_ads", (unpacked(folder, "farm_ads.train.svm"),), {"k": 100})
    genomes = [
        plain(data / "genomes15" / f"{name}.fa.xz", folder) for name in ("escherichia_coli", "bacillus_anthracis")
    ]
    yield Case("k-mers", "two genomes, 8-mers", (genomes,), {"k": 100, "kmer": 8, "fragments": 200})
    for name in ("gisette_valid1000", "arcene", "allaml"):
        x, y = load_svmlight_file(str(unpacked(folder, f"{name}.train.svm")))
        yield Case("wide tables", f"{name}, {x.shape[1]:,} columns", (x.toarray(), y), {"k": 50})
    yield Case("tables", "breast_cancer", load_breast_cancer(return_X_y=True), {"k": 10}, dense=True)
    x, y = load_svmlight_file(str(unpacked(folder, "cod_rna.train.svm")))
    yield Case("tables", "cod_rna", (x.toarray(), y), {"k": 8}, dense=True)
    yield Case("numbers", "diabetes", load_diabetes(return_X_y=True), {"k": 5}, dense=True)
    with np.load(data / "cpu_act.npz") as found:
        yield Case("numbers", "cpu_act", (found["X"], found["y"]), {"k": 10, "task": "numbers"}, dense=True)


def plain(path: Path, folder: Path) -> Path:
    """A file, decompressed into a folder."""
    plain = folder / path.stem
    plain.write_bytes(lzma.decompress(path.read_bytes()))
    return plain


if __name__ == "__main__":
    print(run(int((sys.argv[1:2] or [SEEDS])[0])))
