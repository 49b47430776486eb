"""Units of numeric columns: equal to the slow twin, exactly equivariant, and defined for every column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.examples import examples
from tests.reference.core.units import unit
from thresher.core.units import Units, UnitSums

KEYS = np.arange(3, dtype=np.uint64)
#: Few different values, so that some make up more than half of a column.
COLUMNS = arrays(
    np.float64, st.tuples(st.integers(1, 30), st.just(3)), elements=st.sampled_from([0, 0, 1, -2.5, 7, 40])
)


def units_of(x: np.ndarray, step: int = 7, *, centred: bool = True) -> Units:
    sums = UnitSums(x.shape[1], centred=centred)
    for at in range(0, len(x), step):
        sums.add(x[at : at + step].copy())
    return sums.units(np.arange(x.shape[1], dtype=np.uint64))


@examples(100)
@given(x=COLUMNS, centred=st.booleans())
def test_units_are_those_of_the_twin(x: np.ndarray, centred: bool) -> None:
    found = units_of(x, len(x), centred=centred)  # the first block holds all rows, so their common value is known
    wanted = np.array([unit(column, centred) for column in x.T])
    np.testing.assert_allclose(found.centres, wanted[:, 0], atol=1e-12)
    np.testing.assert_allclose(found.scales, wanted[:, 1], rtol=1e-7)


@examples(100)
@given(x=COLUMNS, step=st.integers(1, 30), powers=arrays(np.int64, 3, elements=st.integers(-100, 100)))
def test_powers_of_two_change_no_bit(x: np.ndarray, step: int, powers: np.ndarray) -> None:
    factors = 2.0**powers
    plain, scaled = units_of(x, step), units_of(x * factors, step)
    assert (plain.centres * factors).tobytes() == scaled.centres.tobytes()
    constant = (x == x[0]).all(axis=0) & (x[0] == 0)  # all zeros have no unit
    assert (plain.scales * factors)[~constant].tobytes() == scaled.scales[~constant].tobytes()
    assert plain.apply(x.copy()).tobytes() == scaled.apply(x * factors).tobytes()


@pytest.mark.parametrize("shift", [1e3, -1e3, 5e5])
def test_a_shift_changes_next_to_nothing(shift: float) -> None:
    x = np.random.default_rng(0).normal(size=(500, 3))
    x[:, 1] = np.where(x[:, 1] > 1, x[:, 1], 0.0)
    plain, shifted = units_of(x), units_of(x + shift)
    np.testing.assert_allclose(plain.apply(x.copy()), shifted.apply(x + shift), atol=1e-9)


def test_ends_of_single_precision_and_constant_columns() -> None:
    column = np.array([1.0, 3.0, 2.0, 5.0])
    x = np.stack([column * 6e37, column * 1e-45, np.full(4, 7.0), np.zeros(4)], axis=1)
    units = units_of(x)
    found = units.apply(x.copy())
    np.testing.assert_allclose(found[:, 0], (column - 2.75) / column.std(), rtol=1e-6)
    np.testing.assert_allclose(found[:, 1], (column - 2.75) / column.std(), rtol=1e-6)
    assert (found[:, 2:] == 0).all()
    assert (units.apply(np.full((1, 4), 3e38)) <= np.finfo(np.float32).max).all()


def test_a_scale_that_grows_in_the_last_row() -> None:
    x = np.random.default_rng(0).normal(size=(100, 1))
    x[-1] = 1e6
    units = units_of(x)
    assert units.scales[0] == pytest.approx(x.std(), rel=1e-9)
    assert np.isfinite(units.apply(x)).all()


def test_other_features_have_no_unit() -> None:
    units = Units(np.array([9, 4, 7], np.uint64), np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]))
    centres, scales = units.of(np.array([4, 5, 9, 100], np.uint64))
    assert centres.tolist() == [2, 0, 1, 0]
    assert scales.tolist() == [20, 1, 10, 1]
