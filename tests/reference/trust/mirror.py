"""Mirror statistics and their cut, by the formulas."""

from __future__ import annotations

import numpy as np


def kept(mirror: np.ndarray, q: float) -> np.ndarray:
    """The features above the least t with (1 + #{M < -t}) / max(1, #{M > t}) at most q."""
    for t in sorted({0.0, *np.abs(mirror).tolist()}):
        if (1 + sum(m < -t for m in mirror)) / max(1, sum(m > t for m in mirror)) <= q:
            return mirror > t
    return np.zeros(len(mirror), bool)


def kept_by_several(kept: list[np.ndarray], strength: np.ndarray, q: float) -> np.ndarray:
    """The features that are left once those with the least inclusion rates, of a sum of at most q, are dropped."""
    rates = [np.mean([one[j] / max(1, one.sum()) for one in kept]) for j in range(len(strength))]
    total, stays = 0.0, np.zeros(len(strength), bool)
    for j in sorted(range(len(strength)), key=lambda j: (rates[j], strength[j])):
        total += rates[j]
        stays[j] = total > q + 1e-12
    return stays
