"""Rows that are iterated over repeatedly, in memory or out of core."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Floats
from thresher.core.batch import Batch
from thresher.sources.base import Source


class InputMoments(NamedTuple):
    """The keys of the inputs, ascending, and the variance, mean square and kurtosis of each."""

    keys: NDArray[np.uint64]
    variances: Floats
    squares: Floats
    kurtoses: Floats | None = None


class Rows(ABC):
    """Batches of rows that can be iterated over repeatedly."""

    #: The number of rows, and the bytes they occupy in memory.
    rows: int
    bytes: int

    @abstractmethod
    def __iter__(self) -> Iterator[Batch]: ...

    def inputs(self) -> NDArray[np.uint64]:
        """The keys that occur in the rows, in ascending order."""
        keys = np.empty(0, np.uint64)
        for batch in self:
            keys = np.union1d(keys, batch.keys)
        return keys

    def all_equal(self) -> bool:
        """Whether all rows are equal."""
        first: Batch | None = None
        for batch in self:
            first = batch.take(slice(0, 1)) if first is None else first
            if not _repeats(batch, first):
                return False
        return True

    def variance(self, weights: NDArray[np.float64] | None = None) -> float:
        """The variance of an input, averaged over all inputs."""
        moments = self.moments(weights)
        return float(np.mean(moments.variances)) if len(moments.keys) else 0.0

    def moments(
        self, weights: Floats | None = None, scaled: Callable[[Batch], Batch] | None = None, *, tails: bool = False
    ) -> InputMoments:
        """The moments of each input.

        Parameters
        ----------
        weights : array, optional
            The weight of each row.
        scaled : callable, optional
            Maps a batch to one with other values, whose moments are computed.
        tails : bool
            Compute the kurtosis too, by another pass.
        """
        keys = self.inputs()
        total = float(self.rows if weights is None else weights.sum())
        sums, squares = self.add_moments(keys, weights, np.zeros((2, len(keys))), scaled=scaled)
        means, squares = sums / total, squares / total
        variances = squares - means**2
        if not tails:
            return InputMoments(keys, variances, squares)
        seen, fourth = self.add_moments(keys, weights, np.zeros((2, len(keys))), means=means, scaled=scaled)
        fourth = (fourth + (total - seen) * means**4) / total  # absent values are 0
        return InputMoments(keys, variances, squares, fourth / np.maximum(variances**2, 1e-300))

    def add_moments(
        self,
        keys: NDArray[np.uint64],
        weights: Floats | None,
        sums: Floats,
        *,
        means: Floats | None = None,
        scaled: Callable[[Batch], Batch] | None = None,
    ) -> Floats:
        """Two sums of each input, with these rows added one by one, whatever the batches.

        They are those of its values and of their squares; with means, those of the weights of its values and of the
        fourth powers of their differences from the means.
        """
        sums, first = sums.copy(), 0
        for plain in self:
            batch = plain if scaled is None else scaled(plain)
            at = np.searchsorted(keys, batch.keys)
            values = np.ones(batch.nnz) if batch.values is None else batch.values.astype(np.float64)
            share = np.ones(1)
            if weights is not None:
                share = np.repeat(weights[first : first + len(batch)], np.diff(batch.indptr))
            first += len(batch)
            np.add.at(sums[0], at, share * values if means is None else share)
            np.add.at(sums[1], at, share * (values**2 if means is None else (values - means[at]) ** 4))
        return sums

    def take(self, which: NDArray[np.intp]) -> RowStore:
        """These rows (ascending), in memory."""
        store, first = RowStore(), 0
        for batch in self:
            inside = which[np.searchsorted(which, first) : np.searchsorted(which, first + len(batch))] - first
            first += len(batch)
            if len(inside):
                taken = batch.take(inside)
                store.add(taken.indptr, taken.keys, taken.values)
        return store


class RowStore(Rows):
    """Rows in memory. If all rows of a batch have the same keys, the batch stores the keys once."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self._counts: list[int] = []
        self.rows = 0
        self.bytes = 0

    def add(self, indptr: NDArray[np.int64], keys: NDArray[np.uint64], values: NDArray[np.float32] | None) -> None:
        """Append rows."""
        rows = len(indptr) - 1
        if rows < 1:
            return
        width = len(keys) // rows
        if rows > 1 and _same_keys(indptr, keys, keys[:width]):
            indptr, keys = np.array([0, width], np.int64), keys[:width]
        # Copy: a batch may be a view of a buffer that is reused.
        batch = Batch(indptr.copy(), keys.copy(), None if values is None else values.copy())
        self._batches.append(batch)
        self.rows += rows
        self._counts.append(rows)
        self.bytes += batch.indptr.nbytes + batch.keys.nbytes + (0 if values is None else values.nbytes)

    def __iter__(self) -> Iterator[Batch]:
        for batch, rows in zip(self._batches, self._counts, strict=True):
            if len(batch) == rows:
                yield batch
            else:
                width = len(batch.keys)
                yield Batch(np.arange(rows + 1, dtype=np.int64) * width, np.tile(batch.keys, rows), batch.values)


class OutOfCoreRows(Rows):
    """Rows that do not fit in memory: every iteration reads the source again."""

    bytes = 0

    def __init__(self, source: Source, rows: int, batch_rows: int) -> None:
        self.source = source
        self.rows = rows
        self.batch_rows = batch_rows

    def __iter__(self) -> Iterator[Batch]:
        for batch, _ in self.source.batches(self.batch_rows, want_labels=False):
            if len(batch):
                yield batch


def _same_keys(indptr: NDArray[np.int64], keys: NDArray[np.uint64], first: NDArray[np.uint64]) -> bool:
    width = len(first)
    if not (np.diff(indptr) == width).all():
        return False
    return bool((keys.reshape(len(indptr) - 1, width) == first).all())


def _repeats(batch: Batch, first: Batch) -> bool:
    if not _same_keys(batch.indptr, batch.keys, first.keys):
        return False
    if batch.values is None or first.values is None:
        return all(b.values is None or bool((b.values == 1).all()) for b in (batch, first))
    return bool((batch.values.reshape(len(batch), first.nnz) == first.values).all())
