"""What fgm is compared with: LIBLINEAR's l1 machines, searched for a number of features."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np


class Fit(NamedTuple):
    """A model with some number of features."""

    features: np.ndarray[Any, Any]
    accuracy: float
    debiased: float
    seconds: float
    fits: int


def l1_model(kind: str, C: float, shift: bool) -> Any:
    """l1-SVM (squared hinge) or l1-LR."""
    if kind == "l1-SVM":
        from sklearn.svm import LinearSVC

        return LinearSVC(penalty="l1", dual=False, C=C, fit_intercept=shift, max_iter=200)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(penalty="l1", solver="liblinear", C=C, fit_intercept=shift)


def l1_search(
    kind: str, data: Any, count: int, *, shift: bool = True, low: float = 1e-4, high: float = 10.0, most: int = 8
) -> Fit:
    """Halve the range of C (in its logarithm) until the count is met within 3 %, ``most`` fits at the longest."""
    x, y, test, truth = data
    best: Any = None
    started, fits = time.perf_counter(), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LIBLINEAR says when it gave up before its tolerance
        while fits < most:
            C = float(np.sqrt(low * high))
            model = l1_model(kind, C, shift).fit(x, y)
            fits += 1
            found = np.flatnonzero(model.coef_[0])
            if best is None or abs(len(found) - count) < abs(len(best[0]) - count):
                best = (found, model)
            if abs(len(found) - count) <= 0.03 * count:
                break
            low, high = (C, high) if len(found) < count else (low, C)
        seconds = time.perf_counter() - started
        found, model = best
        return Fit(found, float(model.score(test, truth)), debiased(x, y, test, truth, found, shift), seconds, fits)


def debiased(x: Any, y: Any, test: Any, truth: Any, found: Any, shift: bool) -> float:
    """The accuracy of a plain SVM (C = 20, as in the paper) on these columns."""
    from sklearn.svm import LinearSVC

    if not len(found):
        return float("nan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = LinearSVC(C=20.0, dual="auto", fit_intercept=shift, max_iter=300).fit(x[:, found], y)
    return float(plain.score(test[:, found], truth))
