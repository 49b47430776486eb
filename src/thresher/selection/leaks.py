"""The rule by which one feature decides the label alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.core.correlation import correlation

#: The rows that are examined, and the fewest of a class and of the others together.
LEAK_ROWS, _MIN_CLASS = 4096, 50
#: The most rows that the feature may get wrong, and the fewest that every other one must, as shares of the smaller class.
_DECIDES, _OTHERS_FAIL = 0.01, 0.10
#: For numbers as targets: the least correlation of the feature, and the largest of every other one.
_GIVES, _OTHERS_MISS = 0.999, 0.95
#: A feature correlated so much with another one holds the same, as the features of a yes-no column do.
_SAME_FEATURE = 0.9999


class Leak(NamedTuple):
    """A feature that decides the label alone: its number, its score, the next feature's score, and the class."""

    feature: int
    score: float
    next: float
    #: The class that it tells from the others; None for numbers as targets.
    kind: int | None


def find_leak(features: NDArray[np.float32], y: NDArray[np.float64], *, regression: bool) -> Leak | None:
    """The feature that decides the label alone, far better than all others.

    Parameters
    ----------
    features : array of shape (features, rows)
    y : array of shape (rows,)
        -1 and +1, numbers of classes, or numbers.
    regression : bool
        Whether ``y`` holds numbers.
    """
    if len(features) < 2 or len(y) < 2 * _MIN_CLASS:
        return None
    if regression:
        best = np.array([correlation(feature, y) for feature in features])
        first = int(best.argmax())
        others = _other_features(features, first)
        following = float(best[others].max(initial=0.0))
        clear = best[first] >= _GIVES and following <= _OTHERS_MISS and others.any()
        return Leak(first, float(best[first]), following, None) if clear else None
    values, codes = np.unique(y, return_inverse=True)
    sizes = np.bincount(codes)
    smaller = np.minimum(sizes, len(y) - sizes)
    # Of two classes the second alone is enough: what tells it from the first tells the first from it.
    kinds = [c for c in range(len(values)) if smaller[c] >= _MIN_CLASS and (len(values) > 2 or c == 1)]
    if not kinds:
        return None
    wrong = np.array([_split_errors(feature, codes, kinds) for feature in features])
    for j, c in enumerate(kinds):
        first = int(wrong[:, j].argmin())
        if wrong[first, j] > _DECIDES * smaller[c]:
            continue
        others = _other_features(features, first)
        following = float(wrong[others, j].min(initial=len(y)))
        if others.any() and following >= _OTHERS_FAIL * smaller[c]:
            return Leak(first, float(wrong[first, j]), following, 1 if len(values) == 2 else int(values[c]))
    return None


def _split_errors(feature: NDArray[np.float32], codes: NDArray[np.int64], kinds: list[int]) -> list[int]:
    """The fewest rows that a threshold on a feature gets wrong, for each class against the others."""
    order = np.argsort(feature, kind="stable")
    ordered = feature[order]
    cuts = np.flatnonzero(ordered[1:] != ordered[:-1])  # the last row below each threshold
    if not len(cuts):
        return [len(codes)] * len(kinds)
    below = cuts + 1
    errors = []
    for c in kinds:
        positive = np.cumsum(codes[order] == c)
        # Errors of the threshold that puts the class above it; the reverse threshold errs in the other rows.
        wrong = positive[cuts] + (len(codes) - below) - (positive[-1] - positive[cuts])
        errors.append(int(min(wrong.min(), len(codes) - wrong.max())))
    return errors


def _other_features(features: NDArray[np.float32], first: int) -> NDArray[np.bool_]:
    """Which features are not the first one in another form."""
    return np.array([correlation(feature, features[first]) < _SAME_FEATURE for feature in features])
