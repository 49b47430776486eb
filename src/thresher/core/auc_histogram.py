"""How well margins rank two classes: AUC and average precision in constant memory.

A histogram over the margins stands in for the margins themselves. Its bins keep the order and are
fine where margins of a classifier lie: a margin is rounded to so many bits of its mantissa as its
power of two deserves.

==================  ==============  ==================
\\|margin\\|          bits mantissa   relative width
==================  ==============  ==================
2^-5 to 2^5         11              at most 0.05 %
2^-16 to 2^10       9               at most 0.2 %
all others          4               at most 6 %
below 2^-126        one bin         (as zero)
==================  ==============  ==================

What comes out is exactly the AUC and the average precision of the margins so rounded; ties as always,
half a pair won in the AUC, the precision at their end in average precision. The AUC of the margins
themselves is at most half the share of the pairs (of a positive and a negative) that fell into one bin
away, which `Ranking.auc_error` tells. It is nearer by far, since right and wrong pairs within a bin
cancel: below 1e-5 where margins spread over a few powers of two. Average precision errs to one side, by
less than 1e-4 on such margins. Margins crowded around a value far from zero (with a spread of a fiftieth
of it, average precision was off by 2e-3), or all below 2^-16, are the bad cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def _mantissa_bits() -> NDArray[np.int64]:
    """The bits of the mantissa that are kept, by the exponent field of a float32."""
    exponent = np.arange(255) - 127
    bits = np.full(255, 4)
    bits[(exponent >= -16) & (exponent < 10)] = 9
    bits[(exponent >= -5) & (exponent < 5)] = 11
    bits[0] = 0  # zero, and what is nearly that
    return bits


_BITS = _mantissa_bits()
_SHIFT = 23 - _BITS
_FIRST = np.concatenate(([0], np.cumsum(1 << _BITS)[:-1]))  # the bin of each power of two, counted from zero
_CENTRE = int((1 << _BITS).sum()) - 1

#: Bins of a histogram; margins m and -m are as far from its middle, each on its side.
BINS = 2 * _CENTRE + 1

#: Bins that are added up at a time: all at once would take several times the memory of the histogram.
_AT_ONCE = 1 << 13

_LARGEST = float(np.finfo(np.float32).max)


def bins_of(margins: NDArray[np.float64]) -> NDArray[np.int64]:
    """The number of the bin of each margin: never falling as margins grow."""
    code = np.minimum(np.abs(margins), _LARGEST).astype(np.float32).view(np.uint32).astype(np.int64)
    exponent = code >> 23
    position = _FIRST[exponent] + ((code & 0x7FFFFF) >> _SHIFT[exponent])
    bins: NDArray[np.int64] = _CENTRE + np.where(margins < 0, -position, position)
    return bins


def margins_of(bins: NDArray[np.int64]) -> NDArray[np.float64]:
    """The middle of each bin."""
    position = np.abs(bins - _CENTRE)
    exponent = np.searchsorted(_FIRST, position, side="right") - 1
    code = (exponent << 23) + ((position - _FIRST[exponent]) << _SHIFT[exponent])
    code += np.where(exponent > 0, (1 << _SHIFT[exponent]) >> 1, 0)
    middle: NDArray[np.float64] = code.astype(np.uint32).view(np.float32).astype(np.float64)
    return np.where(bins < _CENTRE, -middle, middle)


class Ranking:
    """The weight of negatives and positives in each bin of margins; at most 1 MB, whatever the rows.

    Rows are added one after the other, so the sums do not depend on how rows are cut into batches.
    """

    def __init__(self) -> None:
        self._weights = np.zeros((2, BINS))

    def add(self, margins: NDArray[np.float64], positive: NDArray[np.bool_], weight: NDArray[np.float64]) -> None:
        """Take in rows, by their margin and class."""
        # add.at goes through the rows in order; sums made within the batch first would depend on where it ends.
        np.add.at(self._weights.reshape(-1), bins_of(margins) + BINS * positive, weight)

    def result(self, *, turned: bool = False) -> dict[str, float]:
        """``auc`` and ``average_precision``, or nothing where one of the classes is missing.

        With ``turned`` the other class is the positive one and all margins count with the other sign.
        """
        negative, positive = self._weights[::-1, ::-1] if turned else self._weights
        negatives, positives = float(negative.sum()), float(positive.sum())
        if not (negatives > 0 and positives > 0):
            return {}
        auc = average = below = found = false = 0.0
        for at in range(0, BINS, _AT_ONCE):
            n, p = negative[at : at + _AT_ONCE], positive[at : at + _AT_ONCE]
            ends = below + np.cumsum(n)
            auc += float((p / positives * ((ends - n / 2) / negatives)).sum())
            below = float(ends[-1])
            # From the largest margin down: precision where each bin ends, weighed by the recall won in it.
            n, p = negative[::-1][at : at + _AT_ONCE], positive[::-1][at : at + _AT_ONCE]
            hits, misses = found + np.cumsum(p), false + np.cumsum(n)
            precision = np.divide(hits, hits + misses, out=np.zeros(len(p)), where=hits > 0)
            average += float((p / positives * precision).sum())
            found, false = float(hits[-1]), float(misses[-1])
        return {"auc": min(auc, 1.0), "average_precision": min(average, 1.0)}

    def taken(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The bins that hold anything: their margins, the weight of negatives and that of positives."""
        bins = np.flatnonzero(self._weights.any(axis=0))
        return margins_of(bins), self._weights[0, bins], self._weights[1, bins]

    def auc_error(self) -> float:
        """How far the AUC may be from that of the margins as they were: half the pairs that share a bin."""
        negative, positive = self._weights
        negatives, positives = float(negative.sum()), float(positive.sum())
        if not (negatives > 0 and positives > 0):
            return 0.0
        return float((positive / positives * (negative / negatives)).sum()) / 2

    def merge(self, other: Ranking) -> None:
        """Take in the rows of another."""
        self._weights += other._weights

    def state(self) -> dict[str, NDArray[Any]]:
        """Which bins are taken (a bit each) and their weights; still at most 1 MB."""
        taken = self._weights.any(axis=0)
        return {"score_bins": np.packbits(taken), "score_bin_weights": self._weights[:, taken]}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on from a `state`; ValueError unless it is one."""
        bits, weights = state["score_bins"], state["score_bin_weights"]
        if bits.dtype != np.uint8 or bits.shape != ((BINS + 7) // 8,):
            raise ValueError("score_bins of another histogram")
        taken = np.unpackbits(bits, count=BINS).astype(bool)
        if weights.dtype != np.float64 or weights.shape != (2, taken.sum()) or not (weights >= 0).all():
            raise ValueError("score_bin_weights that do not fit their bins")
        self._weights = np.zeros((2, BINS))
        self._weights[:, taken] = weights
