"""LIBSVM and VW text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from thresher import _native
from thresher.core.batch import Batch
from thresher.errors import SettingsError
from thresher.sources.base import Source
from thresher.writers.written import Written

_KEYED = "features stand under their 64-bit keys: LIBSVM has no names"
_RENAMED = "features are written under another name, since VW text gives theirs another meaning (blanks, : and |)"
_REKEYED = "features will have other keys when they are read, since a column's name is a part of theirs here"
_NAMED = "labels are words: Vowpal Wabbit reads them with --named_labels, Thresher does not"


def write_libsvm(source: Source, file: Any) -> Written:
    """``label [qid:n] key:value …``; importance weights and words as labels have no place in this format."""
    return _write(source, file, _libsvm, want_names=False)


def write_vw(source: Source, file: Any) -> Written:
    """``label importance |namespace name:value …``; what VW would misread in a name is written as %XX."""
    return _write(source, file, _vw, want_names=True)


def _write(
    source: Source, file: Any, lines: Callable[[Source, Batch, Written], Iterator[str]], *, want_names: bool
) -> Written:
    written = Written()
    for batch, _ in source.batches(want_names=want_names, want_labels=False):
        file.write("".join(lines(source, batch, written)).encode("utf-8", "surrogateescape"))
        written.rows += len(batch)
    return written


def _libsvm(source: Source, batch: Batch, written: Written) -> Iterator[str]:
    if batch.weight is not None and (batch.weight != 1).any():
        raise SettingsError("LIBSVM text cannot hold importance weights: write VW text")
    if batch.y is not None and batch.y.dtype == object and any(isinstance(label, str) for label in batch.y):
        raise SettingsError("LIBSVM text cannot hold words as labels: write VW text, Parquet or a .thc file")
    if source.space.kind != "index" or source.space.products is not None:
        written.losses[_KEYED] += batch.nnz
    keys, values, labels = batch.keys.tolist(), _spelled_values(batch), _labels(batch)
    for i in range(len(batch)):
        begin, end = int(batch.indptr[i]), int(batch.indptr[i + 1])
        qid = "" if batch.qid is None or batch.qid[i] < 0 else f" qid:{batch.qid[i]}"
        if begin == end and not labels[i] and not qid:
            raise SettingsError(
                f"row {written.rows + i + 1} has neither label nor features: LIBSVM text cannot hold such a row. Leave "
                "it out, or write VW text"
            )
        features = "".join(f" {keys[j]}:{values[j]}" for j in range(begin, end))
        yield f"{labels[i]}{qid}{features}\n"


def _vw(source: Source, batch: Batch, written: Written) -> Iterator[str]:
    if batch.y_indptr is not None or (batch.qid is not None and (batch.qid >= 0).any()):
        raise SettingsError("VW text as written here has one label a row and no queries: write LIBSVM or a .thc file")
    names = _vw_names(source, batch, written)
    values, labels = _spelled_values(batch), _labels(batch)
    if batch.y is not None and batch.y.dtype == object:
        written.losses[_NAMED] += sum(map(bool, labels))
        for label in labels:
            if _escaped(label) != label:
                raise SettingsError(f"VW text cannot hold the label {label!r}: labels are words without blanks, : or |")
    for i in range(len(batch)):
        weight = "" if batch.weight is None or batch.weight[i] == 1 else f" {batch.weight[i]:.9g}"
        if weight and not labels[i]:
            raise SettingsError(
                f"row {written.rows + i + 1} has an importance but no label, which VW text cannot hold. Write Parquet "
                "or a .thc file"
            )
        # The order of features is kept, though a namespace then may come again: sums of floats depend on it.
        line, last = f"{labels[i]}{weight} |", ""
        for j in range(int(batch.indptr[i]), int(batch.indptr[i + 1])):
            space, name = names[j]
            if space != last:
                line += f"{space}" if line.endswith(" |") else f" |{space}"
                last = space
            line += f" {name}" if values[j] == "1" else f" {name}:{values[j]}"
        yield line + "\n"


def _vw_names(source: Source, batch: Batch, written: Written) -> list[tuple[str, str]]:
    """The namespace and the name of every feature as they are written, and a count of those that change by it."""
    if batch.names is None:
        spelled = source.space.decode(batch.keys)
        made = {name: _vw_name(b"", name.encode()) for name in set(spelled)}
        written.losses[_RENAMED] += sum(made[name][1] != name for name in spelled)
        return [made[name] for name in spelled]
    if batch.names.parents is not None:
        return _vw_names(source, _spelled(batch), written)
    out: list[tuple[str, str]] = []
    known: dict[tuple[int, int], tuple[tuple[str, str], str | None]] = {}
    for j, (word, key) in enumerate(zip(batch.names.words.tolist(), batch.keys.tolist(), strict=True)):
        if (word, key) not in known:
            prefix = batch.names.prefixes[word >> 44]
            whole = batch.names[j]
            name = _vw_name(prefix, whole[len(prefix) :])
            known[word, key] = name, _changed(name, whole, key)
        name, loss = known[word, key]
        if loss is not None:
            written.losses[loss] += 1
        out.append(name)
    return out


def _spelled(batch: Batch) -> Batch:
    """The batch with the names of products written out."""
    from dataclasses import replace

    from thresher.core.batch import Names

    assert batch.names is not None
    return replace(batch, names=Names.of_bytes(batch.names._spelled()))


def _vw_name(prefix: bytes, rest: bytes) -> tuple[str, str]:
    """A namespace's features as its own; all else, columns too, in the default one."""
    space = prefix[:-1] if prefix.endswith(b"^") else b""
    name = rest if space else prefix + rest
    written = _escaped(space.decode("utf-8", "surrogateescape")), _escaped(name.decode("utf-8", "surrogateescape"))
    return written[0], written[1] or "%"


def _changed(written: tuple[str, str], whole: bytes, key: int) -> str | None:
    """What happens to a feature that is written so and read again, if anything does."""
    space, name = (part.encode("utf-8", "surrogateescape") for part in written)
    prefix = space + b"^" if space else b""
    if prefix + name != whole:
        return _RENAMED
    seed = _native.hash_bytes(prefix, 0) if space else 0
    return None if _native.hash_bytes(name, seed) == key else _REKEYED


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


def _escaped(name: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in ":|" or ord(c) <= 32 else c for c in name)
