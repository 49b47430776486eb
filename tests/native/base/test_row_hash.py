"""The hash of a row equals its twin and tells rows apart, whatever the order of their features."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.native.base.rows import VALUES, compressed, rows
from tests.reference.core.row_hash import row_hash
from thresher import _native

SEEDS = st.integers(0, 2**64 - 1)


@given(rows(values=VALUES | st.floats(width=32, allow_nan=False, allow_infinity=False)), SEEDS)
def test_twin(some, seed):
    """Any rows under any seed."""
    assert _native.row_hashes(*compressed(some), seed).tolist() == [row_hash(*row, seed) for row in some]


@given(rows(values=st.floats(-4, 4, width=32)), SEEDS)
def test_values_on_a_grid(some, seed):
    """Values count in multiples of the grid; those that round to zero do not count."""
    rounded = [(keys, np.rint(np.array(values, np.float32) / np.float32(0.25)).tolist()) for keys, values in some]
    found = _native.row_hashes(*compressed(some), seed, 0.25)
    assert found.tolist() == [row_hash(*row, seed) for row in rounded]


@given(rows(), SEEDS)
def test_values_left_out_are_ones(some, seed):
    """A batch without values hashes as one whose values are all one."""
    ones = [(keys, [1.0] * len(keys)) for keys, _ in some]
    indptr, keys, values = compressed(ones)
    assert (
        _native.row_hashes(indptr, keys, None, seed).tolist() == _native.row_hashes(indptr, keys, values, seed).tolist()
    )


@given(rows(), SEEDS, st.randoms(use_true_random=False))
def test_order_and_zeros_do_not_matter(some, seed, random):
    """A row shuffled, with zeros of both signs thrown in, is the same row."""
    shuffled = []
    for keys, values in some:
        pairs = [*zip(keys, values, strict=True), (99, 0.0), (3, -0.0)]
        random.shuffle(pairs)
        shuffled.append(([key for key, _ in pairs], [value for _, value in pairs]))
    found = _native.row_hashes(*compressed(shuffled), seed)
    assert found.tolist() == _native.row_hashes(*compressed(some), seed).tolist()


def test_different_rows_differ():
    """A hundred thousand pairs of keys, and the same pair with values exchanged, all have hashes of their own."""
    a, b = np.meshgrid(np.arange(320), np.arange(320, 640))
    some = np.stack([a.ravel(), b.ravel()], axis=1).astype(np.uint64)
    indptr = np.arange(len(some) + 1) * 2
    values = np.tile(np.array([1, 2], dtype=np.float32), len(some))
    found = [_native.row_hashes(indptr, some.ravel(), v, 1) for v in (values, 3 - values, None)]
    assert len(np.unique(np.concatenate(found))) == 3 * len(some)
