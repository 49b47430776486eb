"""The mean of the cells of sketches, next to exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.distributed.mean_of_models import halves_around, open_halves, revised, weighted_mean
from thresher import _native

WIDTH = 150  # more than two blocks, the last one incomplete


@given(st.integers(0, 10**6), st.lists(st.integers(1, 1000), min_size=1, max_size=4))
def test_cells_are_the_mean_or_unchanged(seed: int, rows: list[int]) -> None:
    rng = np.random.default_rng(seed)
    base = rng.normal(size=2 * WIDTH).astype(np.float32).view(np.uint32) >> 16
    parts = [base.astype(np.uint16) for _ in rows]
    for part in parts:
        changed = rng.integers(0, 2 * WIDTH, 20)
        part[changed] = (rng.normal(size=20).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    sketch = _native.EvidenceSketch(1, WIDTH, seed)
    sketch.set_mean(parts, [n / sum(rows) for n in rows], [1.0] * len(rows))
    means = weighted_mean([open_halves(part).tolist() for part in parts], rows)
    same = np.all([part == parts[0] for part in parts], axis=0)
    assert np.array_equal(sketch.cells[same], parts[0][same])
    for found, mean in zip(sketch.cells[~same].tolist(), np.array(means, object)[~same], strict=True):
        low, high = halves_around(mean)
        assert low - 1 <= found <= high + 1  # the mean itself is rounded to a single float first


@given(st.integers(0, 10**6), st.lists(st.floats(0.1, 1.0), min_size=1, max_size=4), st.integers(1, 3))
def test_cells_are_revised_or_unchanged(seed: int, weights: list[float], lanes: int) -> None:
    rng = np.random.default_rng(seed)
    stride, width = 1 + lanes, 40
    base = (rng.normal(size=stride * width).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    base[::stride] &= 0x7FFF  # energies are positive
    parts = [base.copy() for _ in weights]
    for part in parts:
        changed = rng.integers(0, stride * width, 12)
        part[changed] = (rng.normal(size=12).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        part[::stride] = np.maximum(part[::stride] & 0x7FFF, base[::stride])  # and only grow
    sketch = _native.EvidenceSketch(1, width, seed, lanes)
    sketch.set_revised([base, *parts], [0.0, *weights], [1.0] * (1 + len(weights)))
    for c in range(width):
        cell = slice(c * stride, (c + 1) * stride)
        if all(np.array_equal(part[cell], base[cell]) for part in parts):
            assert np.array_equal(sketch.cells[cell], base[cell])
            continue
        numbers = [open_halves(part[cell]).tolist() for part in (base, *parts)]
        expected = revised(numbers[0], numbers[1:], [Fraction(weight) for weight in weights])
        found = open_halves(sketch.cells[cell])
        for number, exact in zip(found.tolist(), expected, strict=True):
            # The 16-bit floats around it, and what rounding to a double may add where sums cancel.
            low, high = (open_halves(np.array([bits], np.uint16))[0] for bits in halves_around(exact))
            assert min(low, high) - 1e-6 <= number <= max(low, high) + 1e-6


@given(st.integers(0, 10**6), st.lists(st.integers(1, 1000), min_size=1, max_size=4))
def test_plain_cells_are_the_mean_in_other_units(seed: int, rows: list[int]) -> None:
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=WIDTH).astype(np.float32) for _ in rows]
    units = [1.0, *rng.uniform(0.5, 1.0, len(rows) - 1).tolist()]
    sketch = _native.CountSketch(1, WIDTH, seed)
    sketch.set_mean(parts, [n / sum(rows) for n in rows], units)
    scaled = [(unit * part.astype(np.float64)).tolist() for unit, part in zip(units, parts, strict=True)]
    expected = np.array([float(mean) for mean in weighted_mean(scaled, rows)])
    assert np.allclose(sketch.cells, expected, rtol=1e-6, atol=1e-7)


def test_keys_are_read_from_the_cells_of_another_sketch() -> None:
    keys = np.arange(40, dtype=np.uint64)
    values = np.linspace(-1, 1, 40)
    one, other = _native.CountSketch(3, 64, 5), _native.CountSketch(3, 64, 5)
    one.add(keys, values)
    one.scale(0.5)
    assert np.array_equal(other.query_from(keys, one.cells, one.factor)[0], one.query(keys))
    evidence, empty = _native.EvidenceSketch(3, 64, 5), _native.EvidenceSketch(3, 64, 5)
    evidence.add(keys, values, values**2)
    for found, expected in zip(empty.query_from(keys, evidence.cells, 1.0), evidence.query(keys), strict=True):
        assert np.array_equal(found, expected)
