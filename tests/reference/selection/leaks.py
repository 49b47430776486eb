"""A slow, obvious form of the errors of the best threshold on one feature."""

from __future__ import annotations

import numpy as np


def split_errors(feature, positive) -> int:
    """The fewest rows on the wrong side of a threshold, over all thresholds and both directions."""
    values = sorted(set(feature))
    found = [len(feature)]
    for threshold in values[:-1]:
        above = np.array([value > threshold for value in feature])
        wrong = int((above != positive).sum())
        found += [wrong, len(feature) - wrong]
    return min(found)
