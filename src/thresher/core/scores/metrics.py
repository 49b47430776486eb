"""Metrics of predictions for each task, from running sums in constant memory.

They serve held-out rows and progressive validation, where each batch is predicted before the model learns from it.
Rows are added one by one, so the results do not depend on the batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.losses import Loss
from thresher.core.scores.auc_histogram import AucHistogram
from thresher.errors import SettingsError

Floats = NDArray[np.float64]


class Sums:
    """A table of sums: all that the metrics of a task need beside the total weight and loss."""

    def __init__(self, *shape: int) -> None:
        self.table = np.zeros(shape)

    def add(self, margins: Floats, y: NDArray[Any], weight: Floats) -> None:
        """Add rows."""
        raise NotImplementedError

    def result(self, total: float, flip_sign: bool) -> dict[str, float]:
        """The metrics by name; ``total`` is the weight of all rows."""
        raise NotImplementedError

    def merge(self, other: Sums) -> None:
        """Add the sums of others of the same class."""
        self.table += other.table

    def state(self) -> dict[str, NDArray[Any]]:
        return {"score_table": self.table.copy()}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        table = state["score_table"]
        if table.dtype != np.float64 or table.shape != self.table.shape:
            raise ValueError("score_table does not fit the scores")
        self.table = table.copy()


class BinarySums(Sums):
    """The weight of correct predictions, as is and with the sign flipped; a margin of 0 is for the negative class."""

    def __init__(self) -> None:
        super().__init__(2)
        self.histogram = AucHistogram()

    def add(self, margins: Floats, y: NDArray[Any], weight: Floats) -> None:
        correct = (margins > 0) == (y > 0), (margins < 0) == (y < 0)
        for i, which in enumerate(correct):
            self.table[i] = running_sums(self.table[i], weight * which)[-1]
        self.histogram.add(margins, y > 0, weight)

    def result(self, total: float, flip_sign: bool) -> dict[str, float]:
        return {"accuracy": float(self.table[int(flip_sign)] / total), **self.histogram.result(flip_sign=flip_sign)}

    def merge(self, other: Sums) -> None:
        super().merge(other)
        assert isinstance(other, BinarySums)
        self.histogram.merge(other.histogram)

    def state(self) -> dict[str, NDArray[Any]]:
        return super().state() | self.histogram.state()

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        super().restore(state)
        self.histogram.restore(state)


class RealSums(Sums):
    """The origin, and sums over the rows: weight, distance from the origin, squared residual, spread of the targets.

    The spread sums squared distances from the running mean (Welford), so no digits cancel; the running mean follows
    from the sums of weight and distance. The first target is the origin, so that a large constant in all targets costs
    no digits either.
    """

    def __init__(self) -> None:
        super().__init__(5)
        self.table[0] = np.nan  # no target yet

    def add(self, margins: Floats, y: NDArray[Any], weight: Floats) -> None:
        if np.isnan(self.table[0]):
            self.table[0] = y[0]
        origin, total, distance, residual, spread = self.table
        away = y - origin
        totals = running_sums(total, weight)
        distances = running_sums(distance, weight * away)
        before = totals[:-1]
        mean = np.divide(distances[:-1], before, out=np.zeros(len(y)), where=before > 0)
        share = np.divide(before, totals[1:], out=np.zeros(len(y)), where=before > 0)
        self.table[1:] = (
            totals[-1],
            distances[-1],
            running_sums(residual, weight * (margins - y) ** 2)[-1],
            running_sums(spread, weight * share * (away - mean) ** 2)[-1],
        )

    def result(self, total: float, flip_sign: bool) -> dict[str, float]:
        residual, spread = self.table[3:].tolist()
        scores = {"rmse": float((residual / total) ** 0.5)}
        return scores | {"r2": 1.0 - residual / spread} if spread > 0 else scores

    def merge(self, other: Sums) -> None:
        """Merge by the formula of Chan, Golub and LeVeque: both spreads, and the distance between the means."""
        offset = other.table[0] - self.table[0]
        mine, theirs = self.table[1], other.table[1]
        if mine > 0 and theirs > 0:
            gap = offset + other.table[2] / theirs - self.table[2] / mine
            self.table[4] += gap * gap * (mine * (theirs / (mine + theirs)))
        self.table[1:] += other.table[1:]
        self.table[2] += theirs * offset


class ClassSums(Sums):
    """For each class: the weight of its rows, and of those predicted correctly."""

    def __init__(self, classes: int) -> None:
        super().__init__(2, classes)

    def add(self, margins: Floats, y: NDArray[Any], weight: Floats) -> None:
        y = y.astype(np.intp)
        np.add.at(self.table[0], y, weight)
        np.add.at(self.table[1], y, weight * (margins.argmax(axis=1) == y))

    def result(self, total: float, flip_sign: bool) -> dict[str, float]:
        present, correct = self.table
        seen = present > 0
        return {
            "accuracy": float(correct.sum() / present.sum()),
            "balanced_accuracy": float((correct[seen] / present[seen]).mean()),
            "largest_class": float(present.max() / present.sum()),
        }


class LabelSums(Sums):
    """For each label: the weight of true positives, false positives and false negatives."""

    def __init__(self, labels: int) -> None:
        super().__init__(3, labels)

    def add(self, margins: Floats, y: NDArray[Any], weight: Floats) -> None:
        predicted, true = margins > 0, y > 0
        for sums, which in zip(self.table, (predicted & true, predicted & ~true, ~predicted & true), strict=True):
            row, label = np.nonzero(which)
            np.add.at(sums, label, weight[row])

    def result(self, total: float, flip_sign: bool) -> dict[str, float]:
        """Micro F1, macro F1 over the labels that occur or are predicted, and the share of correct decisions."""
        hits, wrong = 2 * self.table[0], self.table[1] + self.table[2]
        scores: dict[str, float] = {}
        seen = hits + wrong > 0
        if seen.any():
            scores["micro_f1"] = float(hits.sum() / (hits.sum() + wrong.sum()))
            scores["macro_f1"] = float((hits[seen] / (hits[seen] + wrong[seen])).mean())
        return scores | {"hamming_accuracy": 1.0 - float(wrong.sum() / (total * len(wrong)))}


def running_sums(start: float, terms: Floats) -> Floats:
    """The partial sums: ``start``, then with each term added in order."""
    return np.add.accumulate(np.concatenate(([start], terms)))


class Scores:
    """Scores of margins against the targets of a loss.

    ==================  ========================================================================
    loss                scores
    ==================  ========================================================================
    binary              accuracy, auc, average_precision, balanced_accuracy, largest_class, loss
    binary, 2-D         micro_f1, macro_f1, hamming_accuracy, loss (several labels a row)
    real                rmse, r2, loss
    softmax             accuracy, balanced_accuracy, largest_class, loss
    one against rest    as for softmax, with the sum of the binary losses
    ==================  ========================================================================

    ``balanced_accuracy`` is the mean recall of the classes, and ``largest_class`` the share of rows in the largest one,
    which is the accuracy of always predicting it. ``loss`` is the mean of the training loss, called ``log_loss`` for
    the logistic and softmax losses. Undefined scores (the AUC of one class, the R² of equal targets) are left out.
    `thresher.core.scores.auc_histogram` bounds the errors of AUC and average precision, and counts margins below 2^-126
    as 0; all other scores are exact except for rounding.

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
