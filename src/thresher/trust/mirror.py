"""Mirror statistics: features that two independent halves of the rows agree on, and how many of them are false.

The method is data splitting [1]_. The mirror statistic of a feature is large if both halves give it the same sign and
large statistics. For a feature without effect its sign is a coin toss, so the number of statistics below -t estimates
the number of false features above t.

References
----------
.. [1] C. Dai, B. Lin, X. Xing, J. S. Liu, "False Discovery Rate Control via Data Splitting", JASA 118, 2023.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: The levels at which several splits are combined to find q-values.
_LEVELS = np.arange(1, 201) / 200


def mirror_statistics(first: Floats, second: Floats, unit_of: NDArray[np.intp]) -> Floats:
    """sign⟨z¹, z²⟩ (‖z¹‖ + ‖z²‖) of each unit.

    Parameters
    ----------
    first, second : arrays of shape (outputs, features)
        The statistics of the two halves.
    unit_of : array of shape (features,)
        The unit of each feature, from 0: its own, or its group.
    """
    agreement = np.bincount(unit_of, (first * second).sum(axis=0))
    lengths = [np.sqrt(np.bincount(unit_of, (z * z).sum(axis=0))) for z in (first, second)]
    statistics: Floats = np.sign(agreement) * (lengths[0] + lengths[1])
    return statistics


def split_q_values(mirror: Floats) -> Floats:
    """The least level at which each feature of one split stays; above 1 if there is none.

    A feature stays at the level q if some t ≥ 0 below its statistic has (1 + #{M < -t}) / max(1, #{M > t}) ≤ q.
    """
    ordered = np.sort(mirror)
    thresholds = np.unique(np.concatenate([np.zeros(1), np.abs(mirror)]))
    above = len(mirror) - np.searchsorted(ordered, thresholds, side="right")
    below = np.searchsorted(ordered, -thresholds, side="left")
    least = np.minimum.accumulate((1.0 + below) / np.maximum(1, above))
    # The last threshold strictly below each statistic.
    last = np.searchsorted(thresholds, mirror, side="left") - 1
    return np.where(last >= 0, least[np.maximum(last, 0)], np.inf)


def kept_by_several(q_values: Sequence[Floats], strength: Floats, level: float) -> NDArray[np.bool_]:
    """Which features several splits keep together at a level.

    Parameters
    ----------
    q_values : sequence of arrays of shape (features,)
        The q-values in each split; infinite for features that are no candidates there.
    strength : array of shape (features,)
        The sum of the mirror statistics over the splits, which decides between equal rates.

    Notes
    -----
    The inclusion rate of a feature is the mean over splits of 1 / (number kept), 0 where it is not kept. The features
    with the smallest rates, whose sum is at most the level, are dropped. Features that every split keeps have equal
    rates. To drop all of them with one, as the formula in the paper says, would drop everything if there are no others,
    so the weakest go first.
    """
    kept = np.array(q_values) <= level
    rates = (kept / np.maximum(1, kept.sum(axis=1, keepdims=True))).mean(axis=0)
    order = np.lexsort((strength, rates))
    # Rates that add up to the level are dropped, whatever the rounding of their sum.
    dropped = int(np.searchsorted(np.cumsum(rates[order]), level + 1e-12, side="right"))
    stays = np.zeros(len(rates), np.bool_)
    stays[order[dropped:]] = True
    return stays


def combined_q_values(q_values: Sequence[Floats], strength: Floats, level: float) -> Floats:
    """The q-value of each feature: at most ``level`` if and only if it is kept at that level.

    With one split it is the least level at which the feature stays. With several a feature may stay at one level and
    not at a larger one. The q-value of a kept feature is the least level from which it stays up to ``level``, that of
    another feature the least larger level at which it stays, in steps of 0.005; infinite if there is none.
    """
    if len(q_values) == 1:
        return q_values[0]
    levels = np.unique(np.concatenate([_LEVELS, [level]]))
    here = int(np.searchsorted(levels, level))
    stays = np.array([kept_by_several(q_values, strength, at) for at in levels])
    found = np.full(stays.shape[1], np.inf)
    open_ = stays[here].copy()
    for at in range(here, -1, -1):
        open_ &= stays[at]
        found[open_] = levels[at]
    for at in range(len(levels) - 1, here, -1):
        found[stays[at] & ~stays[here]] = levels[at]
    return found


def mirror_histogram(mirror: Floats, stays: NDArray[np.bool_], bins: int = 41) -> dict[str, list[float]]:
    """How many features have which statistic, of those that ``stay`` and those that are ``cut``; symmetric about 0."""
    most = float(np.abs(mirror).max(initial=0.0)) or 1.0
    edges = np.linspace(-most, most, bins + 1)
    found = {name: np.histogram(mirror[which], edges)[0].tolist() for name, which in (("stay", stays), ("cut", ~stays))}
    return {"edges": edges.tolist(), **found}


def most_false(kept: int, level: float) -> int:
    """The most features among ``kept`` that are expected to be false."""
    return int(np.floor(kept * level + 1e-9))
