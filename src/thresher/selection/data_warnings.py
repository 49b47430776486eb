"""Warnings about the labels of any data, and about features that decide the label alone.

The rules are in ``docs/sources.md``. They read some of the first rows again, always the same number of them whatever the
batches are, and never a pipe.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.labels import known_targets
from thresher.core.losses import Loss
from thresher.selection.leaks import LEAK_ROWS, Leak, find_leak
from thresher.selection.selection import Selection
from thresher.sources.arrays import InMemory
from thresher.sources.base import Source

log = logging.getLogger("thresher.sources")

#: The rows whose labels are examined, and the fewest of them.
_LABEL_ROWS, _MIN_LABELS = 1000, 100
#: Numbers with at most so many values may be classes.
_FEW_VALUES = 10
#: Classes with at least so many values that are not whole numbers may be quantities; of whole numbers, these are so
#: many that most of the rows have their own, over a range of ten times as many.
_MANY_FRACTIONS, _SPREAD = 10, 10
#: The strongest features that may be leaks.
_LEAK_FEATURES = 64


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


def leak_warnings(selection: Selection, source: Source) -> Iterator[str]:
    """Warn of a selected feature that decides the label of the training data alone."""
    space = selection.space
    named = space.random_features is None and space.hashing is None
    if not (named and source.rewindable) or selection.multilabel or len(selection) < 2:
        return
    if isinstance(source, InMemory):  # its rows are often sorted by class
        source = source.shuffled(0, rows=1, features=1)
    source = selection.adapt(source)
    features, y = _dense_rows(selection, source)
    leak = find_leak(features, y, regression=selection.loss.task == "real")
    if leak is not None:
        yield _leak_sentence(leak, selection, source.describe(), len(y))


def _dense_rows(selection: Selection, source: Source) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The strongest features, feature by feature, and the targets of some rows."""
    keys = np.ascontiguousarray(selection.keys[:_LEAK_FEATURES])
    index = _native.KeyIndex(keys)
    dense = np.zeros((len(keys), LEAK_ROWS), np.float32)
    targets = np.empty(LEAK_ROWS)
    at = 0
    for batch, cursor in _first_rows(source, LEAK_ROWS, keys):
        indptr, features, where = index.keep(batch.indptr, batch.keys)
        rows = at + np.repeat(np.arange(len(batch)), np.diff(indptr))
        np.add.at(dense, (features, rows), np.float32(1.0) if batch.values is None else batch.values[where])
        place = partial(source.where, cursor, batch)
        targets[at : at + len(batch)] = known_targets(batch, selection.classes, selection.loss, place)
        at += len(batch)
    return dense[:, :at], targets[:at]


def _leak_sentence(leak: Leak, selection: Selection, data: str, rows: int) -> str:
    name = selection.names[leak.feature]
    if leak.kind is None:
        what = f"gives the target alone (correlation {leak.score:.4f}, the next feature {leak.next:.4f}"
    else:
        label = selection.labels[leak.kind]
        of = "the label" if len(selection.labels) == 2 else f"the class {label!r}"
        what = f"decides {of} alone (wrong in {leak.score:.0f}, the next feature in {leak.next:,.0f}"
    return f"{data}: the feature {name!r} {what}, of {rows:,} rows). {_leave_out(name, selection)}."


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


def _first_rows(source: Source, n: int, keys: NDArray[np.uint64]) -> Iterator[tuple[Batch, Cursor]]:
    """The first ``n`` rows, with only the features of these keys."""
    left = n
    for batch, cursor in source.batches(min(n, 1024), keys=keys):
        yield (batch if len(batch) <= left else batch.take(slice(left))), cursor
        left -= len(batch)
        if left <= 0:
            return
