"""The kinds of files that are attacked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.attack import arrays, own_formats, texts
from tests.attack.texts import Case

#: For each kind, a function that prepares files in a folder and returns one that tries a case.
TARGETS: dict[str, Callable[[Path], Case]] = {
    "csv": texts.csv,
    "jsonl": texts.jsonl,
    "libsvm": texts.libsvm,
    "vw": texts.vw,
    "fasta": texts.fasta,
    "gz": texts.compressed("gz"),
    "zst": texts.compressed("zst"),
    "xz": texts.compressed("xz"),
    "bz2": texts.compressed("bz2"),
    "parquet": arrays.parquet,
    "arrow": arrays.arrow,
    "npy": arrays.npy,
    "thr": own_formats.thr,
    "thc": own_formats.thc,
    "checkpoint": own_formats.checkpoint,
}
