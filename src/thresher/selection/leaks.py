"""The rules by which one feature decides the label alone: found in some rows, confirmed in many more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.core.correlation import correlation

#: The fewest rows of a class, and of the other classes together.
_MIN_CLASS = 50
#: The most rows that the feature may get wrong, and the fewest that every other one must: shares of the smaller class.
_DECIDES, _OTHERS_FAIL = 0.02, 0.05
#: Every other feature is wrong at least so many times as often.
_TIMES = 5
#: For numbers as targets: the least correlation of the feature, and the largest of every other one.
_GIVES, _OTHERS_MISS = 0.999, 0.95
#: A feature correlated so much with another one holds the same, as the features of a yes-no column do.
_SAME_FEATURE = 0.9999


class Split(NamedTuple):
    """A feature that tells a class from the others: values above the threshold belong to it, or those below."""

    feature: int
    #: The target of the class.
    label: float
    threshold: float
    above: bool
    #: The rows that the next best feature gets wrong.
    next: int

    def wrong(self, values: NDArray[np.float32], y: NDArray[np.float64]) -> int:
        """The number of rows that the feature gets wrong."""
        return int((((values > self.threshold) == self.above) != (y == self.label)).sum())


class Line(NamedTuple):
    """A feature that gives the target: its correlation, and that of the next best feature."""

    feature: int
    correlation: float
    next: float


def find_split(features: NDArray[np.float32], y: NDArray[np.float64]) -> Split | None:
    """The feature that tells a class from the others far better than all other features do.

    Parameters
    ----------
    features : array of shape (features, rows)
    y : array of shape (rows,)
        -1 and +1, or numbers of classes.
    """
    labels, codes = np.unique(y, return_inverse=True)
    sizes = np.bincount(codes, minlength=1)
    smaller = np.minimum(sizes, len(y) - sizes)
    # Of two classes the second is enough: what tells it from the first tells the first from it.
    kinds = [c for c in range(len(labels)) if smaller[c] >= _MIN_CLASS and (len(labels) > 2 or c == 1)]
    if not kinds:
        return None
    wrong = np.array([split_errors(feature, codes, kinds) for feature in features])
    for j, c in enumerate(kinds):
        first = int(wrong[:, j].argmin())
        fewest = int(wrong[first, j])
        if fewest > _DECIDES * smaller[c]:
            continue
        others = _other_features(features, first)
        following = int(wrong[others, j].min(initial=len(y)))
        if following >= max(_OTHERS_FAIL * smaller[c], _TIMES * fewest):
            threshold, above = _best_threshold(features[first], codes == c)
            return Split(first, float(labels[c]), threshold, above, following)
    return None


def find_line(features: NDArray[np.float32], y: NDArray[np.float64]) -> Line | None:
    """The feature that gives a number as the target far better than all other features do."""
    if len(y) < 2 * _MIN_CLASS:
        return None
    found = np.array([correlation(feature, y) for feature in features])
    first = int(found.argmax())
    following = float(found[_other_features(features, first)].max(initial=0.0))
    clear = found[first] >= _GIVES and following <= _OTHERS_MISS
    return Line(first, float(found[first]), following) if clear else None


def decides(wrong: int, rows_of_class: int, rows: int) -> bool:
    """Whether a feature decides a class: it is wrong in few rows of the smaller side."""
    return wrong <= _DECIDES * min(rows_of_class, rows - rows_of_class)


def split_errors(feature: NDArray[np.float32], codes: NDArray[np.int64], kinds: list[int]) -> list[int]:
    """The fewest rows that a threshold on a feature gets wrong, for each class against the others."""
    order = np.argsort(feature, kind="stable")
    cuts = _cuts(feature[order])
    if not len(cuts):
        return [len(codes)] * len(kinds)
    errors = (_errors_above(codes[order] == c, cuts) for c in kinds)
    return [int(min(wrong.min(), len(codes) - wrong.max())) for wrong in errors]


def _best_threshold(feature: NDArray[np.float32], positive: NDArray[np.bool_]) -> tuple[float, bool]:
    """The best threshold, and whether the class is above it."""
    order = np.argsort(feature, kind="stable")
    ordered = feature[order]
    cuts = _cuts(ordered)
    wrong = _errors_above(positive[order], cuts)
    above = bool(wrong.min() <= len(positive) - wrong.max())
    return float(ordered[cuts[wrong.argmin() if above else wrong.argmax()]]), above


def _cuts(ordered: NDArray[np.float32]) -> NDArray[np.int64]:
    """The last row below each threshold."""
    return np.flatnonzero(ordered[1:] != ordered[:-1])


def _errors_above(positive: NDArray[np.bool_], cuts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows that each threshold gets wrong if the class is above it; the reverse gets the other rows wrong."""
    below = np.cumsum(positive)
    negative_above = (len(positive) - 1 - cuts) - (below[-1] - below[cuts])
    wrong: NDArray[np.int64] = below[cuts] + negative_above
    return wrong


def _other_features(features: NDArray[np.float32], first: int) -> NDArray[np.bool_]:
    """Which features are not the first one in another form."""
    return np.array([correlation(feature, features[first]) < _SAME_FEATURE for feature in features])
