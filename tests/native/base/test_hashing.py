"""The hashes equal their twins bit for bit, and behave like random functions."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.reference.core import hashing
from thresher import _native

WORDS = st.integers(0, 2**64 - 1)
SEEDS = (0, 1, 2, 0x9E3779B97F4A7C15, 2**64 - 1)
MILLION = np.arange(10**6, dtype=np.uint64)


def hashes_of_names(n: int) -> np.ndarray:
    """The hashes of "0", "1", "2", ..."""
    names = [str(i).encode() for i in range(n)]
    offsets = np.cumsum([0, *map(len, names)], dtype=np.int64)
    return _native.hash_strings(offsets, np.frombuffer(b"".join(names), dtype=np.uint8))


def meetings(values: np.ndarray) -> int:
    """How many values are equal to one before them."""
    ordered = np.sort(values)
    return int((ordered[1:] == ordered[:-1]).sum())


def halves(values: np.ndarray) -> list[np.ndarray]:
    """The upper and the lower 32 bits."""
    return [(values >> np.uint64(32)).astype(np.uint32), values.astype(np.uint32)]


def flips(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """How often each of the 64 bits differs."""
    changed = (before ^ after)[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    return changed.mean(axis=0)


def chi_square(cells: np.ndarray, n: int) -> float:
    """Pearson's statistic for equal cells, in standard deviations from its mean."""
    counts = np.bincount(cells, minlength=n)
    expected = len(cells) / n
    return (((counts - expected) ** 2 / expected).sum() - (n - 1)) / np.sqrt(2 * (n - 1))


def test_salts_are_the_roots_of_the_first_primes():
    """The twin derives the constants that the kernel holds; they are part of the file format."""
    assert [hex(salt) for salt in hashing.SALT] == [
        "0x6a09e667f3bcc909",
        "0xbb67ae8584caa73b",
        "0x3c6ef372fe94f82b",
        "0xa54ff53a5f1d36f1",
    ]


@pytest.mark.parametrize(
    ("text", "seed", "known"),
    [
        (b"", 0, 0x5AB36D30FB85F72F),
        (b"a", 0, 0x34A40019DCAD7FAE),
        (b"user^", 0, 0x3B0DC5E0E7CA74DA),
        (b"12345678", 0, 0x63DA61BBC6A0C26E),
        (b"age of the user", 7, 0xCE1608D04AD5F221),
    ],
)
def test_known_hashes(text, seed, known):
    """Values written down once: they must never change."""
    assert _native.hash_bytes(text, seed) == known


@given(st.binary(max_size=40), WORDS)
def test_hash_bytes(text, seed):
    """Any bytes under any seed."""
    assert _native.hash_bytes(text, seed) == hashing.hash_bytes(text, seed)


@given(st.lists(st.binary(max_size=20), max_size=10), WORDS)
def test_hash_strings(texts, seed):
    """Strings end to end hash as they do alone."""
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    found = _native.hash_strings(offsets, np.frombuffer(b"".join(texts), dtype=np.uint8), seed)
    assert found.tolist() == [hashing.hash_bytes(text, seed) for text in texts]


@pytest.mark.parametrize("offsets", [[0, 4], [-1, 2], [2, 1]])
def test_hash_strings_checks_its_offsets(offsets):
    """No byte outside the text is read."""
    with pytest.raises(ValueError, match="out of range"):
        _native.hash_strings(np.array(offsets), np.zeros(3, dtype=np.uint8))


@given(st.lists(WORDS, min_size=1, max_size=20), WORDS, st.integers(1, 2**32 - 1))
def test_keys_buckets_and_signs(keys, seed, width):
    """Any keys under any seed and width."""
    array = np.array(keys, dtype=np.uint64)
    assert _native.hash_keys(array, seed).tolist() == [hashing.hash_key(key, seed) for key in keys]
    buckets, signs = _native.buckets_and_signs(array, seed, width)
    expected = [hashing.bucket_sign(key, seed, width) for key in keys]
    assert list(zip(buckets.tolist(), signs.tolist(), strict=True)) == expected
    assert max(buckets.tolist()) < width


@given(WORDS)
@example(hashing.SALT[2])
@example(hashing.SALT[2] ^ 1)
@example(hashing.SALT[1])
@example(hashing.SALT[3])
def test_no_seed_makes_keys_meet(seed):
    """A thousand keys have a thousand hashes under every seed."""
    assert meetings(_native.hash_keys(MILLION[:1000], seed)) == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_sequential_keys_do_not_meet(seed):
    """Of a million keys none meet in 64 bits, and as many as chance brings together (116) in either half."""
    found = _native.hash_keys(MILLION, seed)
    assert meetings(found) == 0
    assert all(70 < meetings(half) < 165 for half in halves(found))


