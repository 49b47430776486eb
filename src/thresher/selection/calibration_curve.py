"""A bend of the log odds of two classes, where their true odds are no logistic function of the margin.

A curve is a list of knots (z, v), between which v is interpolated; beyond the outer ones its slope is 1. It never falls
and passes through (0, 0), so it changes probabilities and no prediction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Knots = tuple[tuple[float, float], ...]

#: Fewer rows have no curve.
ENOUGH_ROWS = 3000
#: Its knots are the means of so many bins, each shrunk by so many rows to the logistic.
_BINS, _PRIOR_ROWS = 15, 20.0
#: A curve must gain this number of standard errors of log loss, in rows of folds that it was not fitted on.
_ERRORS, _FOLDS = 2.0, 5
_LEAST_CHANCE = 1e-6
#: Log odds are cut here while a curve is fitted, so that squares of losses stay finite.
_LARGEST = 1e6
#: The most knots of a file.
MOST_KNOTS = 64


def fit_curve(z: Floats, positive: NDArray[np.bool_], weight: Floats) -> tuple[Knots, Floats] | None:
    """A curve that gains on rows it was not fitted on, and the log odds of each row by a curve of other rows.

    None if it gains too little. `ENOUGH_ROWS` rows make it worth a try.
    """
    if not (np.isfinite(z).all() and (weight > 0).all()):
        return None
    z, weight = np.clip(z, -_LARGEST, _LARGEST), weight / weight.max()
    fold = np.arange(len(z)) % _FOLDS
    bent = np.empty(len(z))
    for number in range(_FOLDS):
        rest, held = fold != number, fold == number
        bent[held] = on_curve(z[held], _knots(z[rest], positive[rest], weight[rest]))
    gain = _losses(z, positive) - _losses(bent, positive)
    mean = float((weight * gain).sum() / weight.sum())
    error = float(np.sqrt((weight * weight * (gain - mean) ** 2).sum()) / weight.sum())
    return (_knots(z, positive, weight), bent) if mean > _ERRORS * error else None


def on_curve(z: Floats, knots: Knots) -> Floats:
    """The values of a curve."""
    at, value = np.array(knots).T
    inside = np.clip(z, at[0], at[-1])
    found: Floats = np.interp(inside, at, value) + (z - inside)
    return found


def as_ramps(knots: Knots) -> tuple[Floats, Floats, float]:
    """The same curve as z + c + the sum of f · max(0, z - t): all t, all f, and c."""
    at, value = np.array(knots).T
    slopes = np.concatenate([[1.0], np.diff(value) / np.diff(at), [1.0]])
    return at, np.diff(slopes), float(value[0] - at[0])


def flipped(knots: Knots) -> Knots:
    """The curve of negated log odds."""
    return tuple((0.0 - z, 0.0 - v) for z, v in reversed(knots))


def check_knots(knots: Knots) -> None:
    """Raise ValueError unless these are the knots of a curve."""
    table = np.array(knots, dtype=np.float64)
    valid = table.ndim == 2 and table.shape[1] == 2 and 2 <= len(table) <= MOST_KNOTS and np.isfinite(table).all()
    if not valid or not (np.diff(table[:, 0]) > 0).all() or not (np.diff(table[:, 1]) >= 0).all():
        raise ValueError("invalid curve of the calibration")
    if (0.0, 0.0) not in knots:
        raise ValueError("the curve of the calibration changes predictions")


def _knots(z: Floats, positive: NDArray[np.bool_], weight: Floats) -> Knots:
    """The knots of some rows: the log odds of bins of equally many rows."""
    ends = np.unique(np.quantile(z, np.linspace(0.0, 1.0, _BINS + 1)[1:-1]))
    which = np.searchsorted(ends, z, side="right")
    own = 0.5 + 0.5 * np.tanh(0.5 * z)
    total, sum_z, chance, hits = (
        np.bincount(which, weights=weight * terms, minlength=len(ends) + 1)
        for terms in (np.ones(len(z)), z, own, positive)
    )
    filled = total > 0
    total, sum_z, chance, hits = (sums[filled] for sums in (total, sum_z, chance, hits))
    rows = len(z) * total / total.sum()  # weights of any scale
    rate = _increasing((rows * hits + _PRIOR_ROWS * chance) / total / (rows + _PRIOR_ROWS), rows)
    rate = np.clip(rate, _LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
    at, value = sum_z / total, np.log(rate) - np.log1p(-rate)
    knots = {0.0: 0.0}
    for place, odds in zip(at.tolist(), value.tolist(), strict=True):
        if place != 0.0:
            knots[place] = max(0.0, odds) if place > 0 else min(0.0, odds)
    if len(knots) == 1:
        knots[1.0] = 1.0
    return tuple(sorted(knots.items()))


def _increasing(values: Floats, weight: Floats) -> Floats:
    """The nearest values that never fall: neighbours that do are pooled."""
    pools: list[tuple[float, float, int]] = []
    for value, share in zip(values.tolist(), weight.tolist(), strict=True):
        mean, mass, count = value, share, 1
        while pools and pools[-1][0] >= mean:
            before, more, several = pools.pop()
            mean, mass, count = (mean * mass + before * more) / (mass + more), mass + more, count + several
        pools.append((mean, mass, count))
    return np.repeat([mean for mean, _, _ in pools], [count for _, _, count in pools])


def _losses(z: Floats, positive: NDArray[np.bool_]) -> Floats:
    losses: Floats = np.logaddexp(0.0, np.where(positive, -z, z))
    return losses
