"""What people use instead on sparse data: l1-penalised models with at most k features, and the k best by chi²."""

from __future__ import annotations

import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import DATASETS

#: Bounds of C in the search for k non-zeros, and the number of bisections of its logarithm.
_LEAST, _MOST, _BISECTIONS = 1e-7, 1e3, 14


def unpacked(folder: Path, name: str) -> Path:
    """A data set as a plain file."""
    path = folder / name
    if not path.exists():
        with lzma.open(Path(os.environ[DATASETS]) / f"{name}.xz") as file:
            path.write_bytes(file.read())
    return path


def matrices(train: Path, test: Path) -> Any:
    """Training rows and labels, test rows and labels."""
    from sklearn.datasets import load_svmlight_files

    loaded = load_svmlight_files([str(train), str(test)])
    for x in (loaded[0], loaded[2]):  # liblinear takes 32-bit indices only
        x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    return loaded


def searched(x: Any, y: Any, held: Any, held_y: Any) -> float:
    """The test accuracy of an l2 logistic regression with C by cross-validation."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    grid = {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}
    search = GridSearchCV(LogisticRegression(solver="liblinear", max_iter=1000), grid, cv=3, n_jobs=1)
    return float(search.fit(x, y).score(held, held_y))


def logistic(C: float) -> Any:
    """An l1-penalised logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(l1_ratio=1, C=C, solver="liblinear", random_state=0, max_iter=300)


def svm(C: float) -> Any:
    """An l1-penalised linear support vector machine."""
    from sklearn.svm import LinearSVC

    return LinearSVC(penalty="l1", dual=False, C=C, random_state=0, max_iter=300)


class L1Path:
    """Fits of an l1-penalised model, each made once."""

    def __init__(self, x: Any, y: Any, make: Callable[[float], Any] = logistic) -> None:
        self.x, self.y, self._make = x, y, make
        self._fits: dict[float, Any] = {}

    def largest(self, k: int) -> tuple[Any, Any]:
        """The columns and the model of the fit with most non-zeros not above k."""
        low, high, best = _LEAST, _MOST, None
        for _ in range(_BISECTIONS):
            middle = (low * high) ** 0.5
            if middle not in self._fits:
                self._fits[middle] = self._make(middle).fit(self.x, self.y)
            columns = np.flatnonzero(self._fits[middle].coef_[0])
            if len(columns) > k:
                high = middle
            else:
                low = middle
                best = (columns, self._fits[middle]) if best is None or len(columns) >= len(best[0]) else best
        assert best is not None
        return best


def chi2_columns(x: Any, y: Any, k: int) -> Any:
    """The k best columns by chi²."""
    from sklearn.feature_selection import chi2

    scores, _ = chi2(abs(x), y)
    return np.argsort(-np.nan_to_num(scores), kind="stable")[:k]
