"""Draws of data whose true features are known, for the comparison of realised error rates.

Every design gives a matrix, labels of two classes, and for each column the number of its true feature, or -1.
"""

from __future__ import annotations

import lzma
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.harness import DATASETS

#: Rows, possible ids and occurrences a row of the sparse designs.
ROWS, IDS, LENGTH = 20_000, 100_000, 60
#: The sets whose rows are real; their labels are planted.
REAL = ("reuters_acq", "farm_ads", "mnist38")


class Draw(NamedTuple):
    """A data set; ``truth`` is the number of the true feature that a column is, or stands for; -1 for others."""

    X: sp.csr_matrix | NDArray[np.float32]
    y: NDArray[np.bool_]
    truth: NDArray[np.int64]
    k: int

    def rates(self, names: list[str]) -> tuple[float, float]:
        """The share of false features among those kept, and the share of true ones that are found."""
        found = self.truth[[int(name[1:]) for name in names]]
        power = len(set(found[found >= 0].tolist())) / max(1, int(self.truth.max()) + 1)
        return float((found < 0).sum()) / max(1, len(found)), power


def labels(rng: np.random.Generator, margin: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Labels of a logistic model."""
    drawn: NDArray[np.bool_] = rng.random(len(margin)) < 1.0 / (1.0 + np.exp(-margin))
    return drawn


def zipf(rng: np.random.Generator, together: float = 0.0) -> sp.csr_matrix:
    """Rows of ids by Zipf's law; an id brings its neighbour with probability ``together``."""
    ids = np.exp(rng.random((ROWS, LENGTH)) * np.log(IDS)).astype(np.int64) - 1
    rows = np.repeat(np.arange(ROWS), LENGTH)
    flat = ids.ravel()
    if together:
        brought = rng.random(len(flat)) < together
        rows, flat = np.append(rows, rows[brought]), np.append(flat, np.minimum(flat[brought] + 1, IDS - 1))
    X = sp.csr_matrix((np.ones(len(flat), np.float32), (rows, flat)), (ROWS, IDS))
    X.data[:] = 1.0  # an id that a row has twice is there once
    return X


def sparse(
    rng: np.random.Generator,
    *,
    ranks: tuple[int, int] = (10, 1500),
    strength: float = 1.0,
    together: float = 0.0,
    true: int = 60,
) -> Draw:
    """Ids of which ``true`` matter, between two ranks of frequency, evenly in its logarithm."""
    X = zipf(rng, together)
    which = np.unique(np.exp(rng.uniform(*np.log(ranks), 20 * true)).astype(np.int64))
    which = rng.choice(which, true, replace=False) if true else which[:0]
    truth = np.full(IDS, -1)
    truth[which] = np.arange(true)
    margin = X[:, which] @ rng.choice([-strength, strength], true) if true else np.zeros(ROWS)
    return Draw(X, labels(rng, margin), truth, 300)


def dense(rng: np.random.Generator, *, correlation: float = 0.0, copies: int = 1) -> Draw:
    """Gaussian columns: neighbours correlated, or each in several copies."""
    rows, width, true = 4000, 600 // copies, 40
    X = rng.normal(size=(rows, width))
    for j in range(1, width):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    which = rng.choice(width, true, replace=False)
    truth = np.full(width, -1)
    truth[which] = np.arange(true)
    y = labels(rng, X[:, which] @ rng.choice([-0.5, 0.5], true))
    order = rng.permutation(width * copies)
    X = np.ascontiguousarray(np.repeat(X, copies, axis=1)[:, order], dtype=np.float32)
    return Draw(X, y, np.repeat(truth, copies)[order], 150)


@cache
def rows_of(name: str) -> sp.csr_matrix:
    """The training rows of a data set."""
    from sklearn.datasets import load_svmlight_file

    with lzma.open(Path(os.environ[DATASETS]) / f"{name}.train.svm.xz") as file:
        X, _ = load_svmlight_file(file, dtype=np.float32)
    return X.tocsr()


def planted(rng: np.random.Generator, name: str) -> Draw:
    """Real rows with labels of 20 columns, each in at least a hundredth and at most half of the rows."""
    X, true = rows_of(name), 20
    share = X.getnnz(axis=0) / X.shape[0]
    which = rng.choice(np.flatnonzero((share >= 0.01) & (share <= 0.5)), true, replace=False)
    columns = X[:, which].toarray().astype(np.float64)
    columns = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    margin = columns @ rng.choice([-0.5, 0.5], true)
    truth = np.full(X.shape[1], -1)
    truth[which] = np.arange(true)
    return Draw(X, labels(rng, margin), truth, min(300, X.shape[0] // 25, X.shape[1] // 4))


DESIGNS: dict[str, Callable[[np.random.Generator], Draw]] = {
    "independent": sparse,
    "neighbours co-occur": lambda rng: sparse(rng, together=0.5),
    "rare": lambda rng: sparse(rng, ranks=(1000, 5000), strength=3.0),
    "AR(1), 0.5": lambda rng: dense(rng, correlation=0.5),
    "copies in threes": lambda rng: dense(rng, copies=3),
    **{f"{name}, planted": (lambda rng, name=name: planted(rng, name)) for name in REAL},
}


def null(rng: np.random.Generator) -> Draw:
    """Ids none of which matters."""
    return sparse(rng, true=0)
