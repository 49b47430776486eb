"""Checksums with Python's integers, names put together one by one, and the check of stored rows."""

import math

from tests.reference.core.hashing import SALT, fold_multiply, hash_bytes


def checksum(text: bytes, seed: int) -> int:
    """Every fourth word goes into one of four sums; these, then what is left, make the checksum."""
    sums = [seed ^ salt for salt in SALT]
    whole = len(text) // 32 * 32
    for i in range(0, whole, 8):
        lane = i // 8 % 4
        sums[lane] = fold_multiply(sums[lane] ^ int.from_bytes(text[i : i + 8], "little"), SALT[1])
    h = len(text)
    for total in sums:
        h = fold_multiply(h ^ total, SALT[2])
    return hash_bytes(text[whole:], h)


def compact_names(keys: list[int], names: list[tuple[int, bytes]], size: int) -> tuple[list[int], bytes] | None:
    """Words and text of names, given as (prefix, spelling); None where it is more than ``size`` bytes."""
    met: dict[tuple[int, int, bytes], int] = {}
    words, text = [], b""
    for key, (prefix, name) in zip(keys, names, strict=True):
        if (key, prefix, name) not in met:
            met[key, prefix, name] = len(text)
            text += name
        words.append(met[key, prefix, name] | len(name) << 32 | prefix << 44)
    return None if len(text) > size else (words, text)


def are_sound(
    indptr: list[int],
    keys: list[int],
    values: list[float] | None,
    y: list[float] | None,
    y_indptr: list[int] | None,
    weight: list[float] | None,
    words: list[int] | None,
    text: bytes | None,
    prefixes: int,
    last_key: int,
) -> bool:
    """Whether stored rows fit together: each row, label and name lies within its array, and all numbers are usable."""

    def divides(offsets: list[int], size: int) -> bool:
        return offsets[:1] == [0] and offsets == sorted(offsets) and offsets[-1] == size

    if not divides(indptr, len(keys)):
        return False
    n = len(indptr) - 1
    sound = all(key <= last_key for key in keys)
    if values is not None:
        sound &= len(values) == len(keys) and all(math.isfinite(value) for value in values)
    if y_indptr is not None:
        sound &= y is not None and len(y_indptr) == n + 1 and divides(y_indptr, len(y))
    elif y is not None:
        sound &= len(y) == n
    if y is not None:
        sound &= not any(math.isinf(label) for label in y)
    if weight is not None:
        sound &= len(weight) == n and all(math.isfinite(one) and one >= 0 for one in weight)
    if words is None or text is None:
        return sound and words is None and text is None
    places = [(word & 0xFFFFFFFF, (word >> 32) & 0xFFF, word >> 44) for word in words]
    inside = all(start + length <= len(text) and prefix < prefixes for start, length, prefix in places)
    return sound and len(words) == len(keys) and inside
