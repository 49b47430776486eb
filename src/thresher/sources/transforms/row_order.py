"""Judges by the labels of the first rows whether the order of the rows matters to an online learner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch, Cursor

#: The least number of rows to judge by.
_LEAST_ROWS = 100
#: Numbers drift if the variance between this many parts exceeds that within parts by this factor. With rows in random
#: order that happens less than once in 10^15 times.
_PARTS, _FACTOR = 16, 10.0


class LabelOrder:
    """Detects rows that are sorted by class, from which an online learner forgets the earlier classes."""

    def __init__(self, has_classes: bool) -> None:
        self._counts: dict[Any, int] = {}
        self._changes = 0
        self._last: Any = np.nan
        self._has_classes = has_classes

    def add(self, labels: NDArray[Any]) -> None:
        """Count the next rows."""
        if not self._has_classes or not len(labels):
            return
        self._changes += int(labels[0] != self._last) + int((labels[1:] != labels[:-1]).sum())
        self._last = labels[-1]
        for label, count in zip(*np.unique(labels, return_counts=True), strict=True):
            self._counts[label] = self._counts.get(label, 0) + int(count)

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return sum(self._counts.values())

    @property
    def classes(self) -> int:
        """The number of different labels so far."""
        return len(self._counts)

    @property
    def sorted(self) -> bool:
        """Whether neighbouring rows differ less than a quarter as often as by chance, in at least 100 rows."""
        rows = self.rows
        chance = 1.0 - sum((count / rows) ** 2 for count in self._counts.values()) if rows else 0.0
        return rows >= _LEAST_ROWS and self._changes < 0.25 * chance * rows

    @property
    def grouped(self) -> bool:
        """Whether all rows of a class follow one another."""
        return self._changes == self.classes < self.rows


def drifts(targets: NDArray[np.float64]) -> bool:
    """Whether the means of consecutive parts of some numbers differ far more than by chance (an F test)."""
    n = len(targets)
    if n < _LEAST_ROWS:
        return False
    parts = np.array_split(targets, _PARTS)
    mean = targets.mean()
    between = sum(len(part) * (part.mean() - mean) ** 2 for part in parts) / (_PARTS - 1)
    within = sum(((part - part.mean()) ** 2).sum() for part in parts) / (n - _PARTS)
    return bool(between > _FACTOR * within)


@dataclass
class FirstRows:
    """The labels of the rows that fill a shuffle buffer, or several, in the order of the data.

    Parameters
    ----------
    rows, features : int
        The size of the buffer, which ends with the row that fills it.
    has_classes : bool
        Labels are classes, not numbers.
    buffers : int
        Rows are counted until there are enough of two classes, or this many buffers are full.
    """

    rows: int
    features: int
    has_classes: bool
    buffers: int = 1
    held: list[tuple[Batch, Cursor]] = field(default_factory=list)
    _labels: list[NDArray[Any]] = field(default_factory=list)

    def why(self, batches: Iterator[tuple[Batch, Cursor]], *, hold: bool = False) -> str | None:
        """Why the order of the rows matters; None if it does not, or if one buffer holds them all.

        With ``hold``, the batches that were read are kept in `held`.
        """
        order = LabelOrder(self.has_classes)
        n = nnz = full = 0
        for batch, cursor in batches:
            if hold:
                self.held.append((batch, cursor))
            if batch.y is None or batch.y_indptr is not None:
                return None  # labels of several kinds have no order
            at = 0
            while at < len(batch):
                if full and n == 0:  # there is a row behind the buffers that were filled
                    judged = self._judge(order, last=full == self.buffers)
                    if judged is not None:
                        return judged or None
                end = self._end(batch, at, n, nnz)
                order.add(batch.y[at:end])
                if not self.has_classes:
                    self._labels.append(batch.y[at:end])
                n, nnz = n + end - at, nnz + int(batch.indptr[end] - batch.indptr[at])
                if n >= self.rows or nnz >= self.features:
                    full, n, nnz = full + 1, 0, 0
                at = end
        if full == 0 or (full == 1 and n == 0):
            return None
        return self._judge(order, last=True, ended=True) or None

    def _end(self, batch: Batch, at: int, n: int, nnz: int) -> int:
        """The end of the rows of a batch, from ``at`` on, that still go into the buffer."""
        by_features = int(np.searchsorted(batch.indptr, batch.indptr[at] + self.features - nnz))
        return min(max(at + 1, by_features), at + self.rows - n, len(batch))

    def _judge(self, order: LabelOrder, *, last: bool, ended: bool = False) -> str | None:
        """Why the order matters, an empty text if it does not, None if more rows must be counted."""
        if not self.has_classes:
            labels = np.concatenate(self._labels).astype(np.float64)
            return "the targets drift from row to row" if drifts(labels) or np.ptp(labels) == 0 else ""
        if order.classes > 1 and order.rows >= _LEAST_ROWS:
            return "the classes come one after the other" if order.sorted else ""
        if not last:
            return None
        if order.classes == 1:
            return "" if ended else f"the first {order.rows:,} rows are of one class"
        return "the classes come one after the other" if order.grouped else ""
