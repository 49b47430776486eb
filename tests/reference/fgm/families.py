"""Reference implementation of feature families: all columns, computed explicitly with NumPy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


def products(x: Array, degree: int, *, powers: bool, linear: bool = True) -> tuple[list[tuple[int, ...]], Array]:
    """The columns in every product, and the values of the products."""
    choose = combinations_with_replacement if powers else combinations
    sizes = range(1 if linear else 2, degree + 1)
    parts = [part for size in sizes for part in choose(range(x.shape[1]), size)]
    return parts, np.stack([x[:, list(part)].prod(axis=1) for part in parts], axis=1)


def constants(parts: list[tuple[int, ...]], degree: int, gamma: float, r: float) -> Array:
    """The factor of each product in the map of (γ x'z + r)^degree: the root of its multinomial coefficient."""
    squares = []
    for part in parts:
        left = degree - len(part)
        ways = math.factorial(degree) / math.factorial(left) / math.prod(map(math.factorial, Counter(part).values()))
        squares.append(ways * gamma ** len(part) * r**left)
    return np.sqrt(squares)


def factored(x: Array, factors: Sequence[tuple[Any, ...]]) -> tuple[list[tuple[int, ...]], Array, Array]:
    """Products of one element of each factor (columns, min_degree, max_degree, powers, gamma, r).

    Returns the columns in every product, its values, and its squared constant: a sum over all ways to form the product.
    """
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for columns, min_degree, max_degree, powers, gamma, r in factors:
        choose = combinations_with_replacement if powers else combinations
        chosen = range(x.shape[1]) if columns is None else columns
        mine = [part for size in range(min_degree, max_degree + 1) for part in choose(chosen, size)]
        squares = constants(mine, max_degree, gamma, r) ** 2
        before, found = found, {}
        for one, square in before.items():
            for part, mine_squared in zip(mine, squares, strict=True):
                whole = tuple(sorted(one + part))
                found[whole] = found.get(whole, 0.0) + square * float(mine_squared)
    parts = list(found)
    return parts, np.stack([x[:, list(part)].prod(axis=1) for part in parts], axis=1), np.array(list(found.values()))


def steps(x: Array, bins: int, power: float = 1.0) -> Array:
    """rows x columns x bins: whether |x|^power reaches each threshold."""
    raised = np.abs(x) ** power
    thresholds = (np.arange(1, bins + 1) - 0.5) / bins * raised.max(axis=0)[:, None]
    return ((raised[:, :, None] >= thresholds) & (raised[:, :, None] > 0)).astype(float)


def waves(x: Array, step: float, amplitudes: Any, *, homogeneous: bool) -> Array:
    """rows x columns x (2 order + 1): cosines and sines, minus their value at 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        angle, size = (step * np.log(x), np.sqrt(x)) if homogeneous else (step * x, np.ones_like(x))
        made = [amplitudes[0] * size * (1.0 if homogeneous else 0.0)]
        for j, amplitude in enumerate(amplitudes[1:], 1):
            made += [amplitude * size * (np.cos(j * angle) - (0.0 if homogeneous else 1.0))]
            made += [amplitude * size * np.sin(j * angle)]
    return np.nan_to_num(np.stack(made, axis=2))