def test_short_strings_do_not_meet():
    """The same for a million strings of digits."""
    found = hashes_of_names(10**6)
    assert meetings(found) == 0
    assert all(70 < meetings(half) < 165 for half in halves(found))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_bit_of_a_key_moves_every_bit_of_its_hash(seed):
    """Flip one bit of a random key: each bit of the hash flips in half of the cases."""
    keys = np.random.default_rng(1).integers(0, 2**64, 4096, dtype=np.uint64)
    before = _native.hash_keys(keys, seed)
    for bit in range(64):
        rates = flips(before, _native.hash_keys(keys ^ np.uint64(1 << bit), seed))
        assert np.abs(rates - 0.5).max() < 0.05, bit


@pytest.mark.parametrize("length", [3, 8, 11, 16])
def test_every_bit_of_a_string_moves_every_bit_of_its_hash(length):
    """The same for strings, three bytes to two words."""
    texts = np.random.default_rng(2).integers(0, 256, (4096, length), dtype=np.uint8)
    offsets = np.arange(len(texts) + 1) * length
    before = _native.hash_strings(offsets, texts.ravel())
    for bit in range(8 * length):
        other = texts.copy()
        other[:, bit // 8] ^= np.uint8(1 << bit % 8)
        rates = flips(before, _native.hash_strings(offsets, other.ravel()))
        assert np.abs(rates - 0.5).max() < 0.05, bit


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("width", [2, 6, 16, 1024])
def test_every_bucket_sees_both_signs(seed, width):
    """Buckets are equally full, and hold as many of one sign as of the other, also where the width is even."""
    buckets, signs = _native.buckets_and_signs(MILLION, seed, width)
    cells = 2 * buckets.astype(np.int64) + (signs > 0)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(chi_square(cells, 2 * width)) < 5
    balance = np.bincount(buckets, weights=signs, minlength=width) / np.sqrt(len(MILLION) / width)
    assert np.abs(balance).max() < 5


@pytest.mark.parametrize("seeds", [(0, 1), (1, 2), (2, 3), (7, 2**63 + 7)])
def test_seeds_are_independent(seeds):
    """Where a key falls under one seed says nothing about where it falls under another, its sign included."""
    cells = np.zeros(len(MILLION), dtype=np.int64)
    for seed in seeds:
        buckets, signs = _native.buckets_and_signs(MILLION, seed, 16)
        cells = 32 * cells + 2 * buckets.astype(np.int64) + (signs > 0)
    assert abs(chi_square(cells, 32**2)) < 5


PATTERNS = {
    "counting": lambda n: np.arange(n, dtype=np.uint64),
    "even": lambda n: np.arange(n, dtype=np.uint64) * np.uint64(2),
    "high": lambda n: np.arange(n, dtype=np.uint64) << np.uint64(40),
    "pairs": lambda n: (np.arange(n, dtype=np.uint64) % 200 << np.uint64(32)) + np.arange(n, dtype=np.uint64) // 200,
    "random": lambda n: np.random.default_rng(4).integers(0, 2**64, n, dtype=np.uint64),
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("seed", [0, 1, 12345, 2**64 - 2])
def test_keys_that_meet_in_one_row_part_in_the_next(pattern, seed):
    """Two keys in the same bucket under one seed are in the same under the next with probability 1 / width.

    That is what several rows of a sketch rest on; and the signs of those that meet must cancel in each.
    """
    n, width = 30_000, 256
    keys = PATTERNS[pattern](n)
    rows = [_native.buckets_and_signs(keys, (seed + r) % 2**64, width) for r in range(3)]
    for (first, signs), (second, others) in itertools.combinations(rows, 2):
        cells = first.astype(np.int64) * width + second
        full = np.bincount(cells, minlength=width**2).astype(np.int64)
        meetings_of_both = int((full * (full - 1)).sum()) / 2
        expected = n * (n - 1) / 2 / width**2
        assert abs(meetings_of_both - expected) < 5 * np.sqrt(expected)
        for sign in (signs, others, signs * others):  # as many pairs of equal signs as of different ones
            total = np.bincount(cells, weights=sign, minlength=width**2)
            agreeing_less_not = (np.square(total) - full).sum() / 2
            assert abs(agreeing_less_not) < 5 * np.sqrt(expected)


def test_names_fill_buckets_evenly():
    """Keys that are themselves hashes of names fall as evenly."""
    buckets, signs = _native.buckets_and_signs(hashes_of_names(10**6), 3, 500)
    assert abs(chi_square(2 * buckets.astype(np.int64) + (signs > 0), 1000)) < 5
