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
    """A multilinear hash of the mixed key: the bucket from its upper 32 bits, the sign from the one below."""
    mixed = hash_key(key, 0)
    start, low, high = (hash_key(i, seed) for i in range(3))
    h = (start + low * (mixed % 2**32) + high * (mixed >> 32)) & WORD
    return (h >> 32) * width // 2**32, -1.0 if h >> 31 & 1 else 1.0
