"""Residuals of regression in histograms whose edges the first rows decide."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.selection.report.json_values import short, shorts

Floats = NDArray[np.float64]

#: The rows that decide the edges, the bins of the residuals, and the bins of each side of prediction against truth.
FIRST, BINS, SIDE = 4096, 40, 36


class Residuals:
    """Counts of residuals, and of pairs of prediction and truth. Values beyond the edges count in the last bins."""

    def __init__(self) -> None:
        self._first: tuple[list[Floats], list[Floats]] | None = ([], [])
        self._waiting = 0
        self._edges: tuple[Floats, Floats] = (np.empty(0), np.empty(0))
        self._residuals = np.zeros(BINS, np.int64)
        self._pairs = np.zeros((SIDE, SIDE), np.int64)

    def add(self, predicted: Floats, actual: Floats) -> None:
        """Add rows."""
        if self._first is not None:
            room = FIRST - self._waiting
            self._first[0].append(predicted[:room].copy())
            self._first[1].append(actual[:room].copy())
            self._waiting += min(room, len(predicted))
            predicted, actual = predicted[room:], actual[room:]
            if self._waiting == FIRST:
                self._settle()
        if len(predicted):
            self._count(predicted, actual)

    def _settle(self) -> None:
        """Choose the edges by the first rows, and count these."""
        assert self._first is not None
        predicted, actual = (np.concatenate(part) for part in self._first)
        self._first = None
        spread = float(np.quantile(np.abs(actual - predicted), 0.99)) or 1.0
        low, high = np.quantile(np.concatenate([predicted, actual]), [0.002, 0.998])
        if not high > low:
            low, high = low - 0.5, high + 0.5
        self._edges = (np.linspace(-spread, spread, BINS + 1), np.linspace(low, high, SIDE + 1))
        self._count(predicted, actual)

    def _count(self, predicted: Floats, actual: Floats) -> None:
        of_residual, of_value = self._edges
        np.add.at(self._residuals, _bin(actual - predicted, of_residual), 1)
        np.add.at(self._pairs, (_bin(actual, of_value), _bin(predicted, of_value)), 1)

    def view(self) -> dict[str, Any]:
        """The histogram, and the nonempty cells of prediction against truth."""
        if self._first is not None:
            self._settle()
        actual, predicted = np.nonzero(self._pairs)
        width = float(self._edges[1][1] - self._edges[1][0])
        return {
            "kind": "residuals",
            "title": "Residuals",
            "question": "Where does it err?",
            "note": "A residual is what is true minus what was predicted. The first and last bins hold all that is "
            "beyond them.",
            "edges": shorts(self._edges[0].tolist(), 4),
            "count": self._residuals.tolist(),
            "low": short(self._edges[1][0], 6),
            "width": short(width, 6),
            "pairs": [predicted.tolist(), actual.tolist(), self._pairs[actual, predicted].tolist()],
            "side": SIDE,
        }


def _bin(values: Floats, edges: Floats) -> NDArray[np.intp]:
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
