"""The index of keys, and the margins and selections computed through it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.native.base.rows import KEYS, compressed, rows
from tests.reference.core import margins
from thresher import _native

WEIGHTS = st.floats(-1e6, 1e6)
INDEX = st.lists(KEYS, unique=True, max_size=10)


@given(st.lists(KEYS | st.integers(0, 2**64 - 1), unique=True, max_size=40), st.lists(KEYS, max_size=40))
def test_find(keys, asked):
    """Every key is found where it was given, every other nowhere."""
    index = _native.KeyIndex(np.array(keys, dtype=np.uint64))
    assert len(index) == len(keys)
    found = index.find(np.array(keys + asked, dtype=np.uint64))
    assert found.tolist() == [keys.index(key) if key in keys else -1 for key in keys + asked]


def test_many_keys():
    """A hundred thousand keys, sequential and not."""
    for keys in (np.arange(10**5), np.random.default_rng(0).permutation(10**5) * 2**40):
        keys = keys.astype(np.uint64)
        index = _native.KeyIndex(keys)
        np.testing.assert_array_equal(index.find(keys), np.arange(10**5))
        assert (index.find(keys + np.uint64(2**63)) == -1).all()


def test_a_key_twice():
    """A key has one place."""
    with pytest.raises(ValueError, match="twice"):
        _native.KeyIndex(np.array([3, 1, 3], dtype=np.uint64))


@given(rows(), INDEX)
def test_keep(some, keys):
    """The features whose key is in the index, in order, and where they stood."""
    index = _native.KeyIndex(np.array(keys, dtype=np.uint64))
    indptr, flat, _ = compressed(some)
    kept, positions, where = index.keep(indptr, flat)
    expected = margins.keep(some, keys)
    assert kept.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    pairs = [pair for row in expected for pair in row]
    assert list(zip(positions.tolist(), where.tolist(), strict=True)) == pairs


@examples(200)
@given(rows(), INDEX, st.integers(1, 3), st.data())
def test_margins(some, keys, outputs, data):
    """Bit for bit what is added by hand in the row's order; repeated keys count as often as they stand."""
    weights = [data.draw(st.lists(WEIGHTS, min_size=len(keys), max_size=len(keys))) for _ in range(outputs)]
    intercept = data.draw(st.lists(WEIGHTS, min_size=outputs, max_size=outputs))
    index = _native.KeyIndex(np.array(keys, dtype=np.uint64))
    flat = np.array(weights, dtype=np.float64).ravel()
    found = index.margins(*compressed(some), flat, np.array(intercept))
    expected = margins.margins(some, keys, weights, intercept)
    assert found.tolist() == [margin for row in expected for margin in row]
    ones = [(row_keys, [1.0] * len(row_keys)) for row_keys, _ in some]
    indptr, row_keys, _ = compressed(some)
    found = index.margins(indptr, row_keys, None, flat, np.array(intercept))
    assert found.tolist() == [margin for row in margins.margins(ones, keys, weights, intercept) for margin in row]


@pytest.mark.parametrize(
    ("indptr", "keys", "values", "why"),
    [
        ([], [], [], "at least one"),
        ([1, 2], [1, 2], [1, 1], "start at 0"),
        ([0, 2, 1, 3], [1, 2, 3], [1, 1, 1], "must not fall"),
        ([0, 2], [1, 2, 3], [1, 1, 1], "number of keys"),
        ([0, 4], [1, 2, 3], [1, 1, 1], "number of keys"),
        ([0, 3], [1, 2, 3], [1, 1], "differ in length"),
    ],
)
def test_batches_that_are_none(indptr, keys, values, why):
    """Arrays that do not fit together are refused before anything is read."""
    arrays = np.array(indptr, dtype=np.int64), np.array(keys, dtype=np.uint64), np.array(values, dtype=np.float32)
    with pytest.raises(ValueError, match=why):
        _native.KeyIndex(np.array([1], dtype=np.uint64)).margins(*arrays, np.ones(1), np.zeros(1))


def test_weights_that_do_not_fit():
    """One weight a key and output."""
    index = _native.KeyIndex(np.array([1, 2], dtype=np.uint64))
    with pytest.raises(ValueError, match="outputs x keys"):
        index.margins(*compressed([]), np.ones(3), np.zeros(2))
