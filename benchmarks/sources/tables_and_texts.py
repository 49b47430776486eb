"""Tables and texts to rows of named features, against pandas and scikit-learn, on one core.

The table is made here, in the shape of Criteo's click logs. The texts are those of the JSON lines named by the
environment variable THRESHER_TEXTS, in their member ``text``; the figures shown are of 20 newsgroups. Without it
only the table is read.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import python, ratios, spread, table

ROWS = 1_000_000

TABLE_OURS = """
import sys, time, thresher as th
from thresher.core.memory import peak_resident
import pyarrow.csv
started = time.process_time()
features = sum(batch.nnz for batch, _ in th.scan_csv(sys.argv[1], schema="criteo").batches(want_names=True))
print(time.process_time() - started, features, peak_resident() / 2**20)
"""
TABLE_THEIRS = """
import sys, time, pandas as pd
from sklearn.feature_extraction import FeatureHasher
from thresher.core.memory import peak_resident
names = ["label", *(f"I{i}" for i in range(1, 14)), *(f"C{i}" for i in range(1, 27))]
hasher, features = FeatureHasher(2**24, input_type="string"), 0
started = time.process_time()
reading = pd.read_csv(sys.argv[1], sep="\\t", header=None, names=names, dtype=str, chunksize=50_000)
for frame in reading:
    columns = [(f"{name}=" + frame[name]).tolist() for name in names[1:]]
    rows = ([cell for cell in row if cell == cell] for row in zip(*columns))
    features += hasher.transform(rows).nnz
print(time.process_time() - started, features, peak_resident() / 2**20)
"""
TEXT_OURS = """
import sys, time, thresher as th
from thresher.core.memory import peak_resident
from thresher.sources.documents.ngram_encoder import characters
import pyarrow
characters()
source = th.scan_text(sys.argv[1], text="text", words="1-2", counts="count")
started = time.process_time()
tokens = sum(float(b.values.sum()) for b, _ in source.batches(want_names=True, want_labels=False))
print(time.process_time() - started, int(tokens), peak_resident() / 2**20)
"""
TEXT_THEIRS = """
import json, sys, time
from sklearn.feature_extraction.text import HashingVectorizer
from thresher.core.memory import peak_resident
texts = [json.loads(line)["text"] for line in open(sys.argv[1])]
vectorizer = HashingVectorizer(ngram_range=(1, 2), norm=None, alternate_sign=False)
started = time.process_time()
tokens = vectorizer.transform(texts).sum()
print(time.process_time() - started, int(tokens), peak_resident() / 2**20)
"""


def run(repeats: int = 5) -> str:
    """Time the contenders in turns, each in a fresh process pinned to one core."""
    with tempfile.TemporaryDirectory() as folder:
        return f"{_tables(Path(folder), repeats)}\n\n{_texts(Path(folder), repeats)}"


def _tables(folder: Path, repeats: int) -> str:
    path, quarter = folder / "clicks.tsv", folder / "quarter.tsv"
    make_clicks(path, ROWS)
    make_clicks(quarter, ROWS // 4)
    contenders = {
        "thresher `scan_csv`, schema `criteo`, with names": TABLE_OURS,
        "pandas `read_csv`, scikit-learn `FeatureHasher`": TABLE_THEIRS,
    }
    shown, _ = _turns(contenders, str(path), repeats, ROWS, "thousand rows a second", 1e3)
    small, large = (python(TABLE_OURS, str(data), pinned=True).split()[2] for data in (quarter, path))
    size = path.stat().st_size / 2**20
    return "\n".join(
        [
            "## A table of clicks to rows of named features, one core",
            "",
            f"{ROWS:,} rows of tab-separated text, {size:.0f} MB, generated in the shape of Criteo's logs: a label, "
            "13 integers (binned by Thresher, taken as written by scikit-learn) and 26 categories, an eighth of all "
            f"values missing. Processor time including reading the file; medians [least - most] of {repeats} runs.",
            "",
            shown,
            "",
            f"Peak resident memory, including pyarrow: {float(small):.0f} MB with a quarter of the rows, "
            f"{float(large):.0f} MB with all.",
        ]
    )


def _texts(folder: Path, repeats: int) -> str:
    title = "## Texts to rows of named word 1-2-grams, one core"
    given = os.environ.get("THRESHER_TEXTS")
    if given is None or not os.path.isfile(given):
        return f"{title}\n\nNot run: THRESHER_TEXTS names no file of JSON lines."
    path = folder / "texts.jsonl"
    texts, size = _plain(given, path)
    contenders = {
        "thresher `scan_text`, with names, including JSON": TEXT_OURS,
        "scikit-learn `HashingVectorizer`, texts in memory": TEXT_THEIRS,
    }
    shown, tokens = _turns(contenders, str(path), repeats, size, "MB a second", 2**20)
    same = "the same number from both" if len(set(tokens)) == 1 else f"by contender: {tokens}"
    return "\n".join(
        [
            title,
            "",
            f"{texts:,} texts, {size / 2**20:.0f} MB of JSON lines, {tokens[0]:,} n-grams ({same}). Processor time, "
            f"for Thresher including reading the file, for scikit-learn without; medians [least - most] of {repeats} "
            "runs.",
            "",
            shown,
        ]
    )


def _turns(
    contenders: dict[str, str], data: str, repeats: int, amount: float, what: str, unit: float
) -> tuple[str, list[int]]:
    """A table of rates, ours first, and how many features each contender made."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    features: dict[str, int] = {}
    for _ in range(repeats):
        for name, code in contenders.items():
            took, made, _ = python(code, data, pinned=True).split()
            seconds[name].append(float(took))
            features[name] = int(made)
    theirs = list(seconds.values())[-1]
    rows = [
        [
            name,
            spread([amount / unit / s for s in took], 1),
            f"{1e9 * statistics.median(took) / features[name]:.0f}",
            spread(ratios(theirs, took), 1),
        ]
        for name, took in seconds.items()
    ]
    return table(["by", what, "ns a feature", "times as fast"], rows), list(features.values())


