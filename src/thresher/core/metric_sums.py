"""The running sums behind the metrics of each task; rows are added one by one, in their order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.auc_histogram import AucHistogram

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
        scores = {"accuracy": float(correct.sum() / present.sum())}
        if len(present) > 2:
            seen = present > 0
            scores["balanced_accuracy"] = float((correct[seen] / present[seen]).mean())
        return scores


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
