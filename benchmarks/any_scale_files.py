"""Files with features in very different units: a count, or words, among large numbers (part of `any_scale`)."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import thresher as th
from benchmarks.harness import table

METHODS = ("mission", "b-arda")
#: Passes and refit: the defaults, and one pass alone.
WAYS: dict[str, dict[str, Any]] = {"auto": {}, "1": {"passes": 1, "refit": False}}
#: The rows of the table of counts.
CLICKS, CLICK_SEEDS = 20_000, 3
#: Rows of the sparse files, words in all and in a row, deciding words, and large numbers in all and in a row.
SPARSE_ROWS, WORDS, WORDS_OF_ROW, DECIDING, NUMBERS, NUMBERS_OF_ROW = 20_000, 100_000, 30, 10, 50, 8


def clicks(seeds: Sequence[int]) -> str:
    """The rank of the one informative column of a table, among columns of large numbers."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for method in METHODS:
            cells = []
            for way in WAYS.values():
                found: dict[object, list[int]] = {False: [], "auto": []}
                for seed in seeds:
                    path = _click_log(Path(folder) / "clicks.csv", seed)
                    for standardize, ranks in found.items():
                        fits: dict[str, Any] = {"target": "click", "k": 12, "method": method, **way}
                        names = th.select(path, random_state=seed, standardize=standardize, **fits).names
                        ranks.append(names.index("visits") + 1 if "visits" in names else 13)
                cells += [f"{statistics.mean(ranks):.1f}" for ranks in found.values()]
            lines.append([method, *cells])
    return (
        f"### A count among large numbers\n\nA CSV table of {CLICKS:,} rows: twelve columns of counts, of 1 to 10^6 "
        "on average, and a click that depends on a small one, `visits`. Its mean rank among 12 (13: not found), "
        f"{len(seeds)} seeds, with the defaults and with one pass and no refit; *as it is*: `standardize=False`.\n\n"
        + table(["method", *(f"{kind}, passes {way}" for way in WAYS for kind in ("as it is", "raw"))], lines)
    )


def sparse(seeds: Sequence[int]) -> str:
    """How many deciding words are among the first, in files with a namespace of large numbers."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("vw", "svm"):
            for method in METHODS:
                cells = []
                for way in WAYS.values():
                    found: dict[object, list[int]] = {False: [], "auto": []}
                    for seed in seeds:
                        path, deciding = _words_and_numbers(Path(folder) / f"rows.{kind}", seed)
                        for standardize, hits in found.items():
                            fits: dict[str, Any] = {"k": 100, "method": method, "standardize": standardize, **way}
                            names = th.select(path, random_state=seed, **fits).names
                            hits.append(len(deciding & set(names[:DECIDING])))
                    cells += [f"{statistics.mean(hits):.1f}" for hits in found.values()]
                lines.append([kind, method, *cells])
                print(*lines[-1], file=sys.stderr, flush=True)
    return (
        f"### Words among large numbers\n\nVW and LIBSVM files of {SPARSE_ROWS:,} rows: {WORDS_OF_ROW} of {WORDS:,} "
        f"words, {DECIDING} of which decide the label, and {NUMBERS_OF_ROW} of {NUMBERS} numbers of 10^3 to 10^6, "
        f"which do not. How many of the deciding words are among the first {DECIDING} features of 100, {len(seeds)} "
        "seeds; *as it is*: `standardize=False`.\n\n"
        + table(["file", "method", *(f"{kind}, passes {way}" for way in WAYS for kind in ("as it is", "raw"))], lines)
    )


def _words_and_numbers(path: Path, seed: int) -> tuple[Path, set[str]]:
    """A file with a namespace of large numbers, and the names of the words that decide its labels."""
    random = np.random.default_rng(seed)
    chosen = random.choice(np.arange(1, WORDS + 1), DECIDING, replace=False)
    weights = dict(zip(chosen.tolist(), np.resize([3.0, -3.0], DECIDING), strict=True))
    with path.open("w") as file:
        for _ in range(SPARSE_ROWS):
            words = set(random.integers(1, WORDS + 1, WORDS_OF_ROW).tolist())
            words |= set(chosen[random.random(DECIDING) < 0.1].tolist())
            margin = sum(weights.get(word, 0.0) for word in words)
            label = 1 if random.random() < 1 / (1 + np.exp(-margin)) else -1
            numbers = np.sort(random.choice(NUMBERS, NUMBERS_OF_ROW, replace=False)).tolist()
            values = (10.0 ** random.uniform(3, 6, NUMBERS_OF_ROW)).astype(int).tolist()
            if path.suffix == ".vw":
                large = " ".join(f"n{j}:{value}" for j, value in zip(numbers, values, strict=True))
                file.write(f"{label} |words {' '.join(f'w{word}' for word in sorted(words))} |numbers {large}\n")
            else:
                pairs = [(word, 1) for word in sorted(words)]
                pairs += [(WORDS + 1 + j, value) for j, value in zip(numbers, values, strict=True)]
                file.write(f"{label} {' '.join(f'{j}:{value}' for j, value in pairs)}\n")
    return path, {f"words^w{word}" if path.suffix == ".vw" else str(word) for word in chosen.tolist()}


def _click_log(path: Path, seed: int) -> Path:
    random = np.random.default_rng(seed)
    means = 10.0 ** np.linspace(0, 6, 12)
    counts = random.poisson(means, (CLICKS, 12)) * random.integers(0, 4, (CLICKS, 12))
    click = random.random(CLICKS) < 1 / (1 + np.exp(2.0 - counts[:, 1] / 4))
    names = ["c0", "visits", *(f"c{j}" for j in range(2, 12)), "click"]
    rows = np.column_stack([counts, click]).astype(np.int64)
    np.savetxt(path, rows, fmt="%d", delimiter=",", header=",".join(names), comments="")
    return path
