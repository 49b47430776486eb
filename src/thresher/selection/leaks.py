"""Warnings about a feature that decides the label alone: found in some of the first rows, confirmed in many more.

The rules are in ``docs/sources.md``. The rows are read again, always the same ones whatever the batches are, and never
from a pipe.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.labels import known_targets
from thresher.core.memory import Watch
from thresher.core.scores.correlation import correlation
from thresher.selection.selection import Selection
from thresher.sources.arrays import InMemory
from thresher.sources.base import Source

#: The strongest features that may be leaks, and the rows in which they are compared.
_LEAK_FEATURES, _CHUNK = 64, 4096
#: The rows in which a leak is confirmed: counted in chunks, or held in memory.
_SPLIT_ROWS, _LINE_ROWS = 1 << 20, 1 << 16
#: The fewest rows of a class, and of the other classes together.
_MIN_CLASS = 50
#: The most rows that the feature may get wrong, and the fewest that every other one must: shares of the smaller class.
_DECIDES, _OTHERS_FAIL = 0.02, 0.05
#: Every other feature is wrong at least so many times as often.
_TIMES = 5
#: For numbers as targets: the least correlation of the feature, and the largest of every other one.
_GIVES, _OTHERS_MISS = 0.999, 0.95
#: A feature correlated so much with another one holds the same, as the features of a yes-no column do.
_SAME_FEATURE = 0.9999


def leak_warnings(selection: Selection, source: Source, watch: Watch) -> Iterator[str]:
    """Warn of a selected feature that decides the label of the training data alone; ``watch`` receives the progress."""
    space = selection.space
    named = space.random_features is None and space.hashing is None
    if not (named and len(selection) and source.rewindable) or selection.multilabel:
        return
    if isinstance(source, InMemory):  # its rows are often sorted by class
        source = source.shuffled(0, rows=1, features=1)
    source = selection.adapt(source)
    if len(selection) == 1 and not ((selection.settings.get("k") or 1) > 1 and _has_others(selection, source)):
        return  # there is nothing to compare the feature with
    found = _find_leak(selection, source, watch)
    if found is not None:
        feature, what = found
        name = selection.names[feature]
        yield f"{source.describe()}: the feature {name!r} {what}. {_leave_out(name, selection)}."


def _find_leak(selection: Selection, source: Source, watch: Watch) -> tuple[int, str] | None:
    """The number of a leaking feature, and what it does.

    Files are often sorted, so that their first rows may be special: a feature that decides those must decide more.
    """
    keys = np.ascontiguousarray(selection.keys[:_LEAK_FEATURES])
    head = next(_dense_rows(selection, source, watch, keys, _CHUNK), None)
    if head is None:
        return None
    if selection.loss.task == "real":
        line = find_line(*head)
        if line is None:
            return None
        parts = list(_dense_rows(selection, source, watch, keys[line.feature : line.feature + 1], _LINE_ROWS))
        again = find_line(np.concatenate([x for x, _ in parts], axis=1), np.concatenate([y for _, y in parts]))
        what = f"gives the target alone (correlation {line.correlation:.4f}, the next feature {line.next:.4f})"
        return None if again is None else (line.feature, what)
    split = find_split(*head)
    if split is None:
        return None
    wrong = rows = rows_of_class = 0
    for features, y in _dense_rows(selection, source, watch, keys[split.feature : split.feature + 1], _SPLIT_ROWS):
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
    selection: Selection, source: Source, watch: Watch, keys: NDArray[np.uint64], n: int
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float64]]]:
    """The features of some keys (features x rows) and the targets of the first ``n`` rows, a chunk at a time."""
    index = _native.KeyIndex(keys)
    dense, targets, at = np.zeros((len(keys), _CHUNK), np.float32), np.empty(_CHUNK), 0
    watch.show(phase="looking for leaks")
    for batch, cursor in first_rows(source, n, keys):
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
        watch.show(phase="looking for leaks", **source.counts_at(cursor))
    if at:
        yield dense[:, :at], targets[:at]


def _chunk_starts(at: int, rows: int) -> list[int]:
    """The rows of a batch at which a chunk starts or continues, if ``at`` rows of one are filled."""
    return [0, *range(_CHUNK - at, rows, _CHUNK)] if rows else []


def _has_others(selection: Selection, source: Source) -> bool:
    """Whether the data has features that were not selected."""
    return any(np.setdiff1d(batch.keys, selection.keys).size for batch, _ in first_rows(source, 64, None))


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


def first_rows(source: Source, n: int, keys: NDArray[np.uint64] | None) -> Iterator[tuple[Batch, Cursor]]:
    """The first ``n`` rows, with only the features of these keys; None for all."""
    left = n
    for batch, cursor in source.batches(min(n, 1024), keys=keys):
        yield (batch if len(batch) <= left else batch.take(slice(left))), cursor
        left -= len(batch)
        if left <= 0:
            return


# ── the rules ────────────────────────────────────────────────────────────────────────────────────


class Split(NamedTuple):
    """A feature that tells a class from the others: values above the threshold belong to it, or those below."""

    feature: int
    #: The target of the class.
    label: float
    threshold: float
    above: bool
    #: The rows that the next best feature gets wrong.
    next: int

    def wrong(self, values: NDArray[np.float32], y: NDArray[np.float64]) -> int:
        """The number of rows that the feature gets wrong."""
        return int((((values > self.threshold) == self.above) != (y == self.label)).sum())


class Line(NamedTuple):
    """A feature that gives the target: its correlation, and that of the next best feature."""

    feature: int
    correlation: float
    next: float


def find_split(features: NDArray[np.float32], y: NDArray[np.float64]) -> Split | None:
    """The feature that tells a class from the others far better than all other features do.

    Parameters
    ----------
    features : array of shape (features, rows)
    y : array of shape (rows,)
        -1 and +1, or numbers of classes.
    """
    labels, codes = np.unique(y, return_inverse=True)
    sizes = np.bincount(codes, minlength=1)
    smaller = np.minimum(sizes, len(y) - sizes)
    # Of two classes the second is enough: what tells it from the first tells the first from it.
    kinds = [c for c in range(len(labels)) if smaller[c] >= _MIN_CLASS and (len(labels) > 2 or c == 1)]
    if not kinds:
        return None
    wrong = np.array([split_errors(feature, codes, kinds) for feature in features])
    for j, c in enumerate(kinds):
        first = int(wrong[:, j].argmin())
        fewest = int(wrong[first, j])
        if fewest > _DECIDES * smaller[c]:
            continue
        others = _other_features(features, first)
        following = int(wrong[others, j].min(initial=len(y)))
        if following >= max(_OTHERS_FAIL * smaller[c], _TIMES * fewest):
            threshold, above = _best_threshold(features[first], codes == c)
            return Split(first, float(labels[c]), threshold, above, following)
    return None


def find_line(features: NDArray[np.float32], y: NDArray[np.float64]) -> Line | None:
    """The feature that gives a number as the target far better than all other features do."""
    if len(y) < 2 * _MIN_CLASS:
        return None
    found = np.array([correlation(feature, y) for feature in features])
    first = int(found.argmax())
    following = float(found[_other_features(features, first)].max(initial=0.0))
    clear = found[first] >= _GIVES and following <= _OTHERS_MISS
    return Line(first, float(found[first]), following) if clear else None


def decides(wrong: int, rows_of_class: int, rows: int) -> bool:
    """Whether a feature decides a class: it is wrong in few rows of the smaller side."""
    return wrong <= _DECIDES * min(rows_of_class, rows - rows_of_class)


def split_errors(feature: NDArray[np.float32], codes: NDArray[np.int64], kinds: list[int]) -> list[int]:
    """The fewest rows that a threshold on a feature gets wrong, for each class against the others."""
    order = np.argsort(feature, kind="stable")
    cuts = _cuts(feature[order])
    if not len(cuts):
        return [len(codes)] * len(kinds)
    errors = (_errors_above(codes[order] == c, cuts) for c in kinds)
    return [int(min(wrong.min(), len(codes) - wrong.max())) for wrong in errors]


def _best_threshold(feature: NDArray[np.float32], positive: NDArray[np.bool_]) -> tuple[float, bool]:
    """The best threshold, and whether the class is above it."""
    order = np.argsort(feature, kind="stable")
    ordered = feature[order]
    cuts = _cuts(ordered)
    wrong = _errors_above(positive[order], cuts)
    above = bool(wrong.min() <= len(positive) - wrong.max())
    return float(ordered[cuts[wrong.argmin() if above else wrong.argmax()]]), above


def _cuts(ordered: NDArray[np.float32]) -> NDArray[np.int64]:
    """The last row below each threshold."""
    return np.flatnonzero(ordered[1:] != ordered[:-1])


def _errors_above(positive: NDArray[np.bool_], cuts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows that each threshold gets wrong if the class is above it; the reverse gets the other rows wrong."""
    below = np.cumsum(positive)
    negative_above = (len(positive) - 1 - cuts) - (below[-1] - below[cuts])
    wrong: NDArray[np.int64] = below[cuts] + negative_above
    return wrong


def _other_features(features: NDArray[np.float32], first: int) -> NDArray[np.bool_]:
    """Which features are not the first one in another form."""
    return np.array([correlation(feature, features[first]) < _SAME_FEATURE for feature in features])
