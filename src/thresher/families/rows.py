"""Rows kept in memory, as functions of them are asked for again and again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Batch


class RowStore:
    """Compressed rows, batch after batch as they came."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self.rows = 0
        self.bytes = 0

    def add(self, indptr: NDArray[np.int64], keys: NDArray[np.uint64], values: NDArray[np.float32] | None) -> None:
        """More rows."""
        if len(indptr) < 2:
            return
        # Copies: a batch may be a view of a page that is given back.
        batch = Batch(indptr.copy(), keys.copy(), None if values is None else values.copy())
        self._batches.append(batch)
        self.rows += len(batch)
        self.bytes += batch.indptr.nbytes + batch.keys.nbytes + (0 if values is None else values.nbytes)

    def __iter__(self) -> Iterator[Batch]:
        return iter(self._batches)

    def inputs(self) -> NDArray[np.uint64]:
        """The keys that occur."""
        parts = [np.unique(batch.keys) for batch in self._batches]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.uint64)

    def all_the_same(self) -> bool:
        """Whether every row is like the first."""
        if not self.rows:
            return True
        first = self._batches[0].take(slice(0, 1))
        return all(_repeats(batch, first) for batch in self._batches)

    def variance(self) -> float:
        """The mean over the inputs of their variances."""
        keys = self.inputs()
        sums, squares = np.zeros(len(keys)), np.zeros(len(keys))
        for batch in self._batches:
            at = np.searchsorted(keys, batch.keys)
            values = np.ones(batch.nnz) if batch.values is None else batch.values.astype(np.float64)
            sums += np.bincount(at, values, len(keys))
            squares += np.bincount(at, values**2, len(keys))
        return float(np.mean(squares / self.rows - (sums / self.rows) ** 2)) if len(keys) else 0.0


def _repeats(batch: Batch, first: Batch) -> bool:
    width = first.nnz
    if not (np.diff(batch.indptr) == width).all():
        return False
    same_keys = bool((batch.keys.reshape(len(batch), width) == first.keys).all())
    if batch.values is None or first.values is None:
        ones = all(b.values is None or bool((b.values == 1).all()) for b in (batch, first))
        return same_keys and ones
    return same_keys and bool((batch.values.reshape(len(batch), width) == first.values).all())
