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


def learned(cuts: list[int], engine: OnlineEngine | None = None, loss: str = "logistic") -> OnlineEngine:
    """An engine after the rows between the first and the last cut, batch by batch."""
    engine = engine or OnlineEngine(OnlineSettings(k=7, loss=loss))
    batch = whole_batch()
    for a, b in pairwise(cuts):
        engine.step(batch.take(slice(a, b)))
    return engine


def assert_same(a: OnlineEngine, b: OnlineEngine) -> None:
    for name, value in a.state().items():
        np.testing.assert_array_equal(value, b.state()[name], err_msg=name)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 200), max_size=8), st.sampled_from(["logistic", "squared", "hinge", "huber:0.5"]))
def test_batches_make_no_difference(cuts: list[int], loss: str) -> None:
    assert_same(learned([0, *sorted(cuts), 200], loss=loss), learned([0, 200], loss=loss))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 200))
def test_a_saved_state_goes_on_to_the_same_bits(at: int) -> None:
    half = learned([0, at])
    again = OnlineEngine.from_state(half.settings, half.state())
    assert_same(learned([at, 200], again), learned([0, 200]))
    assert again.progressive() == learned([0, 200]).progressive()


def test_never_more_than_k_features_and_all_named() -> None:
    engine = OnlineEngine(OnlineSettings(k=3))
    batch = whole_batch()
    for i in range(len(batch)):
        engine.step(batch.take(slice(i, i + 1)))
        assert len(engine.selected().keys) <= 3
    found = engine.selected()
    assert found.names == [f"c{key:02d}".encode() for key in found.keys]
    assert (np.diff(np.abs(found.weights)) <= 0).all()


def test_merging_averages_by_rows() -> None:
    first, second = learned([0, 50]), learned([50, 200])
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
        first.merge(OnlineEngine(OnlineSettings(k=8)))


def test_a_prediction_that_is_not_finite_names_its_row() -> None:
    engine = OnlineEngine(OnlineSettings(k=5, loss="squared", step=1e200))
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
