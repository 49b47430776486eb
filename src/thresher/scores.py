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
        self._y = self._yy = self._rr = 0.0

    def add(self, selection: Selection, source: Source, batch: Batch, cursor: Cursor) -> None:
        """Predict a batch and compare."""
        margins = selection.margins(batch)
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight.astype(np.float64)
        self.rows += len(batch)
        self._weight += float(weight.sum())
        if selection.classes is None:
            y = _numbers(batch.y)
            self._rr += float((weight * (margins - y) ** 2).sum())
            self._y += float((weight * y).sum())
            self._yy += float((weight * y * y).sum())
            self._loss += float((weight * self.loss.value(margins, y)).sum())
            return
        known = np.isin(batch.y, selection.classes)  # type: ignore[arg-type]
        if not known.all():
            row = int(np.argmin(known))
            raise DataError(
                f"{source.where(cursor, batch, row)}: the label {batch.y[row]!r} is none of the classes "  # type: ignore[index]
                f"learned, {selection.classes}."
            )
        y = np.where(np.asarray(batch.y == selection.classes[-1]), 1.0, -1.0)
        self._right += float((weight * ((margins > 0) == (y > 0))).sum())
        self._loss += float((weight * self.loss.value(margins, y)).sum())

    def result(self) -> dict[str, float]:
        """The scores; empty without rows."""
        if self._weight == 0:
            return {}
        mean_loss = self._loss / self._weight
        if self.loss.task != "real":
            return {"rows": self.rows, "accuracy": self._right / self._weight, "loss": mean_loss}
        mse = self._rr / self._weight
        variance = self._yy / self._weight - (self._y / self._weight) ** 2
        r2 = 1.0 - mse / variance if variance > 0 else 0.0
        return {"rows": self.rows, "rmse": mse**0.5, "r2": r2, "loss": mean_loss}


def _numbers(y: Any) -> NDArray[np.float64]:
    numbers = np.asarray(y, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise DataError("the targets to score against are not all finite numbers.")
    return numbers
