"""The twin of the calibration: the log loss of Platt's targets, minimised by trying numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


def smoothed_loss(a: float, b: float, m: Any, positive: Any, weight: Any) -> float:
    """The log loss of 1 / (1 + exp(-(a m + b))) against Platt's targets, row by row."""
    hits, misses = 0.0, 0.0
    for is_positive, w in zip(positive, weight, strict=True):
        hits, misses = (hits + w, misses) if is_positive else (hits, misses + w)
    total = 0.0
    for margin, is_positive, w in zip(m, positive, weight, strict=True):
        target = (hits + 1) / (hits + 2) if is_positive else 1 / (misses + 2)
        p = 1 / (1 + np.exp(-(a * margin + b)))
        total -= w * (target * np.log(p) + (1 - target) * np.log(1 - p))
    return total


def smoothed_softmax_loss(s: float, m: Any, y: Any, weight: Any) -> float:
    """The log loss of the softmax of s m, row by row; other classes share what the target leaves."""
    sizes = [sum(w for label, w in zip(y, weight, strict=True) if label == c) for c in range(m.shape[1])]
    total = 0.0
    for margins, label, w in zip(m, y, weight, strict=True):
        powers = np.exp(s * margins)
        for c, p in enumerate(powers / powers.sum()):
            rest = 1 / (sizes[label] + 2)
            total -= w * (1 - rest if c == label else rest / (len(powers) - 1)) * np.log(p)
    return total


def error_of(p: Any, occurred: Any, bins: int = 15) -> float:
    """The expected calibration error of probabilities of one event."""
    total = 0.0
    for i in range(bins):
        inside = [j for j in range(len(p)) if min(int(p[j] * bins), bins - 1) == i]
        if inside:
            total += abs(sum(p[j] for j in inside) - sum(bool(occurred[j]) for j in inside))
    return total / len(p)
