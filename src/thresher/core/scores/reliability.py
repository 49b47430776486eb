"""How well probabilities agree with what happened: expected calibration error and log loss, in constant memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: The number of bins between 0 and 1.
BINS = 15


class Reliability:
    """Sums over rows in bins of equal width: weight, probability, and occurrences.

    For two classes, the probability is that of the second. For several classes it is that of the most probable one, and
    an occurrence is that this class is the right one. With several labels a row, each label of a row counts like a row.
    Rows are added one by one, so the results do not depend on the batches.
    """

    def __init__(self, bins: int = BINS) -> None:
        self._sums = np.zeros((3, bins))
        self._log_loss = 0.0
        self._weight = 0.0

    def add(self, probabilities: NDArray[Any], y: NDArray[Any], weight: NDArray[Any] | None = None) -> None:
        """Add rows.

        Parameters
        ----------
        probabilities : array of shape (rows,), (rows, 2), (rows, n_classes) or (rows, n_labels)
        y : array of shape (rows,), or (rows, n_labels)
            For two classes and for labels, positive means that the row is of the second class or has the label;
            for several classes, their numbers.
        weight : array of shape (rows,), optional
        """
        p, y = np.asarray(probabilities, dtype=np.float64), np.asarray(y)
        weight = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=np.float64)
        if y.ndim == 2:
            chance, occurred = p.ravel(), (y > 0).ravel()
            weight = np.repeat(weight, p.shape[1]) / max(1, p.shape[1])
            of_truth = np.where(occurred, chance, 1.0 - chance)
        elif p.ndim == 1 or p.shape[1] == 2:
            chance, occurred = p if p.ndim == 1 else p[:, 1], y > 0
            of_truth = np.where(occurred, chance, 1.0 - chance)
        else:
            number, chosen = y.astype(np.intp), p.argmax(axis=1)
            rows = np.arange(len(p))
            chance, occurred, of_truth = p[rows, chosen], chosen == number, p[rows, number]
        bins = self._sums.shape[1]
        place = np.minimum((chance * bins).astype(np.intp), bins - 1)
        for sums, terms in zip(self._sums, (weight, weight * chance, weight * occurred), strict=True):
            np.add.at(sums, place, terms)
        losses = -np.log(np.maximum(of_truth, np.finfo(np.float64).tiny))
        self._log_loss = float(np.add.accumulate(np.concatenate(([self._log_loss], weight * losses)))[-1])
        self._weight = float(np.add.accumulate(np.concatenate(([self._weight], weight)))[-1])

    @property
    def sums(self) -> Floats:
        """The weight, the sum of probabilities and that of occurrences in each bin, as rows of a table."""
        return self._sums

    @property
    def ece(self) -> float:
        """The expected calibration error: the mean distance of probability and frequency in a bin."""
        _, chances, occurrences = self._sums
        return float(np.abs(chances - occurrences).sum() / self._weight) if self._weight > 0 else 0.0

    @property
    def log_loss(self) -> float:
        """The mean of -log of the probability of what happened, over rows (and labels)."""
        return self._log_loss / self._weight if self._weight > 0 else 0.0


def expected_calibration_error(
    probabilities: NDArray[Any], y: NDArray[Any], bins: int = BINS, weight: NDArray[Any] | None = None
) -> float:
    """The expected calibration error; see `Reliability` for the arguments."""
    found = Reliability(bins)
    found.add(probabilities, y, weight)
    return found.ece
