"""AUC and average precision of margins for two classes, in constant memory.

A histogram over the margins replaces the margins. Its bins are ordered, and finest where the margins of a classifier
usually are: each margin is rounded to a number of mantissa bits that depends on its magnitude.

==================  ==============  ==================
\\|margin\\|          mantissa bits   relative width
==================  ==============  ==================
2^-5 to 2^5         11              at most 0.05 %
2^-16 to 2^10       9               at most 0.2 %
all others          4               at most 6 %
below 2^-126        one bin         (as zero)
==================  ==============  ==================

The results are the exact AUC and average precision of the rounded margins. Ties count as usual: half a pair in the AUC,
and the precision at the end of the tie in average precision. The AUC of the unrounded margins differs by at most half
the share of pairs (of a positive and a negative) that share a bin, which `AucHistogram.auc_error` returns. In practice
it differs far less, since errors within a bin cancel: by less than 1e-5 if margins spread over a few powers of two.
Average precision is biased, by less than 1e-4 on such margins. The worst cases are margins that are all below 2^-16, or
that crowd around a value far from zero: with a spread of a fiftieth of that value, average precision was off by 2e-3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def _mantissa_bits() -> NDArray[np.int64]:
    """The number of mantissa bits to keep for each exponent field of a float32."""
    exponent = np.arange(255) - 127
    bits = np.full(255, 4)
    bits[(exponent >= -16) & (exponent < 10)] = 9
    bits[(exponent >= -5) & (exponent < 5)] = 11
    bits[0] = 0  # zero and subnormal numbers
    return bits


_BITS = _mantissa_bits()
_SHIFT = 23 - _BITS
_FIRST = np.concatenate(([0], np.cumsum(1 << _BITS)[:-1]))  # the first bin of each power of two, counted from zero
_CENTRE = int((1 << _BITS).sum()) - 1

#: The number of bins; the bins of m and -m are symmetric about the middle one.
BINS = 2 * _CENTRE + 1

#: Bins summed at a time: all at once would take several times the memory of the histogram.
_CHUNK = 1 << 13

_LARGEST = float(np.finfo(np.float32).max)


def bins_of(margins: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bin of each margin; larger margins never have smaller bins."""
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


class AucHistogram:
    """The weight of negatives and positives in each bin of margins; at most 1 MB for any number of rows.

    Rows are added one by one, so the sums do not depend on the batches.
    """

    def __init__(self) -> None:
        self._weights = np.zeros((2, BINS))

    def add(self, margins: NDArray[np.float64], positive: NDArray[np.bool_], weight: NDArray[np.float64]) -> None:
        """Add rows."""
        # add.at adds in the order of the rows; bincount would sum each batch first.
        np.add.at(self._weights.reshape(-1), bins_of(margins) + BINS * positive, weight)

    def result(self, *, flip_sign: bool = False) -> dict[str, float]:
        """The scores that need both classes; empty if one of them has no rows.

        ``auc``, ``average_precision``, ``balanced_accuracy`` (the mean recall of the classes, where a margin in the bin
        of zero is for the negative class) and ``largest_class`` (its share of the weight).
        ``flip_sign`` negates all margins and swaps the classes.
        """
        negative, positive = self._weights[::-1, ::-1] if flip_sign else self._weights
        negatives, positives = float(negative.sum()), float(positive.sum())
        if not (negatives > 0 and positives > 0):
            return {}
        auc = average = below = found = false = 0.0
        for at in range(0, BINS, _CHUNK):
            n, p = negative[at : at + _CHUNK], positive[at : at + _CHUNK]
            ends = below + np.cumsum(n)
            auc += float((p / positives * ((ends - n / 2) / negatives)).sum())
            below = float(ends[-1])
            # From the largest margin down: the precision at the end of each bin, weighted by its gain in recall.
            n, p = negative[::-1][at : at + _CHUNK], positive[::-1][at : at + _CHUNK]
            hits, misses = found + np.cumsum(p), false + np.cumsum(n)
            precision = np.divide(hits, hits + misses, out=np.zeros(len(p)), where=hits > 0)
            average += float((p / positives * precision).sum())
            found, false = float(hits[-1]), float(misses[-1])
        correct = float(positive[_CENTRE + 1 :].sum()) / positives, float(negative[: _CENTRE + 1].sum()) / negatives
        return {
            "auc": min(auc, 1.0),
            "average_precision": min(average, 1.0),
            "balanced_accuracy": min(sum(correct) / 2, 1.0),
            "largest_class": max(negatives, positives) / (negatives + positives),
        }

    def nonempty(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The nonempty bins: their margins, and the weights of negatives and positives."""
        bins = np.flatnonzero(self._weights.any(axis=0))
        return margins_of(bins), self._weights[0, bins], self._weights[1, bins]

    def auc_error(self) -> float:
        """A bound on the error of the AUC: half the share of pairs in the same bin."""
        negative, positive = self._weights
        negatives, positives = float(negative.sum()), float(positive.sum())
        if not (negatives > 0 and positives > 0):
            return 0.0
        return float((positive / positives * (negative / negatives)).sum()) / 2

    def merge(self, other: AucHistogram) -> None:
        """Add the rows of another histogram."""
        self._weights += other._weights

    def state(self) -> dict[str, NDArray[Any]]:
        """A bit for each bin, set if it is nonempty, and the weights of the nonempty bins."""
        nonempty = self._weights.any(axis=0)
        return {"score_bins": np.packbits(nonempty), "score_bin_weights": self._weights[:, nonempty]}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from a `state`; ValueError if it is invalid."""
        bits, weights = state["score_bins"], state["score_bin_weights"]
        if bits.dtype != np.uint8 or bits.shape != ((BINS + 7) // 8,):
            raise ValueError("score_bins do not fit the histogram")
        nonempty = np.unpackbits(bits, count=BINS).astype(bool)
        if weights.dtype != np.float64 or weights.shape != (2, nonempty.sum()) or not (weights >= 0).all():
            raise ValueError("score_bin_weights do not fit their bins")
        self._weights = np.zeros((2, BINS))
        self._weights[:, nonempty] = weights
