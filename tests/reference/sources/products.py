"""Reference implementation of the products of a row's features, by enumeration."""

import itertools
import math

import numpy as np

from tests.reference.core.hashing import WORD, hash_key

# The first 64 fractional bits of the square roots of 11 and 13; both happen to be odd.
OF_PART, OF_SUM = (math.isqrt(prime << 128) & WORD for prime in (11, 13))


def product_key(keys: list[int]) -> int:
    """The hash of the sum of the parts' hashes."""
    return hash_key(sum(hash_key(key, OF_PART) for key in keys) & WORD, OF_SUM)


def merged(keys: list[int], values: list[float], groups: list[int]) -> list[tuple[int, float, int, int]]:
    """(key, value, group, place) of every possible part: values of a repeated key are added, zeros dropped."""
    parts: dict[int, list] = {}
    for place, (key, value, group) in enumerate(zip(keys, values, groups, strict=True)):
        if value == 0 or group < 0:
            continue
        if key in parts:
            with np.errstate(over="ignore"):
                parts[key][0] = float(np.float32(parts[key][0] + value))
        else:
            parts[key] = [value, group, place]
    return [(key, value, group, place) for key, (value, group, place) in parts.items() if value != 0]


def expanded(
    keys: list[int],
    values: list[float],
    combinations: list[list[int]],
    squares: bool = False,
    groups: list[int] | None = None,
) -> list[tuple[int, float, tuple[int, ...]]]:
    """(key, value, places of the parts) of all features of a row, followed by its products.

    A combination is a sorted list of groups. A product has one part from each of them.
    """
    rows = [(key, value, (place,)) for place, (key, value) in enumerate(zip(keys, values, strict=True))]
    parts = merged(keys, values, [0] * len(keys) if groups is None else groups)
    choose = itertools.combinations_with_replacement if squares else itertools.combinations
    for combination in combinations:
        # A group that occurs n times contributes n parts.
        choices = []
        for group in sorted(set(combination)):
            members = [part for part in parts if part[2] == group]
            choices.append(list(choose(members, combination.count(group))))
        for chosen in itertools.product(*choices):
            flat = [part for some in chosen for part in some]
            with np.errstate(over="ignore"):
                value = float(np.float32(math.prod(part[1] for part in flat)))
            rows.append((product_key([part[0] for part in flat]), value, tuple(part[3] for part in flat)))
    return rows


def natural(name: str) -> list:
    """The sort key of a name: text by its bytes, numbers in it by their value."""
    key, number = [], ""
    for byte in [*name.encode(), None]:
        if byte is not None and chr(byte).isdigit():
            number += chr(byte)
            continue
        if number:  # numbers sort like digits among the bytes
            key.append((ord("0"), int(number)))
            number = ""
        if byte is not None:
            key.append((byte, 0))
    return [key, name.encode()]


def product_name(names: list[str]) -> str:
    """``a × b``, ``a² × b``, in natural order."""
    powers = {1: "", 2: "²", 3: "³"}
    return " × ".join(f"{name}{powers[names.count(name)]}" for name in sorted(set(names), key=natural))
