"""Checksums, and names in as little text as they need."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.sources import stored
from thresher import _native
from thresher.core.batch import Names


@given(st.binary(max_size=200), st.integers(0, 2**64 - 1))
def test_the_checksum_is_the_slow_one(text, seed):
    assert _native.checksum(np.frombuffer(text, np.uint8), seed) == stored.checksum(text, seed)


def test_any_bit_changes_the_checksum():
    text = np.random.default_rng(0).integers(0, 256, 333).astype(np.uint8)
    checks = {_native.checksum(text)}
    for i in range(8 * len(text)):
        text[i // 8] ^= 1 << i % 8
        checks.add(_native.checksum(text))
        text[i // 8] ^= 1 << i % 8
    assert len(checks) == 1 + 8 * len(text)


@given(st.binary(max_size=30), st.data())
def test_compact_names_are_the_slow_ones(text, data):
    """Stretches of a text that may lie over each other, under keys that may be equal where the names are not."""
    places = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)), st.integers(0, 3), st.integers(0, 5))
    drawn = data.draw(st.lists(places, max_size=20))
    names = [(prefix, text[min(a, b) : max(a, b)]) for a, b, prefix, _ in drawn]
    keys = [key for *_, key in drawn]
    starts = np.array([min(a, b) for a, b, *_ in drawn], np.int64)
    lengths = np.array([len(name) for _, name in names], np.int64)
    words = Names.pack(starts, lengths, np.array([prefix for prefix, _ in names], np.int64))
    found = _native.compact_names(np.array(keys, np.uint64), words, np.frombuffer(text, np.uint8))
    expected = stored.compact_names(keys, names, len(text))
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert (found[0].tolist(), found[1].tobytes()) == expected


def test_what_compact_names_refuses():
    keys, text = np.zeros(1, np.uint64), np.zeros(4, np.uint8)
    with pytest.raises(ValueError, match="outside"):
        _native.compact_names(keys, np.array([3 | 2 << 32], np.uint64), text)
    with pytest.raises(ValueError, match="one name a key"):
        _native.compact_names(keys, np.zeros(2, np.uint64), text)


ODD = st.sampled_from([-(2**63), -1, 0, 1, 2, 3, 2**62, 2**63 - 1])
OFFSETS = st.lists(st.integers(0, 4), max_size=4).map(sorted).map(lambda rest: [0, *rest]) | st.lists(ODD, max_size=4)
NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.sampled_from([np.inf, np.nan, -1.0])
WORDS = st.builds(lambda start, length, prefix: start | length << 32 | prefix << 44, *[st.integers(0, 3)] * 3)


def _or_none(entries, size):
    exact = st.lists(entries, min_size=size, max_size=size)
    return st.none() | exact | st.lists(entries, max_size=4)


@given(OFFSETS, st.data())
def test_the_check_of_stored_rows_is_the_slow_one(indptr, data):
    nnz = max(0, min(indptr[-1], 8)) if indptr else 0
    n = max(0, len(indptr) - 1)
    keys = data.draw(st.lists(st.integers(0, 9), min_size=nnz, max_size=nnz) | st.lists(st.integers(0, 9), max_size=3))
    y_indptr = data.draw(st.none() | OFFSETS)
    labels = n if y_indptr is None else max(0, min(y_indptr[-1], 8)) if y_indptr else 0
    text = data.draw(st.none() | st.binary(max_size=6))
    drawn = {
        "values": data.draw(_or_none(NUMBERS, nnz)),
        "y": data.draw(_or_none(NUMBERS, labels)),
        "y_indptr": y_indptr,
        "weight": data.draw(_or_none(NUMBERS.map(abs) | NUMBERS, n)),
        "words": data.draw(_or_none(WORDS, nnz)),
    }
    last = {"prefixes": data.draw(st.integers(0, 4)), "last_key": data.draw(st.sampled_from([5, 2**64 - 1]))}
    types = {"values": np.float32, "y": np.float64, "y_indptr": np.int64, "weight": np.float32, "words": np.uint64}
    arrays = {name: None if column is None else np.array(column, types[name]) for name, column in drawn.items()}
    stored_text = None if text is None else np.frombuffer(text, np.uint8)
    sound = stored.are_sound(indptr, keys, **drawn, text=text, **last)
    try:
        _native.check_rows(np.array(indptr, np.int64), np.array(keys, np.uint64), **arrays, text=stored_text, **last)
    except ValueError:
        assert not sound
    else:
        assert sound
