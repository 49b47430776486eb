"""Scores the slow way: one row after the other, every pair of rows."""

import math

import numpy as np


def rounded(margin: float) -> float:
    """The end nearer to zero of the bin that a margin falls into: some leading bits of its float32."""
    size = abs(float(np.float32(max(min(margin, 3.4028234e38), -3.4028234e38))))
    if size < 2.0**-126:
        return 0.0
    fraction, exponent = math.frexp(size)  # size = 2 * fraction * 2^(exponent - 1), 1 <= 2 * fraction < 2
    exponent -= 1
    bits = 11 if -5 <= exponent < 5 else 9 if -16 <= exponent < 10 else 4
    return math.copysign(math.floor(2 * fraction * 2**bits) / 2**bits * 2.0**exponent, margin)


def auc(margins, positive, weight) -> float:
    """The weighted share of pairs of a positive and a negative that stand in the right order; ties count half."""
    won = total = 0.0
    for m, is_positive, w in zip(margins, positive, weight, strict=True):
        for other, other_positive, v in zip(margins, positive, weight, strict=True):
            if is_positive and not other_positive:
                won += w * v * (1.0 if m > other else 0.5 if m == other else 0.0)
                total += w * v
    return won / total


def average_precision(margins, positive, weight) -> float:
    """The mean over the positives of the precision among all rows with at least their margin."""
    reached = 0.0
    for m, is_positive, w in zip(margins, positive, weight, strict=True):
        if is_positive:
            at_least = [(p, v) for other, p, v in zip(margins, positive, weight, strict=True) if other >= m]
            reached += w * sum(v for p, v in at_least if p) / sum(v for _, v in at_least)
    return reached / sum(w for p, w in zip(positive, weight, strict=True) if p)


def running_sum(terms) -> float:
    """The sum in order, without any trick."""
    total = 0.0
    for term in terms:
        total += float(term)
    return total


def spread(y, weight) -> float:
    """The weighted sum of squared distances from the mean, in exact sums."""
    mean = math.fsum(w * t for w, t in zip(weight, y, strict=True)) / math.fsum(weight)
    return math.fsum(w * (t - mean) ** 2 for w, t in zip(weight, y, strict=True))
