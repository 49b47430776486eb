"""The mean of models that started from the same one, written from the formula with dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def weighted_mean(parts: Sequence[Sequence[float]], rows: Sequence[int]) -> list[Fraction]:
    """The exact mean of each number over the parts, weighted by rows."""
    total = sum(rows)
    return [
        sum((Fraction(n, total) * Fraction(value) for n, value in zip(rows, values, strict=True)), Fraction(0))
        for values in zip(*parts, strict=True)
    ]


def merged_count(before: int, after: Sequence[int]) -> int:
    """The rows of a feature: those before the round, and what each worker that keeps it has added."""
    return before + sum(count - before if count >= before else count for count in after)


def halves_around(number: Fraction) -> tuple[int, int]:
    """The bits of the two 16-bit floats around a number, the same twice if it is one: what rounding may give."""
    single = np.float32(float(number))
    bits = int(single.view(np.uint32))
    low = bits >> 16
    return low, low if bits & 0xFFFF == 0 else low + 1


def open_halves(halves: NDArray[np.uint16]) -> NDArray[np.float32]:
    """16-bit floats as single ones."""
    return (halves.astype(np.uint32) << 16).view(np.float32)


def mean_of_weights(models: Sequence[Mapping[int, float]], rows: Sequence[int]) -> dict[int, Fraction]:
    """The mean weight of every key; 0 where a model has none."""
    keys = sorted(set().union(*models))
    means = weighted_mean([[model.get(key, 0.0) for key in keys] for model in models], rows)
    return dict(zip(keys, means, strict=True))


def revised(base: Sequence[float], parts: Sequence[Sequence[float]], weights: Sequence[Fraction]) -> list[Fraction]:
    """The energy and the sums of a cell after the weighted differences of the parts, with their cross terms."""
    moves = [
        [weight * (Fraction(after) - Fraction(before)) for before, after in zip(base, part, strict=True)]
        for weight, part in zip(weights, parts, strict=True)
    ]
    moved = [sum(numbers, Fraction(0)) for numbers in zip(*moves, strict=True)]
    cross = sum(a[i] * b[i] for a in moves for b in moves for i in range(1, len(base)) if a is not b)
    energy = Fraction(base[0]) + moved[0] + max(Fraction(0), Fraction(cross))
    return [energy, *(Fraction(before) + move for before, move in zip(base[1:], moved[1:], strict=True))]
