"""Stand-ins by their definition: the cosine of every selected column and every other one."""

from __future__ import annotations

import numpy as np


def cosine(f: np.ndarray, g: np.ndarray) -> float:
    """The cosine of two columns; their correlation if more than half of the rows have each of them."""
    if min(np.count_nonzero(f), np.count_nonzero(g)) > len(f) / 2:
        f, g = f - f.mean(), g - g.mean()
    lengths = np.sqrt((f @ f) * (g @ g))
    return 0.0 if lengths < 1e-9 * len(f) else float(f @ g / lengths)


def alike(X: np.ndarray, selected: list[int], threshold: float) -> dict[tuple[int, int], float]:
    """The cosine of each pair of a selected column and another one that is at least the threshold."""
    found = {}
    for f in selected:
        for g in range(X.shape[1]):
            if g != f and abs(of := cosine(X[:, f], X[:, g])) >= threshold:
                found[f, g] = of
    return found
