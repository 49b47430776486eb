"""Online methods on streams whose columns are in any unit, and change it."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference.core.running_units import units_of_rows
from tests.reference.online.normalized import normalized_barda
from thresher.core.running_units import RunningUnits, UnitChange
from thresher.errors import SettingsError

RNG = np.random.default_rng(0)
N, D = 600, 12
X = RNG.normal(size=(N, D))
Y = X @ np.array([2, -2, 1.5, -1, *np.zeros(8)]) + RNG.logistic(size=N) > 0
UNITS, ORIGINS = 10.0 ** RNG.integers(-5, 6, D), RNG.uniform(-1000, 1000, D)
ESTIMATORS = [th.MissionClassifier, th.BudgetedClassifier]
KEYS = np.arange(D, dtype=np.uint64)


def stream(kind: Any, x: Any, cuts: list[int] | None = None, **options: Any) -> Any:
    """An estimator that has learned rows in several calls, pickled in between."""
    found = kind(k=4, standardize=True, **options)
    for first, last in pairwise([0, *(cuts or []), len(Y)]):
        part = x.iloc[first:last] if isinstance(x, pd.DataFrame) else x[first:last]
        found = pickle.loads(pickle.dumps(found)).partial_fit(part, Y[first:last], classes=[False, True])
    return found


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("data", ["array", "frame"])
def test_a_stream_gives_the_same_bits_however_it_is_divided(kind: Any, data: str) -> None:
    raw = (X + ORIGINS) * UNITS
    raw[400:, 5] *= 1e4  # grows within the stream
    x: Any = raw if data == "array" else pd.DataFrame(raw, columns=[f"c{j}" for j in range(D)]).assign(city="Rome")
    whole = stream(kind, x).selection_
    for cuts in ([1, 2, 3, 450], [64, 128, 129, 256], list(range(13, N, 97))):
        parts = stream(kind, x, cuts).selection_
        assert parts.names == whole.names
        assert parts.standardized_weights.tobytes() == whole.standardized_weights.tobytes()
        assert parts.scales.tobytes() == whole.scales.tobytes()


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_raw_columns_of_a_stream_are_as_good_as_standardised_ones(kind: Any) -> None:
    raw = stream(kind, (X + ORIGINS) * UNITS)
    own = kind(k=4, standardize=False).partial_fit(X, Y)
    assert set(raw.selection_.names) == {"x0", "x1", "x2", "x3"}
    assert raw.score((X + ORIGINS) * UNITS, Y) > own.score(X, Y) - 0.02
    np.testing.assert_allclose(
        raw.selection_.scales, (X * UNITS).std(axis=0)[raw.selection_.keys.astype(int)], rtol=0.2
    )


@pytest.mark.parametrize("kind", ESTIMATORS)
@examples(5)
@given(powers=st.lists(st.integers(-40, 40), min_size=D, max_size=D))
def test_powers_of_two_change_no_bit(kind: Any, powers: list[int]) -> None:
    plain, other = (stream(kind, x, [50]).selection_ for x in (X, X * 2.0 ** np.array(powers)))
    assert plain.names == other.names
    assert plain.standardized_weights.tobytes() == other.standardized_weights.tobytes()
    assert plain.intercept.tobytes() == other.intercept.tobytes()


@pytest.mark.parametrize("kind", ESTIMATORS)
@examples(5)
@given(shifts=st.lists(st.floats(-1000, 1000), min_size=D, max_size=D))
def test_shifts_change_no_kept_feature(kind: Any, shifts: list[float]) -> None:
    plain, other = (stream(kind, x, [50]).selection_ for x in (X, X + np.array(shifts)))
    assert plain.names == other.names
    np.testing.assert_allclose(plain.weights, other.weights, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_column_that_grows_a_millionfold_in_the_last_row(kind: Any) -> None:
    """What was learned of it counts as in a fit in the new unit, next to nothing; the other features stay."""
    before = stream(kind, X).selection_
    x = X.copy()
    x[-1, 0] = 1e6 * (1 if Y[-1] else -1)
    after = stream(kind, x)
    others = ["x1", "x2", "x3"]
    assert set(others) <= set(after.selection_.names)
    weights = [[found.weights[found.names.index(x)] for x in others] for found in (before, after.selection_)]
    np.testing.assert_allclose(*weights, rtol=0.25)
    assert np.abs(after.decision_function(x[:-1])).max() < 20


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_unit_that_changes_for_good_is_learned_again(kind: Any) -> None:
    x = X.copy()
    x[150:, :2] *= 1e4
    found = stream(kind, x, [150, 151])
    assert set(found.selection_.names) == {"x0", "x1", "x2", "x3"}
    assert found.score(x[150:], Y[150:]) > 0.8


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_constant_columns_and_the_ends_of_single_precision(kind: Any) -> None:
    x = X.copy()
    x[:, 9], x[:, 10], x[:300, 11] = 5.0, 0.0, 3.0
    x[:, 0] *= 1e-42
    x[:, 1] *= 1e37
    found = stream(kind, x.astype(np.float32), [100, 299])
    assert found.score(x.astype(np.float32), Y) > 0.8
    assert not {"x9", "x10"} & set(found.selection_.names)
    assert np.isfinite(found.selection_.standardized_weights).all()


@pytest.mark.parametrize(("loss", "lam"), [("logistic", 0.0), ("squared_hinge", 0.01)])
def test_b_arda_is_the_twin(loss: str, lam: float) -> None:
    x = X * UNITS
    x[300:, 2] *= 50.0
    x[500:, 7] *= 1e5
    y = np.where(Y, 1.0, -1.0)
    slopes = {
        "logistic": lambda m, t: -t / (1 + np.exp(t * m)),
        "squared_hinge": lambda m, t: -2 * t * max(0.0, 1 - t * m),
    }
    _, scales = units_of_rows(x, centred=False)
    own, _ = normalized_barda(x, y, scales, 4, eta=0.5, lam=lam, slope=slopes[loss])
    options: dict[str, Any] = {"loss": loss, "eta": 0.5, "lam": lam, "fit_intercept": False}
    found = stream(th.BudgetedClassifier, x, [7, 330], **options).selection_
    dense = np.zeros(D)
    dense[found.keys.astype(int)] = found.standardized_weights
    np.testing.assert_allclose(dense, own, rtol=1e-3, atol=1e-6)


def _engine(kind: Any, **options: Any) -> Any:
    return kind(k=4, standardize=False, **options).partial_fit(X, Y)._fitted.engine


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_sums_and_energies_are_those_of_the_new_unit(kind: Any) -> None:
    engine = _engine(kind)
    before = engine.state()
    factors = 2.0 ** RNG.integers(-3, 4, D)
    sketch = engine.sketch
    outside = np.setdiff1d(KEYS, before["keys"])
    estimates = None if sketch is None else [part.copy() for part in sketch.query(outside)]
    engine.change_units(UnitChange(KEYS, factors, np.zeros(D)))
    after = engine.state()
    if kind is th.BudgetedClassifier:
        factor = factors[before["dual_keys"].astype(int)][:, None]
        sums = before["dual_numbers"].reshape(-1, 2) * np.concatenate([factor, factor**2], axis=1)
        np.testing.assert_allclose(after["dual_numbers"].reshape(-1, 2), sums)
        strength = np.abs(sums[:, 0]) / np.sqrt(0.01 + np.sqrt(sums[:, 1]))
        assert set(after["keys"].tolist()) == set(before["dual_keys"][np.argsort(-strength)[:4]].tolist())
        return
    order = [before["keys"].tolist().index(key) for key in after["keys"].tolist()]
    factor = factors[after["keys"].astype(int)]
    kept, own = after["kept"].reshape(4, -1), before["kept"].reshape(4, -1)[order]
    np.testing.assert_allclose(kept[:, 1], own[:, 1] * factor**2)
    np.testing.assert_allclose(kept[:, 2], own[:, 2] * factor)
    assert (np.diff(np.abs(after["ranks"])) <= 0).all()
    assert sketch is not None
    assert estimates is not None
    now = sketch.query(outside)
    at = outside.astype(int)
    np.testing.assert_allclose(now[0].ravel(), estimates[0].ravel() * factors[at], rtol=0.05)
    np.testing.assert_allclose(now[1].ravel(), estimates[1].ravel() * factors[at] ** 2, rtol=0.05)


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("several", [False, True])
def test_a_shift_of_origins_changes_no_margin(kind: Any, several: bool) -> None:
    from thresher.sources.registry import as_source

    y = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)] if several else Y
    engine = kind(k=4, standardize=False).partial_fit(X, y)._fitted.engine
    shifts = RNG.normal(size=D)
    batches = [next(iter(as_source(x, Y).batches(N)))[0] for x in (X, X - shifts)]
    before = engine.margins(batches[0])
    engine.change_units(UnitChange(KEYS, np.ones(D), shifts))
    np.testing.assert_allclose(engine.margins(batches[1]), before, rtol=1e-5, atol=1e-5)


def test_other_stores_and_a_mini_batch_change_units() -> None:
    for options in ({"active": "sketch"}, {"method": "iht"}, {"method": "batch-iht", "minibatch": 7}, {"step": 0.05}):
        raw = stream(th.MissionClassifier, (X + ORIGINS) * UNITS, [333], **options)
        assert raw.score((X + ORIGINS) * UNITS, Y) > 0.75, options
    spilled = _spilled()
    before = spilled.state()["dual_numbers"]
    spilled.change_units(UnitChange(KEYS, np.full(D, 0.5), np.zeros(D)))
    np.testing.assert_allclose(spilled.state()["dual_numbers"].reshape(-1, 2), before.reshape(-1, 2) * [0.5, 0.25])


def _spilled() -> Any:
    from thresher import _native

    engine = _engine(th.BudgetedClassifier)
    _native.dual_spill(engine._loop)
    return engine


def test_streams_merge_in_the_middle_of_growth() -> None:
    raw = X * UNITS
    raw[300:, 0] *= 8.0
    first, second = (
        th.MissionClassifier(k=4, standardize=True).partial_fit(raw[part], Y[part])._fitted
        for part in (slice(0, 300), slice(300, N))
    )
    assert isinstance(first.units, RunningUnits)
    assert isinstance(second.units, RunningUnits)
    mine, theirs = first.units.merge(second.units)
    first.engine.change_units(mine)
    second.engine.change_units(theirs)
    first.engine.merge(second.engine)
    np.testing.assert_allclose(first.units.units.scales, raw.std(axis=0), rtol=1e-6)
    selected = first.engine.selected()
    assert set(selected.keys.tolist()) == {0, 1, 2, 3}
    margins = ((raw - first.units.units.centres) / first.units.units.scales)[:, selected.keys.astype(int)]
    right = (margins @ selected.weights + selected.intercept > 0) == (Y if first.targets.orientation > 0 else ~Y)
    assert right.mean() > 0.8


def test_a_fit_goes_on_in_units_that_follow_further_rows() -> None:
    found = th.MissionClassifier(k=4).fit(X, Y)
    later = found.partial_fit(X * 100.0, Y)
    assert later.score(X * 100.0, Y) > 0.8
    assert (later.selection_.scales > 10).all()


def test_methods_that_cannot_change_units_keep_those_of_the_first_call() -> None:
    found = th.BudgetedClassifier(k=4, method="sofs", standardize=True).partial_fit(X[:300], Y[:300])
    before = found._fitted.units
    assert found.partial_fit(100.0 * X[300:], Y[300:])._fitted.units is before
    with pytest.raises(SettingsError, match="products"):
        th.MissionClassifier(k=4, standardize=True, interactions=2).partial_fit(X, Y)


def test_rows_are_standardised_a_few_at_a_time_in_little_room() -> None:
    from thresher.sources.registry import as_source
    from thresher.sources.transforms.stream_units import StreamUnits

    source, found = as_source((X + ORIGINS) * UNITS, Y), []
    for room in (1, 1 << 12, 1 << 30):
        rows = StreamUnits(source, RunningUnits(KEYS, centred=True), room=room)
        parts = [(part, begin) for batch, _ in source.batches(500) for begin, part, _ in rows.parts(batch)]
        assert sum(len(part) for part, _ in parts) == N
        found.append(b"".join(part.values.tobytes() for part, _ in parts if part.values is not None))
    assert found[0] == found[1] == found[2]
