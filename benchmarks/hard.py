"""A hard stream for feature selection, the same bytes every time: few true features among ten million Zipf ids.

Rows are unit vectors of about 90 non-zeros. A true feature is in one row in ten to one in three thousand, and the
labels are noisy: even who knows the truth gets about seven rows in ten right.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

#: Names files made already: PREFIX.train.svm, .train.vw, .test.svm, .test.vw, and PREFIX.truth ("id rank weight").
VARIABLE = "THRESHER_HARD"
ROWS, TEST_ROWS, IDS = 200_000, 20_000, 10_000_000
_DRAWS, _TRUE, _SHARPNESS, _CHUNK = 100, 100, 12.0, 10_000
_SCATTER = 7_368_787  # has no factor in common with 2 or 5, so ranks and ids correspond one to one


@dataclass(frozen=True)
class HardStream:
    """Where the files of a stream are."""

    prefix: str

    def path(self, part: str, form: str) -> Path:
        """The ``train`` or ``test`` file as ``svm`` or ``vw``."""
        return Path(f"{self.prefix}.{part}.{form}")

    def truth(self) -> dict[int, float]:
        """The weight of every true feature."""
        lines = Path(f"{self.prefix}.truth").read_text().splitlines()
        return {int(key): float(weight) for key, _, weight in map(str.split, lines)}

    def head(self, rows: int, folder: str | Path, *, test_rows: int | None = None) -> HardStream:
        """The same stream with its first rows only; this one itself where all are asked for."""
        if rows >= ROWS and test_rows is None:
            return self
        short = HardStream(f"{folder}/hard-{rows}")
        for part, form in itertools.product(("train", "test"), ("svm", "vw")):
            wanted = rows if part == "train" else (test_rows or TEST_ROWS)
            with open(self.path(part, form), "rb") as whole, open(short.path(part, form), "wb") as out:
                out.writelines(itertools.islice(whole, wanted))
        Path(f"{short.prefix}.truth").write_bytes(Path(f"{self.prefix}.truth").read_bytes())
        return short


def hard_stream() -> HardStream:
    """The stream that the environment names, or one made for this process and removed with it."""
    given = os.environ.get(VARIABLE)
    return HardStream(given) if given else _made()


@functools.cache
def _made() -> HardStream:
    folder = tempfile.TemporaryDirectory(prefix="thresher-hard-")
    atexit.register(folder.cleanup)
    return write_hard(Path(folder.name) / "hard")


def write_hard(
    prefix: str | Path, *, rows: int = ROWS, test_rows: int = TEST_ROWS, ids: int = IDS, seed: int = 11
) -> HardStream:
    """Make the files of a stream over ``ids`` possible ids (a product of twos and fives)."""
    rng = np.random.default_rng(seed)
    stream = HardStream(str(prefix))
    ranks = np.unique(np.geomspace(50, min(20_000, ids), _TRUE).round().astype(np.uint64))
    weights = rng.uniform(0.75, 1.25, len(ranks)) * rng.choice((-1.0, 1.0), len(ranks))
    keys = _ids(ranks, ids)
    with open(f"{prefix}.truth", "w") as file:
        for key, rank, weight in zip(keys.tolist(), ranks.tolist(), weights.tolist(), strict=True):
            file.write(f"{key} {rank} {weight:.4f}\n")
    order = np.argsort(keys)
    for part, wanted in (("train", rows), ("test", test_rows)):
        with open(stream.path(part, "svm"), "wb") as svm, open(stream.path(part, "vw"), "wb") as vw:
            for start in range(0, wanted, _CHUNK):
                labels, text = _chunk(rng, min(_CHUNK, wanted - start), ids, keys[order], weights[order])
                svm.writelines(b"%+d %s\n" % pair for pair in zip(labels, text, strict=True))
                vw.writelines(b"%d | %s\n" % pair for pair in zip(labels, text, strict=True))
    return stream


def _ids(ranks: NDArray[np.uint64], ids: int) -> NDArray[np.uint64]:
    return ranks * np.uint64(_SCATTER) % np.uint64(ids)


def _chunk(
    rng: np.random.Generator, rows: int, ids: int, true_keys: NDArray[np.uint64], weights: NDArray[np.float64]
) -> tuple[list[int], list[bytes]]:
    """Labels and features (as text) of some rows."""
    # The whole part of ids^u gives rank r a share of log(1 + 1 / r), so about 1 / r.
    ranks = np.exp(rng.random((rows, _DRAWS)) * np.log(ids)).astype(np.uint64)
    drawn = np.sort(_ids(ranks, ids), axis=1)
    first = np.ones(drawn.shape, bool)
    first[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
    keys, starts = drawn[first], np.flatnonzero(first)
    counts = np.diff(starts, append=rows * _DRAWS)  # the first of a row always counts, so none reaches into the next
    values = 1 + np.log(counts)
    ends = np.cumsum(first.sum(axis=1))
    begins = np.concatenate(([0], ends[:-1]))
    values /= np.repeat(np.sqrt(np.add.reduceat(values**2, begins)), ends - begins)
    at = np.minimum(np.searchsorted(true_keys, keys), len(true_keys) - 1)
    margins = np.add.reduceat(np.where(true_keys[at] == keys, weights[at], 0.0) * values, begins)
    positive = rng.random(rows) < 1 / (1 + np.exp(-_SHARPNESS * margins))
    return np.where(positive, 1, -1).tolist(), _spelled(keys, values, np.append(begins, ends[-1]))


def _spelled(keys: NDArray[np.uint64], values: NDArray[np.float64], indptr: NDArray[np.int64]) -> list[bytes]:
    """``id:value`` with five decimals, joined row by row; through Arrow, as Python's own formatting is slow."""
    import pyarrow as pa
    import pyarrow.compute as pc

    digits = pc.utf8_lpad(pa.array((values * 1e5).round().astype(np.int64)).cast("string"), 6, "0")
    decimals = pc.utf8_replace_slice(digits, 1, 1, ".")
    features = pc.binary_join_element_wise(pa.array(keys).cast("string"), decimals, ":")
    rows = pa.ListArray.from_arrays(pa.array(indptr.astype(np.int32)), features)
    return [row.encode() for row in pc.binary_join(rows, " ").to_pylist()]
