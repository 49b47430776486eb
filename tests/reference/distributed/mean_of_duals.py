"""The mean of dual sums, with NumPy and dictionaries: written from the formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

#: By key: occurrences and numbers.
Sums = Mapping[int, tuple[int, NDArray[np.float64]]]


def mean_of_duals(
    base: Sums, workers: Sequence[Sums], shares: Sequence[float], each: int
) -> dict[int, tuple[int, NDArray[np.float64]]]:
    """Base and mean difference of every feature that a worker touched, and the occurrences of all."""
    merged = {}
    for key in sorted(set().union(*workers)):
        before, zeros = base.get(key, (0, np.zeros(each)))
        touched = [(share, *worker[key]) for share, worker in zip(shares, workers, strict=True) if key in worker]
        moved = np.zeros(each)
        for share, _, numbers in touched:
            moved = moved + share * (numbers - zeros)
        merged[key] = (before + sum(count - before for _, count, _ in touched), zeros + moved)
    return merged


def strongest(sums: Sums, k: int, delta: float) -> list[int]:
    """The k features of largest v = G^2 / H, of one output; ties go to the smaller key."""
    ranks = {key: numbers[0] ** 2 / (delta + np.sqrt(numbers[1])) for key, (_, numbers) in sums.items()}
    return sorted((key for key in ranks if ranks[key] > 0), key=lambda key: (-ranks[key], key))[:k]
