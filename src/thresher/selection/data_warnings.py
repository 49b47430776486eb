"""Warnings about the labels of any data, and about features that decide the label alone.

The rules are in ``docs/sources.md``. They read some of the first rows again, always the same ones whatever the batches
are, and never a pipe.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.labels import known_targets
from thresher.core.losses import Loss
from thresher.core.progress import Watch
from thresher.selection.leaks import decides, find_line, find_split
from thresher.selection.selection import Selection
from thresher.sources.arrays import InMemory
from thresher.sources.base import Source
from thresher.sources.transforms.watched import Watched

log = logging.getLogger("thresher.sources")

#: The rows whose labels are examined, and the fewest of them.
_LABEL_ROWS, _MIN_LABELS = 1000, 100
#: Numbers with at most so many values may be classes.
_FEW_VALUES = 10
#: Classes with at least so many values that are not whole numbers may be quantities; of whole numbers, these are so
#: many that most of the rows have their own, over a range of ten times as many.
_MANY_FRACTIONS, _SPREAD = 10, 10
#: The strongest features that may be leaks, and the rows in which they are compared.
_LEAK_FEATURES, _CHUNK = 64, 4096
#: The rows in which a leak is confirmed: counted in chunks, or held in memory.
_SPLIT_ROWS, _LINE_ROWS = 1 << 20, 1 << 16


class WarningList:
    """The warnings of a fit: logged once each, and kept for its provenance."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def add(self, sentences: Iterable[str]) -> None:
        """Log and keep some warnings."""
        for sentence in sentences:
            log.warning("%s", sentence)
            self.sentences.append(sentence)

    def keep(self, selection: Selection) -> None:
        """Store the warnings in the provenance of a selection."""
        if self.sentences:
            selection.provenance["warnings"] = self.sentences


# ── labels ───────────────────────────────────────────────────────────────────────────────────────


def label_warnings(source: Source, loss: Loss, *, online: bool) -> Iterator[str]:
    """Warn of numbers that look like classes and of classes that look like numbers.

    ``online`` methods have a loss of their own for more than two classes; the others make each class a binary problem.
    """
    two_classes = loss.task == "binary" and online  # a third label is an error
    if two_classes or source.multilabel or not source.rewindable:
        return
    parts = [np.asarray(batch.y) for batch, _ in _first_rows(source, _LABEL_ROWS, np.empty(0, np.uint64))]
    labels = np.concatenate(parts) if parts else np.empty(0)
    if len(labels) < _MIN_LABELS or labels.dtype == object or not np.isfinite(labels).all():
        return
    values = np.unique(labels.astype(np.float64))
    whole = bool((values == np.floor(values)).all())
    where = f"{source.describe()}: "
    rows = f"(first {len(labels):,} rows)"
    if loss.task == "real":
        if whole and 2 < len(values) <= _FEW_VALUES:
            several = "softmax" if online else "squared_hinge"
            yield (
                f"{where}the target has only the {len(values)} values {_listed(values)} {rows}, which the {loss} loss "
                f"takes as numbers. If they are classes, choose another loss (`loss={several!r}`)."
            )
    elif _is_quantity(values, len(labels), whole):
        yield (
            f"{where}the labels are {len(values)} different numbers {rows}, such as {_listed(values[:3])}, and the "
            f"{loss} loss makes each of them a class. If they are quantities, choose another loss (`loss='squared'`)."
        )


def _is_quantity(values: NDArray[np.float64], rows: int, whole: bool) -> bool:
    if not whole:
        return len(values) >= _MANY_FRACTIONS
    return 2 * len(values) > rows and float(np.ptp(values)) > _SPREAD * len(values)


def _listed(values: NDArray[np.float64]) -> str:
    shown = [f"{value:g}" for value in values.tolist()]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


# ── features that decide the label alone ─────────────────────────────────────────────────────────


def leak_warnings(selection: Selection, source: Source, watch: Watch) -> Iterator[str]:
    """Warn of a selected feature that decides the label of the training data alone; ``watch`` receives the progress."""
    space = selection.space
    named = space.random_features is None and space.hashing is None
    if not (named and len(selection) and source.rewindable) or selection.multilabel:
        return
    if isinstance(source, InMemory):  # its rows are often sorted by class
        source = source.shuffled(0, rows=1, features=1)
    source = selection.adapt(Watched(source, watch, "looking for leaks"))
    if len(selection) == 1 and not ((selection.settings.get("k") or 1) > 1 and _has_others(selection, source)):
        return  # there is nothing to compare the feature with
    found = _find_leak(selection, source)
    if found is not None:
        feature, what = found
        name = selection.names[feature]
        yield f"{source.describe()}: the feature {name!r} {what}. {_leave_out(name, selection)}."


