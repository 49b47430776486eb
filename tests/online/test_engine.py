"""The online engine: batching, state, merging, and what it refuses."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.streams import planted
from thresher.batch import Batch, Names
from thresher.errors import DataError, SettingsError
from thresher.online.engine import OnlineEngine, OnlineSettings
from thresher.sources.arrays import SparseSource

X, Y = planted(rows=200, width=60, support=(1, 5, 30))


def whole_batch() -> Batch:
    """All rows as one batch, named."""
    batch, _ = next(SparseSource(X, Y).batches(10_000))
    text = "".join(f"c{key:02d}" for key in range(60)).encode()
    words = Names.pack(batch.keys.astype(np.int64) * 3, np.full(batch.nnz, 3), 0)
    names = Names(words, np.frombuffer(text, np.uint8), [b""])
    return Batch(batch.indptr, batch.keys, batch.values, batch.y, names=names)


METHODS: tuple[dict[str, Any], ...] = (
    {"method": "iht"},
    {"method": "mission", "sketch": (3, 17)},
    {"method": "mission", "sketch": (3, 17), "active": "sketch"},
)
METHOD = st.sampled_from(METHODS)


def learned(cuts: list[int], engine: OnlineEngine | None = None, **options: Any) -> OnlineEngine:
    """An engine after the rows between the first and the last cut, batch by batch."""
    engine = engine or OnlineEngine(OnlineSettings(k=7, **options))
    batch = whole_batch()
    for a, b in pairwise(cuts):
        engine.step(batch.take(slice(a, b)))
    return engine


def assert_same(a: OnlineEngine, b: OnlineEngine) -> None:
    for name, value in a.state().items():
        np.testing.assert_array_equal(value, b.state()[name], err_msg=name)


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.integers(0, 200), max_size=8), st.sampled_from(["logistic", "squared", "hinge", "huber:0.5"]), METHOD
)
def test_batches_make_no_difference(cuts: list[int], loss: str, method: dict[str, Any]) -> None:
    assert_same(learned([0, *sorted(cuts), 200], loss=loss, **method), learned([0, 200], loss=loss, **method))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 200), METHOD)
def test_a_saved_state_goes_on_to_the_same_bits(at: int, method: dict[str, Any]) -> None:
    half = learned([0, at], **method)
    again = OnlineEngine.from_state(half.settings, half.state())
    whole = learned([0, 200], **method)
    assert_same(learned([at, 200], again), whole)
    assert again.progressive() == whole.progressive()


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_never_more_than_k_features_and_all_named(method: dict[str, Any]) -> None:
    engine = OnlineEngine(OnlineSettings(k=3, **method))
    batch = whole_batch()
    for i in range(len(batch)):
        engine.step(batch.take(slice(i, i + 1)))
        assert len(engine.selected().keys) <= 3
    found = engine.selected()
    assert found.names == [f"c{key:02d}".encode() for key in found.keys]
    assert (np.diff(np.abs(found.weights)) <= 0).all()


def test_merging_averages_by_rows() -> None:
    first, second = learned([0, 50], method="iht"), learned([50, 200], method="iht")
    expected: dict[int, float] = {}
    for engine, share in ((first, 0.25), (second, 0.75)):
        found = engine.selected()
        for key, weight in zip(found.keys.tolist(), found.weights.tolist(), strict=True):
            expected[key] = expected.get(key, 0.0) + share * weight
    intercept = 0.25 * first.selected().intercept + 0.75 * second.selected().intercept
    first.merge(second)
    merged = first.selected()
    best = sorted(expected, key=lambda key: (-abs(expected[key]), key))[:7]
    assert merged.keys.tolist() == best
    np.testing.assert_allclose(merged.weights, [expected[key] for key in best], rtol=1e-12)
    assert merged.intercept == pytest.approx(intercept)
    assert first.rows == 200
    with pytest.raises(SettingsError):
        first.merge(OnlineEngine(OnlineSettings(k=8, method="iht")))


@pytest.mark.parametrize("active", ["exact", "sketch"])
def test_merging_sketched_engines_averages_every_feature(active: str) -> None:
    """Kept or not, a feature's merged weight is the average of what the two knew of it (few collisions here)."""
    shape: dict[str, Any] = {"method": "mission", "sketch": (5, 4000), "active": active}
    first, second = learned([0, 50], **shape), learned([50, 200], **shape)
    every = np.arange(60, dtype=np.uint64)
    knew = [engine._weights(every, engine._table()) for engine in (first, second)]
    either = sorted({*first._table(), *second._table()})  # only these have names
    first.merge(second)
    expected = 0.25 * knew[0] + 0.75 * knew[1]
    np.testing.assert_allclose(first._weights(every, first._table()), expected, rtol=1e-4, atol=1e-6)
    assert first.selected().keys.tolist() == sorted(either, key=lambda key: (-abs(expected[key]), key))[:7]
    again = OnlineEngine.from_state(first.settings, first.state())
    assert_same(again, first)


def test_merging_with_an_engine_that_saw_nothing_changes_no_weight() -> None:
    shape: dict[str, Any] = {"method": "mission", "sketch": (3, 100)}
    for swap in (False, True):
        engines = [learned([0, 200], **shape), OnlineEngine(OnlineSettings(k=7, **shape))]
        before = engines[0].selected()
        one, other = engines[::-1] if swap else engines
        one.merge(other)
        np.testing.assert_allclose(one.selected().weights, before.weights, rtol=1e-6)


def test_bounds_are_zero_for_exact_stores_and_the_sketch_s_own_otherwise() -> None:
    assert (learned([0, 200], method="iht").selected().bounds == 0).all()
    bounds = learned([0, 200], method="mission", sketch=(3, 17)).selected().bounds
    assert (bounds > 0).all()


def test_a_prediction_that_is_not_finite_names_its_row() -> None:
    engine = OnlineEngine(OnlineSettings(k=5, method="iht", loss="squared", step=1e200))
    with pytest.raises(DataError, match="smaller step") as caught:
        engine.step(whole_batch())
    assert caught.value.args[1] == engine.rows


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": -3},
        {"k": 2.5},
        {"k": True},
        {"method": "magic"},
        {"loss": "zero-one"},
        {"step": 0},
        {"step": "big"},
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        OnlineSettings(**{"k": 5, **wrong})
