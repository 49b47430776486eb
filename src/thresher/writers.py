"""Any source as LIBSVM or VW text."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from thresher.batch import Batch
from thresher.container import write_atomically
from thresher.errors import SettingsError
from thresher.sources.endings import BY_ENDING
from thresher.sources.source import Source
from thresher.sources.stored_file import write_rows


def write_source(source: Source, path: str | os.PathLike[str], format: str | None = None) -> int:
    """Write all rows of a source; how many there were. A file already there is replaced only at the end."""
    kind = format or _by_ending(os.fspath(path))
    if kind == "cache":
        write_atomically(path, lambda file: write_rows(file, source, want_labels=False))
        return 0
    if kind not in _WRITERS:
        raise SettingsError(f"unknown format {kind!r}: one of {', '.join(_WRITERS)}")
    rows = 0

    def write(file: Any) -> None:
        nonlocal rows
        compressed = os.fspath(path).endswith(".gz")
        # No time and no name inside, so that the same rows give the same bytes.
        out = gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) if compressed else file
        for batch, _ in source.batches(want_names=kind == "vw", want_labels=False):
            out.write("".join(_WRITERS[kind](source, batch)).encode("utf-8", "surrogateescape"))
            rows += len(batch)
        if compressed:
            out.close()

    write_atomically(path, write)
    return rows


def _by_ending(path: str) -> str:
    ending = path.removesuffix(".gz").rpartition(".")[2].lower()
    if ending not in BY_ENDING:
        raise SettingsError(f"{path}: its ending does not show a format; pass one of {', '.join(_WRITERS)} (--to)")
    return BY_ENDING[ending]


def _libsvm(source: Source, batch: Batch) -> Iterator[str]:
    """``label [qid:n] key:value …``; importance weights have no place in this format."""
    if batch.weight is not None and (batch.weight != 1).any():
        raise SettingsError("LIBSVM text cannot hold importance weights: write VW text")
    keys, values, labels = batch.keys.tolist(), _spelled_values(batch), _labels(batch)
    for i in range(len(batch)):
        begin, end = int(batch.indptr[i]), int(batch.indptr[i + 1])
        qid = "" if batch.qid is None or batch.qid[i] < 0 else f" qid:{batch.qid[i]}"
        features = "".join(f" {keys[j]}:{values[j]}" for j in range(begin, end))
        yield f"{labels[i]}{qid}{features}\n"


def _vw(source: Source, batch: Batch) -> Iterator[str]:
    """``label importance |namespace name:value …``; what VW would misread in a name is written as %XX."""
    if batch.y_indptr is not None or batch.qid is not None:
        raise SettingsError("VW text as written here has one label a row and no queries: write LIBSVM")
    if batch.names is not None:
        names = [_split(batch.names[j].decode("utf-8", "surrogateescape")) for j in range(batch.nnz)]
    else:
        names = [("", name) for name in source.space.decode(batch.keys)]
    values, labels = _spelled_values(batch), _labels(batch)
    for i in range(len(batch)):
        spaces: dict[str, list[str]] = {}
        for j in range(int(batch.indptr[i]), int(batch.indptr[i + 1])):
            space, name = names[j]
            spaces.setdefault(space, []).append(name if values[j] == "1" else f"{name}:{values[j]}")
        weight = "" if batch.weight is None or batch.weight[i] == 1 else f"{batch.weight[i]:.9g} "
        yield f"{labels[i]} {weight}" + " ".join(f"|{space} {' '.join(them)}" for space, them in spaces.items())
        yield "\n" if spaces else "|\n"


_WRITERS: dict[str, Callable[[Source, Batch], Iterator[str]]] = {"libsvm": _libsvm, "vw": _vw}


def _spelled_values(batch: Batch) -> list[str]:
    """Values in the fewest digits that read back the same."""
    if batch.values is None:
        return ["1"] * batch.nnz
    return [text.removesuffix(".0") for text in batch.values.astype(np.float32).astype(str).tolist()]


def _labels(batch: Batch) -> list[str]:
    if batch.y is None:
        return [""] * len(batch)
    shown = ["" if label != label else f"{label:.17g}" if isinstance(label, float) else str(label) for label in batch.y]
    if batch.y_indptr is None:
        return shown
    return [",".join(shown[a:b]) for a, b in zip(batch.y_indptr, batch.y_indptr[1:], strict=False)]


def _split(name: str) -> tuple[str, str]:
    space, separator, rest = name.partition("^")
    return (_escaped(space), _escaped(rest)) if separator else ("", _escaped(name))


def _escaped(name: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in ":|%" or ord(c) <= 32 else c for c in name)