def make_clicks(path: Path, rows: int, seed: int = 0) -> None:
    """Rows in the shape of Criteo's logs: heavy-tailed counts, and categories of very different numbers of values."""
    rng = np.random.default_rng(seed)
    columns = np.arange(26)
    spaces = np.geomspace(10, 10_000_000, 26)
    with open(path, "w") as file:
        for begin in range(0, rows, 10_000):
            n = min(10_000, rows - begin)
            counts = (rng.pareto(0.6, (n, 13)) * 3).clip(0, 2**31).astype(np.int64)
            values = (spaces ** rng.random((n, 26))).astype(np.uint64)  # small numbers far more often than large ones
            codes = (values * np.uint64(2654435761) + columns.astype(np.uint64) * np.uint64(97)) & np.uint64(0xFFFFFFFF)
            cells = np.concatenate(
                [counts.astype(str).astype(object), np.vectorize("{:08x}".format, otypes=[object])(codes)], axis=1
            )
            cells[rng.random((n, 39)) < 0.125] = ""
            labels = (rng.random(n) < 0.25).astype(int).astype(str)
            file.writelines(f"{label}\t" + "\t".join(row) + "\n" for label, row in zip(labels, cells, strict=True))


def _plain(given: str, path: Path) -> tuple[int, int]:
    """The texts as plain JSON lines; how many there are, and their bytes."""
    from thresher.sources.files.paths import Stream

    with Stream(given, window_limit=1 << 30) as stream, open(path, "wb") as file:
        piece = bytearray(1 << 20)
        while n := stream.readinto(memoryview(piece)):
            file.write(piece[:n])
    with open(path, "rb") as file:
        texts = sum(1 for _ in file)
    return texts, path.stat().st_size


if __name__ == "__main__":
    print(run())
