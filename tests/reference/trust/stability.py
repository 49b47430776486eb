"""Stability selection in the most obvious way."""

from __future__ import annotations

from collections.abc import Sequence


def frequencies(fits: Sequence[Sequence[int]], k: int) -> dict[int, float]:
    """The share of fits in which a feature is among the first k."""
    features = {feature for fit in fits for feature in fit[:k]}
    return {feature: sum(feature in fit[:k] for fit in fits) / len(fits) for feature in features}


def threshold(q: float, p: int, most: float, fits: int) -> float | None:
    """Try every frequency above one half, the least first."""
    for count in range(fits // 2 + 1, fits + 1):
        tau = count / fits
        if q**2 / ((2 * tau - 1) * p) <= most * (1 + 1e-9):
            return tau
    return None
