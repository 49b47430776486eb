"""Reads the labels of a source once: its classes, and how many rows each has."""

from __future__ import annotations

from functools import partial

import numpy as np

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
    found: set[Label] = set()
    for batch, cursor in source.batches(keys=np.empty(0, np.uint64)):
        found |= distinct_labels(batch, partial(source.where, cursor, batch))
    return sort_labels(found)


def label_counts(source: Source) -> dict[Label, int]:
    """The number of rows of each class, from one pass over the labels."""
    counts: dict[Label, int] = {}
    for batch, _ in source.batches(keys=np.empty(0, np.uint64)):
        if batch.y is None:
            break
        for label, count in zip(*np.unique(batch.y, return_counts=True), strict=True):
            counts[plain_label(label)] = counts.get(plain_label(label), 0) + int(count)
    return counts
