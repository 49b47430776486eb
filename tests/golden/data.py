"""Small data sets of integer arithmetic: the same bits on every machine and with every version of NumPy.

All values are multiples of 1/8, so every text format holds them exactly.
"""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

CLASSES = np.array(["ant", "bee", "cow"])
WORDS = ("bad", "bright", "dull", "good", "grey", "slow", "Große", "warm", "new", "old", "the", "and")
CITIES = ("Bern", "Graz", "Köln", "Rome")


def integers(seed: int, high: int, *shape: int) -> NDArray[np.int64]:
    """Pseudo-random whole numbers below ``high``: SplitMix64 of a counter."""
    z = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64) + np.uint64(seed << 32)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z >> np.uint64(33)) % np.uint64(high)).astype(np.int64).reshape(shape)


def eighths(seed: int, *shape: int) -> NDArray[np.float64]:
    """Pseudo-random multiples of 1/8 between -2 and 2."""
    return (integers(seed, 33, *shape) - 16) / 8


class Rows(NamedTuple):
    """A matrix and the targets of every task, all of which depend on its first columns."""

    x: Any
    signs: NDArray[np.int64]
    numbers: NDArray[np.float64]
    classes: NDArray[np.str_]
    labels: NDArray[np.int64]

    def part(self, rows: slice) -> Rows:
        """Some of the rows."""
        return Rows(*(field[rows] for field in self))


def _rows(x: NDArray[np.float64], seed: int) -> Rows:
    numbers = x[:, :6] @ np.array([2.0, -1.5, 1.0, -0.75, 0.5, -0.5]) + 0.5 * eighths(seed, len(x))
    scores = x[:, :3] - x[:, 3:6] + 0.25 * eighths(seed + 1, len(x), 3)
    return Rows(
        x, np.where(numbers > 0, 1, -1), numbers, CLASSES[np.argmax(scores, axis=1)], (scores > 0).astype(np.int64)
    )


def dense(rows: int = 240, width: int = 24, seed: int = 1) -> Rows:
    """A matrix of numbers."""
    return _rows(eighths(seed, rows, width), seed + 1)


def sparse(rows: int = 400, width: int = 150, seed: int = 11) -> Rows:
    """A SciPy matrix; every column after the first six is nearly all zeros."""
    shown = integers(seed, 100, rows, width) < np.where(np.arange(width) < 6, 50, 6)
    made = _rows(np.where(shown, eighths(seed + 1, rows, width), 0.0), seed + 2)
    return made._replace(x=sp.csr_matrix(made.x.astype(np.float32)))


def wide(rows: int = 300, width: int = 1 << 20, seed: int = 15) -> Rows:
    """`sparse` with 100 more features in every row, nearly all of which occur once."""
    made = sparse(rows)
    noise = integers(seed, width, rows, 100)
    more = sp.csr_matrix((np.ones(noise.size, np.float32), noise.ravel(), np.arange(rows + 1) * 100), (rows, width))
    more.sum_duplicates()
    return made._replace(x=sp.hstack([made.x, more], format="csr"))


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def libsvm_file(folder: Path, y: Any = None, name: str = "rows.svm") -> Path:
    """`sparse` as LIBSVM text, gzipped where the name says so; ``y`` are other labels, as they are to be written."""
    rows = sparse()
    lines = []
    for entries, label in zip(_entries(rows.x), rows.signs if y is None else y, strict=True):
        lines.append(" ".join([str(label), *(f"{j + 1}:{value:g}" for j, value in entries)]))
    return _written(folder / name, lines)


def vw_file(folder: Path, name: str = "rows.vw") -> Path:
    """`sparse` as VW text: importance weights, and two namespaces with features that have names."""
    rows = sparse()
    lines = []
    for i, (entries, label) in enumerate(zip(_entries(rows.x), rows.signs, strict=True)):
        even, odd = (" ".join(f"f{j}:{value:g}" for j, value in entries if j % 2 == rest) for rest in (0, 1))
        lines.append(f"{label} {1 + i % 2} |even {even} |odd {odd}")
    return _written(folder / name, lines)


def table(rows: int = 300, seed: int = 21) -> dict[str, list[Any]]:
    """Columns of a table: two of numbers (one with gaps), two of categories, and the label."""
    age, size = integers(seed, 60, rows) + 20, integers(seed + 1, 1000, rows) / 8
    city, plan = integers(seed + 2, len(CITIES), rows), integers(seed + 3, 9, rows)
    score = (age > 50) * 2 + (city == 1) * 3 - (plan == 4) * 3 - (size > 60) + integers(seed + 4, 3, rows)
    return {
        "age": age.tolist(),
        "size": [None if i % 11 == 0 else value for i, value in enumerate(size.tolist())],
        "city": [CITIES[i] for i in city],
        "plan": [f"p{i}" for i in plan],
        "bought": ["yes" if value > 1 else "no" for value in score.tolist()],
    }


def csv_file(folder: Path) -> Path:
    """`table` as CSV."""
    columns = table()
    rows = [",".join("" if cell is None else str(cell) for cell in row) for row in zip(*columns.values(), strict=True)]
    return _written(folder / "table.csv", [",".join(columns), *rows])


def parquet_file(folder: Path, columns: dict[str, Any]) -> Path:
    """Columns as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "table.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def json_file(folder: Path, rows: int = 240, seed: int = 31) -> Path:
    """Short texts as JSON lines; their mood depends on two words and a pair of words."""
    lines = []
    for numbers in integers(seed, len(WORDS), rows, 8).tolist():
        text = " ".join(WORDS[i] for i in numbers)
        score = 2 * text.count("good") - 2 * text.count("bad") + 3 * text.count("new old") + text.count("warm")
        lines.append(json.dumps({"body": text, "mood": "up" if score > 0 else "down"}, ensure_ascii=False))
    return _written(folder / "texts.jsonl", lines)


def fasta_files(folder: Path) -> list[Path]:
    """Two FASTA files of 40 records each; the name of the file is the label, and a motif tells them apart."""
    paths = []
    for seed, (name, motif) in enumerate((("ecoli", "ACGTTG"), ("yeast", "GGATCA"))):
        lines = []
        for i, numbers in enumerate(integers(41 + seed, 4, 40, 60).tolist()):
            letters = "".join("ACGT"[j] for j in numbers)
            lines += [f">{name}-{i}", letters if i % 4 == 0 else f"{letters[:30]}{motif}{letters[30:]}"]
        paths.append(_written(folder / f"{name}.fa", lines))
    return paths


def _entries(x: sp.csr_matrix) -> list[list[tuple[int, float]]]:
    """Of every row the columns and values that are not zero."""
    entries = list(zip(x.indices.tolist(), x.data.tolist(), strict=True))
    return [entries[begin:end] for begin, end in pairwise(x.indptr.tolist())]


def _written(path: Path, lines: list[str]) -> Path:
    text = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return path