def _find_leak(selection: Selection, source: Source) -> tuple[int, str] | None:
    """The number of a leaking feature, and what it does.

    Files are often sorted, so that their first rows may be special: a feature that decides those must decide more.
    """
    keys = np.ascontiguousarray(selection.keys[:_LEAK_FEATURES])
    head = next(_dense_rows(selection, source, keys, _CHUNK), None)
    if head is None:
        return None
    if selection.loss.task == "real":
        line = find_line(*head)
        if line is None:
            return None
        parts = list(_dense_rows(selection, source, keys[line.feature : line.feature + 1], _LINE_ROWS))
        again = find_line(np.concatenate([x for x, _ in parts], axis=1), np.concatenate([y for _, y in parts]))
        what = f"gives the target alone (correlation {line.correlation:.4f}, the next feature {line.next:.4f})"
        return None if again is None else (line.feature, what)
    split = find_split(*head)
    if split is None:
        return None
    wrong = rows = rows_of_class = 0
    for features, y in _dense_rows(selection, source, keys[split.feature : split.feature + 1], _SPLIT_ROWS):
        wrong += split.wrong(features[0], y)
        rows += len(y)
        rows_of_class += int((y == split.label).sum())
    if not decides(wrong, rows_of_class, rows):
        return None
    several = selection.loss.task == "classes"
    of = f"the class {selection.labels[int(split.label)]!r}" if several else "the label"
    others = f", the next feature in {split.next:,} of {len(head[1]):,}" if len(keys) > 1 else ""
    return split.feature, f"decides {of} alone (wrong in {wrong:,} of {rows:,} rows{others})"


def _dense_rows(
    selection: Selection, source: Source, keys: NDArray[np.uint64], n: int
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float64]]]:
    """The features of some keys (features x rows) and the targets of the first ``n`` rows, a chunk at a time."""
    index = _native.KeyIndex(keys)
    dense, targets, at = np.zeros((len(keys), _CHUNK), np.float32), np.empty(_CHUNK), 0
    for batch, cursor in _first_rows(source, n, keys):
        y = known_targets(batch, selection.classes, selection.loss, partial(source.where, cursor, batch))
        for begin in _chunk_starts(at, len(batch)):
            part = batch.take(slice(begin, begin + _CHUNK - at))
            indptr, features, where = index.keep(part.indptr, part.keys)
            rows = at + np.repeat(np.arange(len(part)), np.diff(indptr))
            np.add.at(dense, (features, rows), np.float32(1.0) if part.values is None else part.values[where])
            targets[at : at + len(part)] = y[begin : begin + len(part)]
            at += len(part)
            if at == _CHUNK:
                yield dense, targets
                dense, targets, at = np.zeros_like(dense), np.empty_like(targets), 0
    if at:
        yield dense[:, :at], targets[:at]


def _chunk_starts(at: int, rows: int) -> list[int]:
    """The rows of a batch at which a chunk starts or continues, if ``at`` rows of one are filled."""
    return [0, *range(_CHUNK - at, rows, _CHUNK)] if rows else []


def _has_others(selection: Selection, source: Source) -> bool:
    """Whether the data has features that were not selected."""
    return any(np.setdiff1d(batch.keys, selection.keys).size for batch, _ in _first_rows(source, 64, None))


def _leave_out(name: str, selection: Selection) -> str:
    """How to leave a feature out, as its data is read."""
    known = "unless it is known before the label"
    form = (selection.provenance.get("reading") or {}).get("form", {})
    if "text" in form:
        return f"Leave the word out (`stop`), {known}"
    columns = {column[0] for column in form.get("columns", ())}
    for column in (name, name.partition("=")[0], name.partition("[")[0]):
        if column in columns:
            return f"Ignore its column (`ignored={[column]}`), {known}"
    return f"Remove it from the data, {known}"


def _first_rows(source: Source, n: int, keys: NDArray[np.uint64] | None) -> Iterator[tuple[Batch, Cursor]]:
    """The first ``n`` rows, with only the features of these keys; None for all."""
    left = n
    for batch, cursor in source.batches(min(n, 1024), keys=keys):
        yield (batch if len(batch) <= left else batch.take(slice(left))), cursor
        left -= len(batch)
        if left <= 0:
            return
