"""The intercept of a finished model, fitted once more: what to add to all its margins.

Weights of features that are never negative (pixels, counts) push all margins up or down together, and with each row a
little more than is good: where a pass ends, the offset is that of its last rows. Another look at the data, with the
weights as they are, puts it right.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thresher.core.auc_histogram import AucHistogram
from thresher.core.losses import Loss

_HALVINGS = 60


def best_offset(loss: Loss, margins: AucHistogram) -> float:
    """The offset of the least loss over margins in bins; where several are as good, the one nearest to none."""
    centres, negative, positive = margins.nonempty()
    if not (negative.sum() > 0 and positive.sum() > 0):
        return 0.0

    def slope(offset: float) -> float:
        shifted = centres + offset
        up = loss.derivative(shifted, np.full(len(shifted), -1.0)) * negative
        return float((up + loss.derivative(shifted, np.ones(len(shifted))) * positive).sum())

    # Beyond this every row is on one side of all thresholds.
    far = 2.0 * float(np.abs(centres).max()) + 64.0
    lowest = _edge(lambda offset: slope(offset) < 0, -far, far)  # below it the loss still falls
    highest = _edge(lambda offset: slope(offset) <= 0, -far, far)  # above it the loss rises
    return min(max(0.0, lowest), highest)


def _edge(below: Callable[[float], bool], low: float, high: float) -> float:
    """Where something ends that holds below a point."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if below(middle) else (low, middle)
    return 0.5 * (low + high)


def add_margins(
    found: AucHistogram, margins: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float32] | None
) -> None:
    """Take in rows: margins, targets of -1 and +1, and importance."""
    found.add(margins, y > 0, np.ones(len(y)) if weight is None else weight.astype(np.float64))
