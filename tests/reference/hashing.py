"""Hashing with Python's integers: every product in full, cut to 64 bits afterwards."""

import math

WORD = 2**64 - 1

# The first 64 bits after the point of the square roots of the first primes, made odd.
SALT = [math.isqrt(prime << 128) & WORD | 1 for prime in (2, 3, 5, 7)]


def fold_multiply(a: int, b: int) -> int:
    """The two halves of a 128-bit product, xor-ed."""
    product = a * b
    return (product & WORD) ^ (product >> 64)


def hash_bytes(text: bytes, seed: int = 0) -> int:
    """Whole words of eight bytes first, then what is left (nothing counts as a word of zero), then the length."""
    whole = len(text) // 8 * 8
    h = seed ^ SALT[0]
    for i in range(0, whole, 8):
        h = fold_multiply(h ^ int.from_bytes(text[i : i + 8], "little"), SALT[1])
    h = fold_multiply(h ^ int.from_bytes(text[whole:], "little"), SALT[2])
    return fold_multiply(h ^ len(text), SALT[3])


def hash_key(key: int, seed: int) -> int:
    """A key under a seed."""
    spread = fold_multiply(seed ^ SALT[0], SALT[3])
    return fold_multiply(fold_multiply(key ^ spread, SALT[1]) ^ spread, SALT[2])


def bucket_sign(key: int, seed: int, width: int) -> tuple[int, float]:
    """The bucket from the upper 32 bits of the hash, the sign from its lowest."""
    h = fold_multiply(hash_key(key, 0) ^ fold_multiply(seed ^ SALT[0], SALT[3]), SALT[1])
    return (h >> 32) * width // 2**32, 1.0 if h % 2 else -1.0
