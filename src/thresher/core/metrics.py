"""Metrics of predictions for each task, from running sums in constant memory.

They serve held-out rows and progressive validation, where each batch is predicted before the model learns from it.
Rows are added one by one, so the results do not depend on the batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.losses import Loss
from thresher.core.metric_sums import BinarySums, ClassSums, Floats, LabelSums, RealSums, Sums, running_sums
from thresher.errors import SettingsError


class Scores:
    """Scores of margins against the targets of a loss.

    ==================  ====================================================================
    loss                scores
    ==================  ====================================================================
    binary              accuracy, auc, average_precision, loss
    binary, 2-D         micro_f1, macro_f1, hamming_accuracy, loss (several labels a row)
    real                rmse, r2, loss
    softmax             accuracy, balanced_accuracy (more than two classes), loss
    one against rest    as for softmax, with the sum of the binary losses
    ==================  ====================================================================

    ``loss`` is the mean of the training loss, called ``log_loss`` for the logistic and softmax losses. Undefined scores
    (the AUC of one class, the R² of equal targets) are left out. `thresher.core.auc_histogram` bounds the errors of AUC
    and average precision; all other scores are exact except for rounding.

    Parameters
    ----------
    loss : Loss
    classes : int
        The number of classes, for softmax and one against rest.
    """

    def __init__(self, loss: Loss, classes: int = 2) -> None:
        self.loss = loss
        self.classes = classes
        self.rows = 0
        self._weight = self._loss = 0.0
        self._sums = self._new_sums()

    def _new_sums(self) -> Sums:
        if self.loss.task == "classes":
            return ClassSums(self.classes)
        return BinarySums() if self.loss.task == "binary" else RealSums()

    def add(self, margins: NDArray[Any], y: NDArray[Any], weight: NDArray[Any] | None = None) -> None:
        """Add rows.

        Parameters
        ----------
        margins : array of shape (rows,) or (rows, n_classes)
        y : array of shape (rows,), or (rows, n_labels) for several labels a row
            -1 and +1 for binary losses, class numbers for softmax.
        weight : array of shape (rows,), optional
            The weights of the rows.
        """
        margins = np.asarray(margins, dtype=np.float64)
        if len(margins) == 0:
            return
        if np.isnan(margins).any():
            raise ValueError("margins that are NaN cannot be scored")
        if self.loss.task == "binary" and margins.ndim == 2 and self.rows == 0:
            self._sums = LabelSums(margins.shape[1])
        weight = np.ones(len(margins)) if weight is None else np.asarray(weight, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # the loss of a bad prediction may overflow
            self._loss = running_sums(self._loss, weight * self._values(margins, y))[-1]
            self._sums.add(margins, np.asarray(y), weight)
        self._weight = running_sums(self._weight, weight)[-1]
        self.rows += len(margins)

    def _values(self, margins: Floats, y: NDArray[Any]) -> Floats:
        """The loss of each row; its mean over the labels if there are several."""
        if isinstance(self._sums, LabelSums):
            values = self.loss.value(margins.ravel(), y.ravel()).reshape(margins.shape)
            mean: Floats = np.add.accumulate(values, axis=1)[:, -1] / margins.shape[1]
            return mean
        return self.loss.value(margins, y)

    def result(self, *, flip_sign: bool = False) -> dict[str, float]:
        """The scores by name, and the number of rows; empty without rows.

        ``flip_sign`` negates a binary model and swaps its classes: the first label of a stream, encoded as +1, may
        turn out to be the negative class.
        """
        if not self._weight > 0:
            return {}
        name = "log_loss" if self.loss.name in ("logistic", "softmax") else "loss"
        return {
            "rows": self.rows,
            **self._sums.result(self._weight, flip_sign),
            name: float(self._loss / self._weight),
        }

    def merge(self, other: Scores) -> None:
        """Add the rows of other scores of the same loss."""
        if (other.loss, other.classes) != (self.loss, self.classes):
            raise SettingsError("scores of different losses or classes cannot be merged")
        if self.rows == 0 or other.rows == 0:
            if other.rows:
                self.restore(other.state())
            return
        if other._sums.table.shape != self._sums.table.shape:
            raise SettingsError("scores of different numbers of labels cannot be merged")
        self._sums.merge(other._sums)
        self._weight += other._weight
        self._loss += other._loss
        self.rows += other.rows

    @property
    def sums(self) -> tuple[float, float]:
        """The sum of the row weights so far, and of their weighted losses."""
        return float(self._weight), float(self._loss)

    def state(self) -> dict[str, NDArray[Any]]:
        """The state as arrays."""
        return {"score_sums": np.array([self.rows, self._weight, self._loss]), **self._sums.state()}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue exactly from a `state`; KeyError or ValueError if it does not fit."""
        totals, table = state["score_sums"], state["score_table"]
        if totals.dtype != np.float64 or totals.shape != (3,) or not (totals[:2] >= 0).all():
            raise ValueError("score_sums are invalid")
        new = self._new_sums()
        if self.loss.task == "binary" and table.ndim == 2:
            new = LabelSums(table.shape[1])
        new.restore(state)
        rows, self._weight, self._loss = totals.tolist()
        self.rows, self._sums = int(rows), new
