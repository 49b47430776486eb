"""Selection frequencies over fits, and the threshold that bounds the number of false features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]

#: The smaller numbers of features with frequencies of their own are the number divided by these.
_DIVISORS = (8, 4, 2, 1)


def expected_false(q: float, p: int, threshold: float) -> float:
    """The bound on the expected number of false features with at least this frequency.

    Meinshausen & Bühlmann (2010), theorem 1, for ``q`` features a fit of ``p``: q² / ((2τ - 1) p).
    """
    return q * q / ((2.0 * threshold - 1.0) * p)


def threshold_for(q: float, p: int, most: float, fits: int) -> float | None:
    """The least frequency, a multiple of 1 / ``fits`` above 1/2, whose bound is at most ``most``; None: there is none.

    ``fits`` is even.
    """
    least = (1.0 + q * q / (most * max(1, p))) / 2.0
    count = max(fits // 2 + 1, int(np.ceil(least * fits - 1e-9)))
    return count / fits if count <= fits else None


class Frequencies(NamedTuple):
    """The frequencies of the features that any fit selected, the most frequent first, ties by key.

    Attributes
    ----------
    keys : array of uint64
    frequency : array of float64
    """

    keys: Keys
    frequency: Floats

    @classmethod
    def of(cls, fits: Sequence[Keys], k: int | None = None) -> Frequencies:
        """Count in how many fits a feature is among the ``k`` strongest (None: among all selected)."""
        keys, counts = np.unique(np.concatenate([fit[:k] for fit in fits]), return_counts=True)
        order = np.lexsort((keys, -counts))
        return cls(keys[order], counts[order] / len(fits))

    def of_keys(self, keys: Keys) -> Floats:
        """The frequency of each of these features; 0 of one that no fit selected."""
        order = np.argsort(self.keys, kind="stable")
        at = np.searchsorted(self.keys, keys, sorter=order)
        found = np.zeros(len(keys))
        inside = at < len(order)
        places = order[at[inside]]
        found[inside] = np.where(self.keys[places] == keys[inside], self.frequency[places], 0.0)
        return found


def nested(k: int) -> list[int]:
    """A few numbers of features up to ``k``, the smallest first."""
    return sorted({max(1, k // divisor) for divisor in _DIVISORS})


def by_k(fits: Sequence[Keys], k: int, p: int, most: float) -> list[dict[str, Any]]:
    """For the ``k`` strongest features of each fit, and for fewer: features a fit, threshold, and stable features."""
    lines = []
    for few in nested(k):
        taken = fits if few == k else [fit[:few] for fit in fits]
        q = mean_size(taken)
        threshold = threshold_for(q, p, most, len(fits))
        stable = 0 if threshold is None else int((Frequencies.of(taken).frequency >= threshold).sum())
        bound = None if threshold is None else expected_false(q, p, threshold)
        lines.append({"k": few, "q": q, "threshold": threshold, "bound": bound, "stable": stable})
    return lines


def mean_size(fits: Sequence[Keys]) -> float:
    """The mean number of features that a fit selects."""
    return sum(map(len, fits)) / len(fits)
