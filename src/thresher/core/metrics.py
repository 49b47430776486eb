"""How well rows are predicted: scores that fit the task, as running sums.

The same class serves rows held out and, batch after batch, rows that are predicted before they are
learned. Nothing grows with the rows, and every sum goes through them one by one, so where batches
end changes no bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.losses import Loss
from thresher.core.score_sums import BinarySums, ClassSums, Floats, LabelSums, RealSums, Sums, running
from thresher.errors import SettingsError


class Scores:
    """Scores of margins against the targets that the loss takes.

    ==================  ====================================================================
    loss                scores
    ==================  ====================================================================
    binary              accuracy, auc, average_precision, loss
    binary, 2-D         micro_f1, macro_f1, hamming_accuracy, loss (several labels a row)
    real                rmse, r2, loss
    softmax             accuracy, balanced_accuracy (of more than two classes), loss
    one against rest    the same, of a binary loss; its loss is the mean over the classes
    ==================  ====================================================================

    ``loss`` is the mean of the training loss, called ``log_loss`` where it is one. A score that is not
    defined (the AUC of one class, R² of equal targets) is left out. `thresher.core.auc_histogram` says how close
    AUC and average precision are; everything else is exact but for rounding.

    Parameters
    ----------
    loss : Loss
    classes : int
        Number of classes, for softmax and for one against rest.
    """

    def __init__(self, loss: Loss, classes: int = 2) -> None:
        self.loss = loss
        self.classes = classes
        self.rows = 0
        self._weight = self._loss = 0.0
        self._part = self._fresh()

    def _fresh(self) -> Sums:
        if self.loss.task == "classes":
            return ClassSums(self.classes)
        return BinarySums() if self.loss.task == "binary" else RealSums()

    def add(self, margins: NDArray[Any], y: NDArray[Any], weight: NDArray[Any] | None = None) -> None:
        """Compare margins with targets.

        Parameters
        ----------
        margins : array of shape (rows,) or (rows, n_classes)
        y : array of shape (rows,), or (rows, n_labels) for several labels a row
            -1 and +1 for binary losses, class numbers for softmax.
        weight : array of shape (rows,), optional
            Importance of each row.
        """
        margins = np.asarray(margins, dtype=np.float64)
        if len(margins) == 0:
            return
        if np.isnan(margins).any():
            raise ValueError("margins that are not numbers cannot be scored")
        if self.loss.task == "binary" and margins.ndim == 2 and self.rows == 0:
            self._part = LabelSums(margins.shape[1])
        weight = np.ones(len(margins)) if weight is None else np.asarray(weight, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # hopeless predictions may score infinitely badly
            self._loss = running(self._loss, weight * self._values(margins, y))[-1]
            self._part.add(margins, np.asarray(y), weight)
        self._weight = running(self._weight, weight)[-1]
        self.rows += len(margins)

    def _values(self, margins: Floats, y: NDArray[Any]) -> Floats:
        """The loss of each row; of several labels, their mean."""
        if isinstance(self._part, LabelSums):
            values = self.loss.value(margins.ravel(), y.ravel()).reshape(margins.shape)
            mean: Floats = np.add.accumulate(values, axis=1)[:, -1] / margins.shape[1]
            return mean
        return self.loss.value(margins, y)

    def result(self, *, turned: bool = False) -> dict[str, float]:
        """The scores by name, and the number of rows; empty without rows.

        With ``turned`` those of a binary model that is to be negated, and its classes with it: of the two
        labels met in a stream, the one that came first may turn out to be the negative one.
        """
        if not self._weight > 0:
            return {}
        name = "log_loss" if self.loss.name in ("logistic", "softmax") else "loss"
        return {
            "rows": self.rows,
            **self._part.result(self._weight, turned),
            name: float(self._loss / self._weight),
        }

    def merge(self, other: Scores) -> None:
        """Take in the rows of another, scored by the same loss."""
        if (other.loss, other.classes) != (self.loss, self.classes):
            raise SettingsError("scores of different losses or classes cannot be merged")
        if self.rows == 0 or other.rows == 0:
            if other.rows:
                self.restore(other.state())
            return
        if other._part.table.shape != self._part.table.shape:
            raise SettingsError("scores of different numbers of labels cannot be merged")
        self._part.merge(other._part)
        self._weight += other._weight
        self._loss += other._loss
        self.rows += other.rows

    @property
    def sums(self) -> tuple[float, float]:
        """The rows so far, each by its importance, and the sum of their losses."""
        return float(self._weight), float(self._loss)

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything the scores are made of, as arrays."""
        return {"score_sums": np.array([self.rows, self._weight, self._loss]), **self._part.state()}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on exactly where the scores that gave ``state`` stood; KeyError or ValueError unless it fits."""
        sums, table = state["score_sums"], state["score_table"]
        if sums.dtype != np.float64 or sums.shape != (3,) or not (sums[:2] >= 0).all():
            raise ValueError("score_sums that are none")
        fresh = self._fresh()
        if self.loss.task == "binary" and table.ndim == 2:
            fresh = LabelSums(table.shape[1])
        fresh.restore(state)
        rows, self._weight, self._loss = sums.tolist()
        self.rows, self._part = int(rows), fresh
