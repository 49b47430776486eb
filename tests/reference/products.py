"""Products of the features of a row, by going through all of them."""

import itertools
import math

import numpy as np

from tests.reference.hashing import WORD, hash_key

# The first 64 bits after the point of the square roots of 11 and 13, which are odd as they are.
OF_PART, OF_SUM = (math.isqrt(prime << 128) & WORD for prime in (11, 13))


def product_key(keys: list[int]) -> int:
    """The hashes of the parts added up, and the sum hashed."""
    return hash_key(sum(hash_key(key, OF_PART) for key in keys) & WORD, OF_SUM)


def merged(keys: list[int], values: list[float], groups: list[int]) -> list[tuple[int, float, int, int]]:
    """(key, value, group, place) of what can be part of a product: each key once, none that comes to zero."""
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
    """(key, value, places of the parts) of all features of a row, then of its products.

    A combination is a list of groups, sorted; a product takes one part from each of them.
    """
    rows = [(key, value, (place,)) for place, (key, value) in enumerate(zip(keys, values, strict=True))]
    parts = merged(keys, values, [0] * len(keys) if groups is None else groups)
    choose = itertools.combinations_with_replacement if squares else itertools.combinations
    for combination in combinations:
        # The parts of a group that stands n times are chosen n at a time; the choices of the groups are combined.
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
    """What names are sorted by: text by its bytes, numbers in it by their size."""
    key, number = [], ""
    for byte in [*name.encode(), None]:
        if byte is not None and chr(byte).isdigit():
            number += chr(byte)
            continue
        if number:  # a number stands where its digits stand among the bytes
            key.append((ord("0"), int(number)))
            number = ""
        if byte is not None:
            key.append((byte, 0))
    return [key, name.encode()]


def product_name(names: list[str]) -> str:
    """``a × b``, ``a² × b``, in the natural order."""
    powers = {1: "", 2: "²", 3: "³"}
    return " × ".join(f"{name}{powers[names.count(name)]}" for name in sorted(set(names), key=natural))
