"""The count-sketch against its twin, against a dictionary, and against the bound of its theory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.reference.online import sketches
from thresher import _native

KEYS = st.integers(0, 30) | st.integers(0, 2**64 - 1)
DELTAS = st.floats(-1e3, 1e3, width=32)
# The rows' seeds count up from the sketch's own, round the end of the range if need be.
SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 50), st.integers(0, 2**64 - 1))


def arrays(updates):
    keys = np.array([key for key, _ in updates], dtype=np.uint64)
    return keys, np.array([delta for _, delta in updates], dtype=np.float64)


def made(shape, updates):
    sketch = _native.CountSketch(*shape)
    sketch.add(*arrays(updates))
    return sketch


@st.composite
def operations(draw):
    """A shape with lanes, and what is done to two sketches of it, one after the other."""
    shape = (*draw(SHAPES), draw(st.integers(1, 3)))
    deltas = st.lists(DELTAS, min_size=shape[3], max_size=shape[3])
    one = st.one_of(
        st.tuples(st.just("add"), st.integers(0, 1), KEYS, deltas),
        st.tuples(st.just("scale"), st.integers(0, 1), st.sampled_from([0.0, 0.5, 0.3, 1e-9, 1e8, -1.0])),
        st.just(("merge",)),
    )
    return shape, draw(st.lists(one, max_size=30))


@examples(150)
@given(operations(), st.lists(KEYS, min_size=1, max_size=10))
def test_twin(made_up, asked):
    """Cells, factors and estimates, to the bit, whatever is added, scaled and merged."""
    shape, steps = made_up
    pair = [_native.CountSketch(*shape) for _ in range(2)]
    twins = [sketches.CountSketch(*shape) for _ in range(2)]
    for name, *rest in steps:
        if name == "add":
            which, key, deltas = rest
            pair[which].add(np.array([key], dtype=np.uint64), np.array(deltas))
            twins[which].add(key, deltas)
        elif name == "scale":
            pair[rest[0]].scale(rest[1])
            twins[rest[0]].scale(rest[1])
        else:
            pair[0].merge(pair[1])
            twins[0].merge(twins[1])
    keys = [*asked, *(step[2] for step in steps if step[0] == "add")]
    for sketch, twin in zip(pair, twins, strict=True):
        np.testing.assert_array_equal(sketch.cells, twin.cells.ravel())
        assert sketch.factor == twin.factor
        estimates = sketch.query(np.array(keys, dtype=np.uint64)).reshape(len(keys), -1).tolist()
        assert estimates == [twin.query(key)[0] for key in keys]


@examples(60)
@given(st.lists(st.tuples(KEYS, st.integers(-50, 50), st.integers(-50, 50)), max_size=30), st.integers(0, 1000))
def test_a_wide_sketch_is_a_dictionary(updates, seed):
    """With far more cells than keys the median over five rows meets no collision that matters, in either lane."""
    truth = {}
    for key, first, second in updates:
        before = truth.get(key, (0, 0))
        truth[key] = (before[0] + first, before[1] + second)
    sketch = _native.CountSketch(5, 1 << 16, seed, 2)
    keys = np.array([key for key, _, _ in updates], dtype=np.uint64)
    sketch.add(keys, np.array([float(x) for _, *both in updates for x in both]))
    asked = np.array(list(truth), dtype=np.uint64)
    assert sketch.query(asked).tolist() == [float(x) for both in truth.values() for x in both]


@examples(100)
@given(SHAPES, st.lists(st.tuples(KEYS, st.integers(-1000, 1000)), max_size=40), st.integers(0, 40))
def test_merging_halves_gives_the_whole(shape, updates, cut):
    """Exactly, for whole increments."""
    half = made(shape, updates[:cut])
    half.merge(made(shape, updates[cut:]))
    np.testing.assert_array_equal(half.cells, made(shape, updates).cells)


def test_lanes_are_sketches_of_their_own():
    """A lane of several holds what a sketch of one lane would."""
    rng = np.random.default_rng(0)
    keys, deltas = rng.integers(0, 500, 2000).astype(np.uint64), rng.normal(size=(2000, 3))
    both = _native.CountSketch(3, 64, 5, 3)
    both.add(keys, deltas.ravel())
    for lane in range(3):
        one = _native.CountSketch(3, 64, 5)
        one.add(keys, np.ascontiguousarray(deltas[:, lane]))
        np.testing.assert_array_equal(both.cells.reshape(-1, 3)[:, lane], one.cells)
        np.testing.assert_array_equal(both.query(keys).reshape(-1, 3)[:, lane], one.query(keys))


@examples(100)
@given(
    SHAPES,
    st.lists(st.tuples(KEYS, st.integers(-1000, 1000)), max_size=40),
    st.lists(st.sampled_from([0.5, 0.1, 1e-4, 2.0, 3e3, -1.0]), max_size=8),
    KEYS,
)
def test_scaling_is_linear(shape, updates, factors, key):
    """The estimates of the scaled sketch are the scaled estimates, also once the factor is folded in.

    Whatever the factors, cells stay inside the range of single precision; a median of two cells may be much smaller.
    """
    sketch = made(shape, updates)
    whole = np.prod(factors)
    within = 1e-6 * np.abs(sketch.cells).max() * abs(whole)
    asked = np.array([key, *(k for k, _ in updates)], dtype=np.uint64)
    before = sketch.query(asked)
    for factor in factors:
        sketch.scale(factor)
    np.testing.assert_allclose(sketch.query(asked), before * whole, rtol=1e-5, atol=within)
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
    for other in ((2, 5, 0), (3, 6, 0), (3, 5, 1), (3, 5, 0, 2)):
        with pytest.raises(ValueError, match="different shape or seed"):
            sketch.merge(_native.CountSketch(*other))
    with pytest.raises(ValueError, match="one increment a key"):
        sketch.add(np.zeros(1, np.uint64), np.zeros(2))
    with pytest.raises((ValueError, RuntimeError)):
        _native.CountSketch(3, 5, 0, 0)
    with pytest.raises(ValueError, match="another size"):
        sketch.cells = np.zeros(7, np.float32)


def test_cells_and_factor_make_the_sketch_again():
    sketch = made((3, 20, 9), [(k, k * 1.5) for k in range(30)])
    sketch.scale(0.3)
    again = _native.CountSketch(3, 20, 9)
    again.cells, again.factor = sketch.cells, sketch.factor
    keys = np.arange(40, dtype=np.uint64)
    assert again.query(keys).tobytes() == sketch.query(keys).tobytes()
