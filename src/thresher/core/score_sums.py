"""What the scores of each task are made of: sums over the rows, added one by one in their order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.auc_histogram import Ranking

Floats = NDArray[np.float64]


class Sums:
    """What a task needs beside weight and loss: a table of sums."""

    def __init__(self, *shape: int) -> None:
        self.table = np.zeros(shape)

    def add(self, margins: Floats, y: NDArray[Any], weight: Floats) -> None:
        raise NotImplementedError

    def result(self, total: float, turned: bool) -> dict[str, float]:
        raise NotImplementedError

    def merge(self, other: Sums) -> None:
        """Take in another of the same kind."""
        self.table += other.table

    def state(self) -> dict[str, NDArray[Any]]:
        return {"score_table": self.table.copy()}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        table = state["score_table"]
        if table.dtype != np.float64 or table.shape != self.table.shape:
            raise ValueError("score_table of other scores")
        self.table = table.copy()


class BinarySums(Sums):
    """Weight rightly predicted, as the classes are and turned round (a margin of 0 is against the positive one)."""

    def __init__(self) -> None:
        super().__init__(2)
        self.ranking = Ranking()

    def add(self, margins: Floats, y: NDArray[Any], weight: Floats) -> None:
        right = (margins > 0) == (y > 0), (margins < 0) == (y < 0)
        for i, which in enumerate(right):
            self.table[i] = running(self.table[i], weight * which)[-1]
        self.ranking.add(margins, y > 0, weight)

    def result(self, total: float, turned: bool) -> dict[str, float]:
        return {"accuracy": float(self.table[int(turned)] / total), **self.ranking.result(turned=turned)}

    def merge(self, other: Sums) -> None:
        super().merge(other)
        assert isinstance(other, BinarySums)
        self.ranking.merge(other.ranking)

    def state(self) -> dict[str, NDArray[Any]]:
        return super().state() | self.ranking.state()

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        super().restore(state)
        self.ranking.restore(state)


class RealSums(Sums):
    """Origin; then sums over the rows: weight, distance from the origin, squared residual, spread of the targets.

    The spread adds up squared distances from the mean of the targets before (Welford), so nothing cancels;
    that mean follows from the sums of weight and of distance. The first target is the origin, so that a large
    constant in all targets costs no digits.
    """

    def __init__(self) -> None:
        super().__init__(5)
        self.table[0] = np.nan  # no target yet

    def add(self, margins: Floats, y: NDArray[Any], weight: Floats) -> None:
        if np.isnan(self.table[0]):
            self.table[0] = y[0]
        origin, total, distance, residual, spread = self.table
        away = y - origin
        totals = running(total, weight)
        distances = running(distance, weight * away)
        before = totals[:-1]
        mean = np.divide(distances[:-1], before, out=np.zeros(len(y)), where=before > 0)
        share = np.divide(before, totals[1:], out=np.zeros(len(y)), where=before > 0)
        self.table[1:] = (
            totals[-1],
            distances[-1],
            running(residual, weight * (margins - y) ** 2)[-1],
            running(spread, weight * share * (away - mean) ** 2)[-1],
        )

    def result(self, total: float, turned: bool) -> dict[str, float]:
        residual, spread = self.table[3:].tolist()
        scores = {"rmse": float((residual / total) ** 0.5)}
        return scores | {"r2": 1.0 - residual / spread} if spread > 0 else scores

    def merge(self, other: Sums) -> None:
        """Chan, Golub and LeVeque: the spreads, and the distance between the two means."""
        shift = other.table[0] - self.table[0]
        mine, theirs = self.table[1], other.table[1]
        if mine > 0 and theirs > 0:
            apart = shift + other.table[2] / theirs - self.table[2] / mine
            self.table[4] += apart * apart * (mine * (theirs / (mine + theirs)))
        self.table[1:] += other.table[1:]
        self.table[2] += theirs * shift


class ClassSums(Sums):
    """Of each class: weight of its rows, and of those rightly predicted."""

    def __init__(self, classes: int) -> None:
        super().__init__(2, classes)

    def add(self, margins: Floats, y: NDArray[Any], weight: Floats) -> None:
        y = y.astype(np.intp)
        np.add.at(self.table[0], y, weight)
        np.add.at(self.table[1], y, weight * (margins.argmax(axis=1) == y))

    def result(self, total: float, turned: bool) -> dict[str, float]:
        there, right = self.table
        scores = {"accuracy": float(right.sum() / there.sum())}
        if len(there) > 2:
            met = there > 0
            scores["balanced_accuracy"] = float((right[met] / there[met]).mean())
        return scores


class LabelSums(Sums):
    """Of each label: weight of the rows given it rightly, given it wrongly, and wrongly not given it."""

    def __init__(self, labels: int) -> None:
        super().__init__(3, labels)

    def add(self, margins: Floats, y: NDArray[Any], weight: Floats) -> None:
        given, true = margins > 0, y > 0
        for sums, which in zip(self.table, (given & true, given & ~true, ~given & true), strict=True):
            row, label = np.nonzero(which)
            np.add.at(sums, label, weight[row])

    def result(self, total: float, turned: bool) -> dict[str, float]:
        """F1 of all decisions together, its mean over the labels met or given, and the share of right decisions."""
        both, wrong = 2 * self.table[0], self.table[1] + self.table[2]
        scores: dict[str, float] = {}
        met = both + wrong > 0
        if met.any():
            scores["micro_f1"] = float(both.sum() / (both.sum() + wrong.sum()))
            scores["macro_f1"] = float((both[met] / (both[met] + wrong[met])).mean())
        return scores | {"hamming_accuracy": 1.0 - float(wrong.sum() / (total * len(wrong)))}


def running(start: float, terms: Floats) -> Floats:
    """The sums after none, one, two … of the terms, each added to the one before."""
    return np.add.accumulate(np.concatenate(([start], terms)))
