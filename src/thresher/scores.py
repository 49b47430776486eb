"""How well a selection predicts labelled rows, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Batch, Cursor
from thresher.errors import DataError
from thresher.losses import Loss
from thresher.sources.source import Source

if TYPE_CHECKING:
    from thresher.selection import Selection


class Scores:
    """Running sums of what the scores are made of; nothing grows with the rows."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.rows = 0
        self._weight = self._right = self._loss = 0.0
        self._mean = self._spread = self._residual = 0.0

    def add(self, selection: Selection, source: Source, batch: Batch, cursor: Cursor) -> None:
        """Predict a batch and compare."""
        if batch.y is None or batch.y_indptr is not None:
            raise DataError("to score against, every row must have one label.")
        margins = selection.margins(batch)
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight.astype(np.float64)
        classes = selection.classes
        y, bad = _numbers(batch.y) if classes is None else _positions(batch.y, classes)
        if bad.any():
            row = int(np.argmax(bad))
            wanted = "a finite number" if classes is None else f"one of the classes learned, {classes}"
            raise DataError(f"{source.where(cursor, batch, row)}: the label {batch.y[row]!r} is not {wanted}.")
        if classes is None:
            self._add_spread(y, weight)
            self._residual += float((weight * (margins - y) ** 2).sum())
        else:
            chosen = margins > 0 if margins.ndim == 1 else margins.argmax(axis=1)
            self._right += float((weight * (chosen == y)).sum())
            if margins.ndim == 1:
                y = 2.0 * y - 1.0
        self._loss += float((weight * self.loss.value(margins, y)).sum())
        self._weight += float(weight.sum())
        self.rows += len(batch)

    def _add_spread(self, y: NDArray[np.float64], weight: NDArray[np.float64]) -> None:
        """Join the batch's mean and squared distance from it to those so far (Chan, Golub and LeVeque)."""
        total = float(weight.sum())
        if total == 0.0:
            return
        mean = y[0] + float((weight * (y - y[0])).sum()) / total
        apart = mean - self._mean
        both = self._weight + total
        self._spread += float((weight * (y - mean) ** 2).sum()) + apart * apart * self._weight * total / both
        self._mean += apart * total / both

    def result(self) -> dict[str, float]:
        """The scores; empty without rows."""
        if self._weight == 0:
            return {}
        mean_loss = self._loss / self._weight
        if self.loss.task != "real":
            return {"rows": self.rows, "accuracy": self._right / self._weight, "loss": mean_loss}
        rmse = (self._residual / self._weight) ** 0.5
        # Targets that are all the same are explained wholly or not at all.
        r2 = 1.0 - self._residual / self._spread if self._spread > 0 else float(self._residual == 0)
        return {"rows": self.rows, "rmse": rmse, "r2": r2, "loss": mean_loss}


def _numbers(y: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The targets as numbers, and which of them are none."""
    if y.dtype == object:
        return np.zeros(len(y)), np.ones(len(y), bool)
    numbers = y.astype(np.float64)
    return numbers, np.logical_not(np.isfinite(numbers))


def _positions(y: NDArray[Any], classes: list[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The number of each label's class, and which labels have none."""
    same = np.stack([[_equal(value, label) for value in y] if y.dtype == object else y == label for label in classes])
    return same.argmax(axis=0).astype(np.float64), np.logical_not(same.any(axis=0))


def _equal(value: Any, label: Any) -> bool:
    try:
        return bool(value == label)
    except TypeError:  # pandas.NA, of which nothing is known
        return False
