"""The units of a stream follow its rows: equal to the slow twin, for any division into blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.reference.core.running_units import units_of_rows
from thresher.core.running_units import RunningUnits

SEEDS = st.integers(0, 2**32 - 1)


def columns(seed: int, rows: int) -> np.ndarray:
    """Columns of every kind: dense, far from zero, sparse, constant, constant at first, growing."""
    rng = np.random.default_rng(seed)
    late = np.where(np.arange(rows) > rows // 2, rng.normal(size=rows), 0.0)
    growing = rng.normal(size=rows) * 10.0 ** (np.arange(rows) // 7)
    word = (rng.random(rows) < 0.05).astype(float)
    kinds = [rng.normal(size=rows), rng.normal(1e6, 1, rows), word, np.full(rows, 7.0), np.zeros(rows), late, growing]
    return np.stack(kinds, axis=1)


def read(x: np.ndarray, cuts: list[int], centred: bool = True) -> tuple[np.ndarray, np.ndarray, RunningUnits]:
    """The centre and the scale of every row, read in blocks."""
    units = RunningUnits(np.arange(x.shape[1], dtype=np.uint64), centred=centred)
    centres, scales = np.full(x.shape, np.nan), np.full(x.shape, np.nan)
    for first, last in pairwise([0, *sorted(cuts), len(x)]):
        for begin, end, _ in units.parts(np.ascontiguousarray(x[first:last])):
            centres[first + begin : first + end] = units.units.centres
            scales[first + begin : first + end] = units.units.scales
    return centres, scales, units


@examples(15)
@given(seed=SEEDS, rows=st.integers(1, 60), centred=st.booleans(), cuts=st.lists(st.integers(0, 60), max_size=4))
def test_units_are_those_of_the_twin(seed: int, rows: int, centred: bool, cuts: list[int]) -> None:
    x = columns(seed, rows)
    centres, scales, _ = read(x, [min(cut, rows) for cut in cuts], centred)
    wanted = units_of_rows(x, centred)
    np.testing.assert_allclose(scales, wanted[1], rtol=1e-6)
    np.testing.assert_allclose((centres - wanted[0]) / scales, 0, atol=1e-6)
    whole = read(x, [], centred)
    assert (centres.tobytes(), scales.tobytes()) == (whole[0].tobytes(), whole[1].tobytes())


@examples(10)
@given(seed=SEEDS, powers=st.lists(st.integers(-60, 60), min_size=7, max_size=7))
def test_powers_of_two_change_no_bit_of_a_standardised_value(seed: int, powers: list[int]) -> None:
    x, factors = columns(seed, 40), 2.0 ** np.array(powers)
    centres, scales, _ = read(x, [])
    other_centres, other_scales, _ = read(x * factors, [])
    varied = scales != np.where(centres != 0, np.abs(centres), 1.0)  # of a constant column nothing is learned
    assert ((x - centres) / scales)[varied].tobytes() == ((x * factors - other_centres) / other_scales)[
        varied
    ].tobytes()


def test_a_scale_that_grows_a_millionfold_counts_before_its_row_is_learned() -> None:
    x = np.random.default_rng(0).normal(size=(1000, 2))
    x[-1, 0] = 1e6
    centres, scales, units = read(x, [])
    assert abs((x[-1, 0] - centres[-1, 0]) / scales[-1, 0]) <= np.sqrt(1000)
    assert scales[-2, 0] < 2
    assert scales[-1, 1] == scales[-2, 1]  # the other column keeps its unit
    assert units.rows == 1000


def test_values_at_the_ends_of_single_precision() -> None:
    rng = np.random.default_rng(1)
    tiny, huge = np.finfo(np.float32).smallest_subnormal, np.finfo(np.float32).max
    x = np.stack([tiny * rng.integers(0, 5, 200), huge * rng.choice([-1.0, 1.0], 200), rng.normal(size=200)], axis=1)
    x[150:, 2] *= float(huge) / 8
    centres, scales, _ = read(x, [])
    values = (x - centres) / scales
    assert np.isfinite(values).all()
    assert np.abs(values).max() <= np.sqrt(200)
    assert (np.abs(values[-50:]).max(axis=0) > 0.1).all()


@examples(10)
@given(seed=SEEDS, cut=st.integers(1, 59))
def test_two_streams_merge_into_the_units_of_all_rows(seed: int, cut: int) -> None:
    x = columns(seed, 60)
    x[0, 2] = x[cut, 2] = 0.0  # the same value is counted as common
    parts = [read(part, [])[2] for part in (x[:cut], x[cut:])]
    before = [units.units for units in parts]
    changes = parts[0].merge(parts[1])
    after = parts[0].units
    for units, change in zip(before, changes, strict=True):
        at = change.keys.astype(int)
        values = (x[:, at] - units.centres[at]) / units.scales[at]
        again = (x[:, at] - after.centres[at]) / after.scales[at]
        np.testing.assert_allclose(values * change.factors - change.shifts, again, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(after.scales[:2], x[:, :2].std(axis=0), rtol=1e-6)
    np.testing.assert_allclose(after.centres[:2], x[:, :2].mean(axis=0), rtol=1e-6)
