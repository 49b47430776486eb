"""Writes Vowpal Wabbit text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from thresher import _native
from thresher.core.batch import Batch, Names
from thresher.display import quoted
from thresher.errors import SettingsError
from thresher.sources.base import Source
from thresher.writers.text_lines import label_texts, value_texts, write_lines
from thresher.writers.write_report import WriteReport

_RENAMED = "features have another name, since VW text uses blanks, : and | as separators"
_REKEYED = "features will have other keys when read again, since here the key depends on the column name"
_NAMED_LABELS = "labels are text: Vowpal Wabbit reads them with --named_labels, Thresher does not"


def write_vw(source: Source, file: Any) -> WriteReport:
    """Write ``label weight |namespace name:value …``. Separators in names are written as %XX."""
    return write_lines(source, file, _lines, want_names=True)


def _lines(source: Source, batch: Batch, report: WriteReport) -> Iterator[str]:
    if batch.y_indptr is not None or (batch.qid is not None and (batch.qid >= 0).any()):
        raise SettingsError("VW text has one label per row and no query ids: write LIBSVM text or a .thc file")
    names = _names(source, batch, report)
    values, labels = value_texts(batch), label_texts(batch)
    if batch.y is not None and batch.y.dtype == object:
        report.losses[_NAMED_LABELS] += sum(map(bool, labels))
        for label in labels:
            if _escaped(label) != label:
                raise SettingsError(f"VW text cannot hold the label {quoted(label)}: rename it without blanks, : and |")
    for i in range(len(batch)):
        weight = "" if batch.weight is None or batch.weight[i] == 1 else f" {batch.weight[i]:.9g}"
        if weight and not labels[i]:
            raise SettingsError(
                f"row {report.rows + i + 1} has a weight but no label, which VW text cannot hold. Write Parquet "
                "or a .thc file"
            )
        # Keep the order of the features, on which sums of floats depend, even if a namespace is then repeated.
        line, last = f"{labels[i]}{weight} |", ""
        for j in range(int(batch.indptr[i]), int(batch.indptr[i + 1])):
            space, name = names[j]
            if space != last:
                line += f"{space}" if line.endswith(" |") else f" |{space}"
                last = space
            line += f" {name}" if values[j] == "1" else f" {name}:{values[j]}"
        yield line + "\n"


def _names(source: Source, batch: Batch, report: WriteReport) -> list[tuple[str, str]]:
    """The written namespace and name of every feature; counts those that change."""
    if batch.names is None:
        decoded = source.space.decode(batch.keys)
        written = {name: _name(b"", name.encode()) for name in set(decoded)}
        report.losses[_RENAMED] += sum(written[name][1] != name for name in decoded)
        return [written[name] for name in decoded]
    if batch.names.parents is not None:
        return _names(source, _with_product_names(batch), report)
    out: list[tuple[str, str]] = []
    known: dict[tuple[int, int], tuple[tuple[str, str], str | None]] = {}
    for j, (word, key) in enumerate(zip(batch.names.words.tolist(), batch.keys.tolist(), strict=True)):
        if (word, key) not in known:
            prefix = batch.names.prefixes[word >> 44]
            whole = batch.names[j]
            name = _name(prefix, whole[len(prefix) :])
            known[word, key] = name, _changed(name, whole, key)
        name, loss = known[word, key]
        if loss is not None:
            report.losses[loss] += 1
        out.append(name)
    return out


def _with_product_names(batch: Batch) -> Batch:
    """The batch with the names of its products as text."""
    assert batch.names is not None
    return replace(batch, names=Names.of_bytes(batch.names.to_bytes()))


def _name(prefix: bytes, rest: bytes) -> tuple[str, str]:
    """The namespace and the name of a feature; features without a namespace, also columns, are in the default one."""
    space = prefix[:-1] if prefix.endswith(b"^") else b""
    name = rest if space else prefix + rest
    written = _escaped(space.decode("utf-8", "surrogateescape")), _escaped(name.decode("utf-8", "surrogateescape"))
    return written[0], written[1] or "%"


def _changed(written: tuple[str, str], whole: bytes, key: int) -> str | None:
    """The change of a feature that is written like this and read again, or None."""
    space, name = (part.encode("utf-8", "surrogateescape") for part in written)
    prefix = space + b"^" if space else b""
    if prefix + name != whole:
        return _RENAMED
    seed = _native.hash_bytes(prefix, 0) if space else 0
    return None if _native.hash_bytes(name, seed) == key else _REKEYED


def _escaped(name: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in ":|" or ord(c) <= 32 else c for c in name)
