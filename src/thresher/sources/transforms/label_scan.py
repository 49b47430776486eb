"""Reads the labels of a source once: its classes, and weights that balance them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.labels import Label, is_missing, plain_label, sort_labels
from thresher.errors import DataError, SettingsError
from thresher.sources.base import Source


def label_classes(source: Source) -> list[Label]:
    """The distinct labels of a source, sorted, from one pass over the labels alone."""
    if source.label_columns is not None:
        return [float(label) for label in range(source.label_columns)]
    if not source.rewindable:
        raise SettingsError(
            f"{source.describe()} can be read only once, so its classes must be known before: pass them (classes=)"
        )
    found: set[Label] = set()
    for batch, cursor in source.batches(keys=np.empty(0, np.uint64)):
        labels = np.empty(0) if batch.y is None else batch.y
        distinct = np.unique(labels) if labels.dtype != object else list(dict.fromkeys(labels))
        for label in distinct:
            if is_missing(label):
                row = int(np.argmax([is_missing(value) for value in labels]))
                raise DataError(f"{source.where(cursor, batch, row)}: the label is missing. Give every row a label.")
            found.add(plain_label(label))
    return sort_labels(found)


def balanced_weights(source: Source) -> dict[Any, float]:
    """The weight ``n / (classes * n_c)`` of each class c, from one pass over the labels."""
    counts: dict[Any, int] = {}
    no_keys: NDArray[np.uint64] = np.empty(0, np.uint64)
    for batch, _ in source.batches(keys=no_keys):
        if batch.y is None:
            break
        for label, count in zip(*np.unique(batch.y, return_counts=True), strict=True):
            counts[label.item() if hasattr(label, "item") else label] = counts.get(label, 0) + int(count)
    total = sum(counts.values())
    return {label: total / (len(counts) * count) for label, count in counts.items()}
