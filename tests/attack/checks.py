"""What must hold for whatever is read from a damaged file."""

from __future__ import annotations

import random

import numpy as np

from tests.sources.reading import rows_of
from thresher import _native
from thresher.core.batch import Batch
from thresher.sources.base import Source


class Wrong(Exception):
    """An answer that is not correct."""


def check_batch(batch: Batch) -> None:
    """Raise unless all parts of a batch fit together."""
    y = batch.y
    if y is not None and y.dtype == object:
        y = np.zeros(len(y))
    names = batch.names
    _native.check_rows(
        batch.indptr,
        batch.keys,
        batch.values,
        y,
        batch.y_indptr,
        batch.weight,
        None if names is None else names.words,
        None if names is None else names.text,
        0 if names is None else len(names.prefixes),
        (1 << 64) - 1,
    )


def read_rows(rng: random.Random, source: Source) -> list[str]:
    """The rows of a source, read in batches of any size and checked, as text."""
    found = []
    for batch, _ in source.batches(rng.choice((1, 3, 8192)), want_names=True, want_labels=rng.random() < 0.7):
        check_batch(batch)
        found += [repr(row) for row in rows_of(batch)]
        order = np.array([rng.randrange(len(batch)) for _ in range(len(batch))], np.int64)
        check_batch(batch.take(order))
    return found
