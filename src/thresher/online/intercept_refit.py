"""Refit the intercept of a finished model.

Each update of nonnegative features (pixels, counts) shifts all margins in the same direction. At the end of a pass the
intercept therefore fits the last rows best. One more pass, with the weights fixed, corrects it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thresher.core.labels import Targets
from thresher.core.losses import Loss
from thresher.core.scores.auc_histogram import AucHistogram
from thresher.sources.base import Source

_HALVINGS = 60


def best_offset(loss: Loss, margins: AucHistogram) -> float:
    """The offset with the least loss over a histogram of margins; of equally good ones, the nearest to 0."""
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
    """Bisect for the point up to which a condition holds."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if below(middle) else (low, middle)
    return 0.5 * (low + high)


def refit_offset(engine: Any, source: Source, targets: Targets, batch_rows: int) -> float:
    """Read the data once more and return the best offset for the weights as they are."""
    found = AucHistogram()
    for batch, _ in source.batches(batch_rows, keys=np.sort(engine.selected().keys)):
        y = targets.encode(batch, lambda row: source.describe())
        weight = np.ones(len(y)) if batch.weight is None else batch.weight.astype(np.float64)
        found.add(engine.margins(batch), y > 0, weight)
    return best_offset(targets.loss, found)
