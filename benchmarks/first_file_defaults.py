"""A first file, passes and refit chosen by the fit: against set numbers of passes, and what people would use instead.

THRESHER_DATASETS=FOLDER python -m benchmarks.first_file_defaults [passes | baselines] [SEEDS]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import thresher as th
from benchmarks.harness import DATASETS, table
from benchmarks.l1_and_chi2 import L1Path, chi2_columns, matrices, searched, unpacked
from thresher.selection.scoring import evaluate

METHODS = ("mission", "b-arda")
#: Data sets whose number of passes is compared, features to keep, and the passes that are tried.
PASSES_SETS = ("basehock", "pcmac", "dexter", "farm_ads", "arcene", "reuters_acq", "sms_spam", "news20_ngram")
PASSES_K, TRIED, PASSES_SEEDS = 500, (1, 2, 5, 10, 20), 10
#: Data sets and numbers of features that are compared with scikit-learn.
SETS = ("basehock", "pcmac", "dexter", "farm_ads", "reuters_acq", "news20_ngram")
SIZES, SEEDS = (50, 200, 500), 5


def run(passes_seeds: int = PASSES_SEEDS, seeds: int = SEEDS) -> str:
    """Both tables; nothing without the data."""
    if DATASETS not in os.environ:
        return f"## The first file, passes and refit chosen\n\n*Not run: `{DATASETS}` names no folder.*"
    return "\n\n".join(
        ["## The first file, passes and refit chosen", passes(range(passes_seeds)), baselines(range(seeds))]
    )


def passes(seeds: Sequence[int]) -> str:
    """The test accuracy of a chosen number of passes beside that of set numbers."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name in PASSES_SETS:
            train, test, reading = files(Path(folder), name)
            for method in METHODS:
                ways = {str(n): {"passes": n} for n in TRIED} | {"auto": {"passes": "auto"}}
                shared = {"k": PASSES_K, "method": method, "refit": False, **reading}
                found = {
                    way: [
                        accuracy(th.select(train, random_state=s, **shared, **options), test, **reading) for s in seeds
                    ]
                    for way, options in ways.items()
                }
                lines.append([name, method, *(f"{statistics.mean(scores):.3f}" for scores in found.values())])
                print(*lines[-1], file=sys.stderr, flush=True)
    return (
        f"### As many passes as help\n\nTest accuracy, k = {PASSES_K}, no refit, means of {len(seeds)} seeds.\n\n"
        + table(["data", "method", *(f"{n} passes" for n in TRIED), "auto"], lines)
    )


def baselines(seeds: Sequence[int]) -> str:
    """The test accuracy of ours, of an l1 logistic regression and of chi², with as many features."""
    lines, near_l1, near_chi2, cells = [], 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            train, test = (unpacked(Path(folder), f"{name}.{part}.svm") for part in ("train", "test"))
            x, y, held, held_y = matrices(train, test)
            path = L1Path(x, y)
            for k in SIZES:
                l1, chi2 = (
                    searched(x[:, columns], y, held[:, columns], held_y)
                    for columns in (path.largest(k)[0], chi2_columns(x, y, k))
                )
                row: list[object] = [name, k, f"{l1:.4f}", f"{chi2:.4f}"]
                for method in METHODS:
                    scores = [accuracy(th.select(train, k=k, method=method, random_state=s), test) for s in seeds]
                    mean = statistics.mean(scores)
                    cells += 1
                    near_l1 += mean >= l1 - 0.005
                    near_chi2 += mean >= chi2 - 0.01
                    row.append(f"{mean:.4f}")
                lines.append(row)
                print(*row, file=sys.stderr, flush=True)
    return (
        "### Against what people use\n\nTest accuracy with all defaults, means of "
        f"{len(seeds)} seeds, beside scikit-learn's l1 logistic regression (the fit with most non-zeros not above k, "
        "refitted with l2, C searched by cross-validation) and the k best features by chi² with an l2 logistic "
        "regression (C likewise). "
        f"At or within .005 of the l1 in {near_l1} of {cells} cells, within .01 of chi² in {near_chi2}.\n\n"
        + table(["data", "k", "l1", "chi²", *METHODS], lines)
    )


def accuracy(selection: th.Selection, test: Path, **reading: str) -> float:
    """The test accuracy."""
    return float(evaluate(selection, th.scan(test, **reading))["accuracy"])


def files(folder: Path, name: str) -> tuple[Path, Path, dict[str, str]]:
    """Training rows, test rows, and the options to read them."""
    if name != "sms_spam":
        return unpacked(folder, f"{name}.train.svm"), unpacked(folder, f"{name}.test.svm"), {}
    lines = unpacked(folder, "sms_spam.tsv").read_text().splitlines(keepends=True)
    order = np.random.default_rng(0).permutation(len(lines))
    cut = round(0.7 * len(lines))
    for part, rows in (("train", order[:cut]), ("test", order[cut:])):
        (folder / f"sms.{part}.tsv").write_text("label\ttext\n" + "".join(lines[row] for row in rows))
    return folder / "sms.train.tsv", folder / "sms.test.tsv", {"target": "label", "text": "text", "quote": ""}


if __name__ == "__main__":
    which, *count = sys.argv[1:] or ["all"]
    number = int(count[0]) if count else None
    if which == "passes":
        print(passes(range(number or PASSES_SEEDS)))
    elif which == "baselines":
        print(baselines(range(number or SEEDS)))
    else:
        print(run())
