"""Reads the labels of a source once: its classes, and how many rows each has."""

from __future__ import annotations

from functools import partial

import numpy as np

from thresher.core.label_task import are_numbers, check_classes
from thresher.core.labels import Label, distinct_labels, plain_label, sort_labels
from thresher.errors import SettingsError
from thresher.sources.base import Source


def label_classes(source: Source) -> list[Label]:
    """The distinct labels of a source, sorted, from one pass over the labels alone."""
    if source.label_columns is not None:
        return [float(label) for label in range(source.label_columns)]
    if not source.rewindable:
        raise SettingsError(
            f"{source.describe()} can be read only once, so its classes must be known before: pass them (`classes`)"
        )
    return sort_labels(distinct_of(source, may_be_numbers=False))


def distinct_of(source: Source, *, may_be_numbers: bool) -> set[Label]:
    """The distinct labels of a source; if they ``may_be_numbers``, only as many as show that they are numbers."""
    found: set[Label] = set()
    for batch, cursor in source.batches(keys=np.empty(0, np.uint64)):
        found |= distinct_labels(batch, partial(source.where, cursor, batch))
        if may_be_numbers and are_numbers(found):
            break
    return found


def label_counts(source: Source, *, may_be_numbers: bool = False) -> dict[Label, int]:
    """The number of rows of each class, from one pass over the labels.

    If they ``may_be_numbers``, `NumericLabels` is raised as soon as they are.
    """
    counts: dict[Label, int] = {}
    for batch, _ in source.batches(keys=np.empty(0, np.uint64)):
        if batch.y is None:
            break
        for label, count in zip(*np.unique(batch.y, return_counts=True), strict=True):
            counts[plain_label(label)] = counts.get(plain_label(label), 0) + int(count)
        if may_be_numbers:
            check_classes(counts, source.describe())
    return counts
