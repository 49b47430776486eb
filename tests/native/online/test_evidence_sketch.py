"""The sketch of sums and their energies: against its twin, and what rounding at random promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.native.online.test_count_sketch import DELTAS, KEYS, SHAPES
from tests.reference.online import sketches
from thresher import _native

ENERGIES = st.floats(0, 1e4, width=32)


def keyed(*keys: int):
    return np.array(keys, dtype=np.uint64)


@st.composite
def operations(draw):
    """A shape with lanes, and what is done to two sketches of it, one after the other."""
    shape = (*draw(SHAPES), draw(st.integers(1, 3)))
    sums = st.lists(DELTAS, min_size=shape[3], max_size=shape[3])
    which = st.integers(0, 1)
    one = st.one_of(
        st.tuples(st.sampled_from(["add", "add", "put"]), which, KEYS, sums, ENERGIES),
        st.tuples(st.just("scale"), which, st.sampled_from([0.0, 0.5, 0.3, 1e-9, 1e8, -1.0])),
        st.just(("merge",)),
    )
    return shape, draw(st.lists(one, max_size=20))


@examples(150)
@given(operations(), st.lists(KEYS, min_size=1, max_size=10))
def test_twin(made_up, asked):
    """Cells, factors, random states and answers, to the bit, whatever is done."""
    shape, steps = made_up
    pair = [_native.EvidenceSketch(*shape) for _ in range(2)]
    twins = [sketches.EvidenceSketch(*shape) for _ in range(2)]
    for name, *rest in steps:
        if name in ("add", "put"):
            which, key, sums, energy = rest
            getattr(pair[which], name)(keyed(key), np.array(sums), np.array([energy]))
            getattr(twins[which], name)(key, sums, energy)
        elif name == "scale":
            pair[rest[0]].scale(rest[1])
            twins[rest[0]].scale(rest[1])
        else:
            pair[0].merge(pair[1])
            twins[0].merge(twins[1])
    keys = [*asked, *(step[2] for step in steps if step[0] in ("add", "put"))]
    for sketch, twin in zip(pair, twins, strict=True):
        np.testing.assert_array_equal(sketch.cells, twin.cells.ravel())
        assert (sketch.factor, sketch.random) == (twin.factor, twin.random)
        sums, energies = sketch.query(keyed(*keys))
        expected = [twin.query(key) for key in keys]
        assert sums.reshape(len(keys), -1).tolist() == [sums for sums, _ in expected]
        assert energies.tolist() == [energy for _, energy in expected]
        energy = sketch.cells.reshape(-1, 1 + shape[3])[:, 0]
        assert (energy < 0x7F80).all()  # never negative, never lost to infinity


def test_small_numbers_in_a_wide_sketch_are_exact():
    """What has at most eight bits is rounded by nothing."""
    sketch = _native.EvidenceSketch(3, 1 << 14, 1)
    keys = np.arange(50, dtype=np.uint64)
    sketch.add(keys, keys.astype(float) - 20, keys.astype(float))
    sketch.add(keys, keys.astype(float) - 20, keys.astype(float))
    sums, energies = sketch.query(keys)
    assert sums.tolist() == [2.0 * (k - 20) for k in range(50)]
    assert energies.tolist() == [2.0 * k for k in range(50)]


@pytest.mark.parametrize(("delta", "energy"), [(0.001, 0.003), (-0.37, 0.2), (0.015, 0.0005)])
def test_rounding_is_unbiased(delta, energy):
    """Three hundred steps on a large sum, of which eight bits hold little or nothing: right on average over seeds."""
    runs, steps, start = 2000, 300, 100.0
    keys, sums, energies = np.zeros(steps, np.uint64), np.full(steps, delta), np.full(steps, energy)
    ended = np.empty((runs, 2))
    for seed in range(runs):
        sketch = _native.EvidenceSketch(1, 1, 0)
        sketch.random = seed * 0x9E3779B97F4A7C15 % 2**64
        sketch.put(keys[:1], np.array([start]), np.array([start]))
        sketch.add(keys, sums, energies)
        ended[seed] = np.ravel(sketch.query(keys[:1])) - start
    error = ended.mean(axis=0) - steps * np.array([delta, energy])
    assert (np.abs(error) < 5 * ended.std(axis=0) / np.sqrt(runs)).all()


def test_energy_never_falls():
    """Adding and putting can only raise the energy of a cell, but for the last of its eight bits."""
    rng = np.random.default_rng(0)
    sketch = _native.EvidenceSketch(2, 8, 3)
    before = np.zeros(16)
    for _ in range(2000):
        key = keyed(int(rng.integers(0, 40)))
        change = sketch.add if rng.random() < 0.7 else sketch.put
        change(key, rng.normal(size=1), rng.random(1))
        energy = (sketch.cells.reshape(-1, 2)[:, 0].astype(np.uint32) << 16).view(np.float32).astype(float)
        assert (energy >= before).all()
        before = energy


def test_what_is_put_is_read():
    """In all rows, to eight bits, and the energy is the larger of the two."""
    sketch = _native.EvidenceSketch(1, 5, 0, 2)
    rng = np.random.default_rng(1)
    sketch.add(np.arange(40, dtype=np.uint64), rng.normal(size=80), rng.random(40))
    sketch.scale(0.25)
    before = sketch.query(keyed(7))[1][0]
    sketch.put(keyed(7), np.array([3.3, -1.7]), np.array([before / 2]))
    sums, energy = sketch.query(keyed(7))
    np.testing.assert_allclose(sums, [3.3, -1.7], rtol=2**-7)
    assert energy[0] == before
    sketch.put(keyed(7), np.array([0.0, 0.0]), np.array([1000.0]))
    sums, energy = sketch.query(keyed(7))
    assert (sums.tolist(), energy.tolist()) == ([0.0, 0.0], [1000.0])


def test_the_sum_of_a_crowd_is_worth_nothing():
    """A crowded cell has a large sum by accident, and the energy that says so: z / sqrt(H) is about a unit."""
    rng = np.random.default_rng(2)
    keys = rng.choice(2**62, 50_000, replace=False).astype(np.uint64)
    sums = rng.normal(size=50_000)
    sketch = _native.EvidenceSketch(1, 500, 0)
    sketch.add(keys, sums, sums**2)
    read, energy = sketch.query(keys)
    assert np.abs(read).max() > 20
    assert 0.9 < np.std(read / np.sqrt(energy)) < 1.1


def test_what_is_strong_in_one_row_only_is_weak():
    """A key that has cells to itself but for one, where a strong key sits, reads as what it is."""
    strong = keyed(1)
    sketch = _native.EvidenceSketch(3, 16, 0)
    before = sketch.cells.copy()
    sketch.add(strong, np.array([64.0]), np.array([16.0]))
    others = np.arange(2, 2000, dtype=np.uint64)
    touched = (sketch.cells != before).reshape(3, 16, 2).any(axis=2)
    alone = _native.EvidenceSketch(3, 16, 0)
    shared = []
    for key in others:
        alone.cells = np.zeros_like(before)
        alone.add(keyed(int(key)), np.array([1.0]), np.array([1.0]))
        shared.append(int((touched & (alone.cells != 0).reshape(3, 16, 2).any(axis=2)).sum()))
    read, _ = sketch.query(others)
    assert set(shared) >= {0, 1, 2}
    assert all(value == 0 for value, rows in zip(read.tolist(), shared, strict=True) if rows < 3)
    assert sketch.query(strong)[0].tolist() == [64.0]


def test_scaling_leaves_energies_and_merging_adds_them():
    a, b = (_native.EvidenceSketch(3, 64, 4) for _ in range(2))
    a.add(keyed(1), np.array([8.0]), np.array([16.0]))
    b.add(keyed(1), np.array([2.0]), np.array([4.0]))
    a.scale(0.5)
    b.scale(2.0)
    a.merge(b)
    assert [x.tolist() for x in a.query(keyed(1))] == [[8.0], [20.0]]
    a.scale(0.0)
    assert [x.tolist() for x in a.query(keyed(1))] == [[0.0], [20.0]]


def test_the_random_state_is_part_of_the_sketch():
    """Cells, factor and random state make the sketch again; without the last it would round otherwise."""
    rng = np.random.default_rng(3)
    keys, sums, energies = rng.integers(0, 99, 500).astype(np.uint64), rng.normal(size=500), rng.random(500)
    sketch, again, other = (_native.EvidenceSketch(3, 20, 9) for _ in range(3))
    sketch.add(keys, sums, energies)
    again.cells, again.factor, again.random = sketch.cells, sketch.factor, sketch.random
    other.cells, other.factor = sketch.cells, sketch.factor
    for each in (sketch, again, other):
        each.add(keys, sums, energies)
    assert again.cells.tobytes() == sketch.cells.tobytes()
    assert other.cells.tobytes() != sketch.cells.tobytes()


def test_shapes_and_mergers_that_make_no_sense():
    for rows, width, lanes in ((0, 5, 1), (17, 5, 1), (3, 0, 1), (3, 5, 0)):
        with pytest.raises((ValueError, RuntimeError, IndexError)):
            _native.EvidenceSketch(rows, width, 0, lanes)
    sketch = _native.EvidenceSketch(3, 5, 0)
    for other in ((2, 5, 0), (3, 6, 0), (3, 5, 1), (3, 5, 0, 2)):
        with pytest.raises(ValueError, match="different shape or seed"):
            sketch.merge(_native.EvidenceSketch(*other))
    for change in (sketch.add, sketch.put):
        with pytest.raises(ValueError, match="one sum and one energy"):
            change(keyed(1), np.zeros(2), np.zeros(1))
    with pytest.raises(ValueError, match="another size"):
        sketch.cells = np.zeros(7, np.uint16)
