"""Reads the labels of a source once: its classes, and weights that balance them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.labels import Label, distinct_labels, sort_labels
from thresher.errors import SettingsError
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
        found |= distinct_labels(batch, partial(source.where, cursor, batch))
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
