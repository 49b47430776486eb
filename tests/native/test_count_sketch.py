"""The count-sketch against its twin, against a dictionary, and against the bound of its theory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import count_sketch
from thresher import _native

KEYS = st.integers(0, 30) | st.integers(0, 2**64 - 1)
DELTAS = st.floats(-1e3, 1e3, width=32)
UPDATES = st.lists(st.tuples(KEYS, DELTAS), max_size=40)
SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 50), st.integers(0, 2**64 - 20))


def arrays(updates):
    keys = np.array([key for key, _ in updates], dtype=np.uint64)
    return keys, np.array([delta for _, delta in updates], dtype=np.float64)


def made(shape, updates):
    sketch = _native.CountSketch(*shape)
    sketch.add(*arrays(updates))
    return sketch


@settings(deadline=None, max_examples=150)
@given(SHAPES, UPDATES, st.lists(KEYS, max_size=10))
def test_twin(shape, updates, asked):
    """Cells and estimates, to the bit."""
    sketch, twin = made(shape, updates), count_sketch.CountSketch(*shape)
    for key, delta in updates:
        twin.add(key, delta)
    np.testing.assert_array_equal(sketch.cells.reshape(shape[:2]), twin.cells)
    keys = [*asked, *(key for key, _ in updates)]
    assert sketch.query(np.array(keys, dtype=np.uint64)).tolist() == [twin.query(key) for key in keys]


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(KEYS, st.integers(-50, 50)), max_size=30), st.integers(0, 1000))
def test_a_wide_sketch_is_a_dictionary(updates, seed):
    """With far more cells than keys the median over five rows meets no collision that matters."""
    truth = {}
    for key, delta in updates:
        truth[key] = truth.get(key, 0) + delta
    sketch = made((5, 1 << 16, seed), updates)
    keys = np.array(list(truth), dtype=np.uint64)
    assert sketch.query(keys).tolist() == list(truth.values())


@settings(deadline=None, max_examples=100)
@given(SHAPES, st.lists(st.tuples(KEYS, st.integers(-1000, 1000)), max_size=40), st.integers(0, 40))
def test_merging_halves_gives_the_whole(shape, updates, cut):
    """Exactly, for whole increments."""
    half = made(shape, updates[:cut])
    half.merge(made(shape, updates[cut:]))
    np.testing.assert_array_equal(half.cells, made(shape, updates).cells)


@settings(deadline=None, max_examples=100)
@given(SHAPES, UPDATES, st.lists(st.sampled_from([0.5, 0.1, 1e-4, 2.0, 3e5, -1.0]), max_size=8), KEYS)
def test_scaling_is_linear(shape, updates, factors, key):
    """The estimates of the scaled sketch are the scaled estimates, also once the factor is folded in."""
    sketch = made(shape, updates)
    asked = np.array([key, *(k for k, _ in updates)], dtype=np.uint64)
    before = sketch.query(asked)
    for factor in factors:
        sketch.scale(factor)
    np.testing.assert_allclose(sketch.query(asked), before * np.prod(factors), rtol=1e-5, atol=1e-30)
    sketch.add(np.array([key], dtype=np.uint64), np.array([0.0]))
    assert np.isfinite(sketch.query(asked)).all()


def test_scaling_to_nothing_forgets():
    sketch = made((3, 10, 0), [(1, 5.0)])
    sketch.scale(0.0)
    assert (sketch.factor, sketch.query(np.array([1], dtype=np.uint64)).tolist()) == (1.0, [0.0])


def test_updates_after_scaling_count_in_full():
    sketch = made((3, 1000, 0), [(1, 8.0)])
    sketch.scale(0.25)
    sketch.add(np.array([1], dtype=np.uint64), np.array([1.0]))
    assert sketch.query(np.array([1], dtype=np.uint64)).tolist() == [3.0]


@pytest.mark.parametrize("seed", range(5))
def test_errors_keep_to_the_bound(seed):
    """Of 20,000 estimates hardly one is off by 3 ||b|| / sqrt(width), and most by less than a third of that."""
    rng = np.random.default_rng(seed)
    keys = rng.choice(2**62, 20_000, replace=False).astype(np.uint64)
    truth = rng.normal(size=20_000)
    sketch = _native.CountSketch(5, 4096, seed)
    sketch.add(keys, truth)
    error = np.abs(sketch.query(keys) - truth) * np.sqrt(4096) / np.linalg.norm(truth)
    assert (error < 3).mean() > 0.999
    assert (error < 1).mean() > 0.8
    assert abs(np.mean(sketch.query(keys) - truth)) < 0.1  # collisions have either sign
    assert sketch.bound() == pytest.approx(np.linalg.norm(truth) / np.sqrt(4096), rel=0.1)


def test_shapes_and_mergers_that_make_no_sense():
    for rows, width in ((0, 5), (17, 5), (3, 0)):
        with pytest.raises((ValueError, RuntimeError, IndexError)):
            _native.CountSketch(rows, width, 0)
    sketch = _native.CountSketch(3, 5, 0)
    for other in ((2, 5, 0), (3, 6, 0), (3, 5, 1)):
        with pytest.raises(ValueError, match="different shape or seed"):
            sketch.merge(_native.CountSketch(*other))
    with pytest.raises(ValueError, match="another size"):
        sketch.cells = np.zeros(7, np.float32)


def test_cells_and_factor_make_the_sketch_again():
    sketch = made((3, 20, 9), [(k, k * 1.5) for k in range(30)])
    sketch.scale(0.3)
    again = _native.CountSketch(3, 20, 9)
    again.cells, again.factor = sketch.cells, sketch.factor
    keys = np.arange(40, dtype=np.uint64)
    assert again.query(keys).tobytes() == sketch.query(keys).tobytes()
