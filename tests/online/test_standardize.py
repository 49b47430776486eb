"""Online methods do not care in which unit a column is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.online.test_select import _StopAt, saved_bytes
from thresher.errors import FileFormatError, SettingsError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 12))
Y = X @ np.array([2, -2, 1.5, -1, *np.zeros(8)]) + RNG.logistic(size=400) > 0
#: Units and origins that differ by many orders of magnitude.
UNITS, ORIGINS = 10.0 ** RNG.integers(-5, 6, 12), RNG.uniform(-1000, 1000, 12)
RAW = (X + ORIGINS) * UNITS
HOW: dict[str, Any] = {"k": 4, "memory": "4MB"}
METHODS = ["mission", "iht", "batch-iht", "b-arda", "b-amd", "ofs", "sofs"]


@pytest.mark.parametrize("method", METHODS)
def test_raw_columns_are_as_good_as_standardised_ones(method: str) -> None:
    selection = th.select(RAW, Y, method=method, passes=1, refit=False, **HOW)
    scaled = (RAW - RAW.mean(axis=0)) / RAW.std(axis=0)
    own = th.select(scaled, Y, method=method, passes=1, refit=False, standardize=False, **HOW)
    assert selection.names == own.names
    np.testing.assert_allclose(selection.standardized_weights, own.weights, rtol=1e-3, atol=1e-6)
    assert (selection.predict(RAW) == own.predict(scaled)).mean() > 0.99
    assert selection.settings["standardize"] is True
    strength = np.abs(selection.standardized_weights)
    assert (np.diff(strength) <= 0).all()
    np.testing.assert_allclose(selection.weights * selection.scales, selection.standardized_weights)
    assert selection.columns()["standardized"].tolist() == selection.standardized_weights.tolist()


@pytest.mark.parametrize("method", ["mission", "b-arda"])
def test_columns_standardised_beforehand_give_the_same_answer(method: str) -> None:
    raw = np.where(np.random.default_rng(1).random(X.shape) < np.linspace(0, 0.85, 12), 0.0, RAW)  # many zeros
    scaled = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    once: dict[str, Any] = {**HOW, "passes": 1, "refit": False}
    for own, other in ((once, {**once, "standardize": False}), (HOW, HOW)):
        one, two = th.select(raw, Y, method=method, **own), th.select(scaled, Y, method=method, **other)
        assert one.names == two.names
        theirs = two.weights if two.scales is None else two.standardized_weights
        np.testing.assert_allclose(one.standardized_weights, theirs, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("method", ["mission", "b-arda"])
@examples(6)
@given(powers=st.lists(st.integers(-20, 20), min_size=12, max_size=12), auto=st.booleans())
def test_powers_of_two_change_no_bit(method: str, powers: list[int], auto: bool) -> None:
    factors = 2.0 ** np.array(powers)
    more: dict[str, Any] = {} if auto else {"passes": 1, "refit": False}
    plain = th.select(X, Y, method=method, **HOW, **more)
    other = th.select(X * factors, Y, method=method, **HOW, **more)
    assert plain.names == other.names
    assert plain.standardized_weights.tobytes() == other.standardized_weights.tobytes()
    assert plain.intercept.tobytes() == other.intercept.tobytes()


@pytest.mark.parametrize("method", ["mission", "b-arda"])
@examples(6)
@given(shifts=st.lists(st.floats(-1000, 1000), min_size=12, max_size=12), auto=st.booleans())
def test_shifts_change_no_kept_feature(method: str, shifts: list[float], auto: bool) -> None:
    more: dict[str, Any] = {} if auto else {"passes": 1, "refit": False}
    plain = th.select(X, Y, method=method, **HOW, **more)
    other = th.select(X + np.array(shifts), Y, method=method, **HOW, **more)
    assert plain.names == other.names
    np.testing.assert_allclose(plain.weights, other.weights, rtol=1e-4, atol=1e-5)


def test_predictions_from_raw_values_are_those_of_the_standardised_model() -> None:
    scaled = (RAW - RAW.mean(axis=0)) / RAW.std(axis=0)
    three = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]
    for y, more in ((Y, {}), (three, {"loss": "softmax"}), (X[:, 0] * 1e6, {"loss": "squared"})):
        once: dict[str, Any] = {**HOW, "passes": 1, "refit": False, **more}
        raw, own = th.select(RAW, y, **once), th.select(scaled, y, **once, standardize=False)
        assert raw.names == own.names
        margins = own.decision_function(scaled)
        np.testing.assert_allclose(raw.decision_function(RAW), margins, atol=1e-3 * np.abs(margins).max())


def test_false_learns_values_as_they_are(tmp_path: Path) -> None:
    import scipy.sparse as sp

    plain = th.select(RAW, Y, standardize=False, passes=1, refit=False, shuffle=False, **HOW)
    sparse = th.select(sp.csr_matrix(RAW), Y, standardize=False, passes=1, refit=False, shuffle=False, **HOW)
    assert plain.weights.tobytes() == sparse.weights.tobytes()
    assert plain.scales is None
    assert "standardized" not in plain.columns()
    assert sparse.settings["standardize"] is False


@pytest.mark.parametrize("kind", ["array", "frame", "csv"])
def test_an_interrupted_fit_gives_the_same_bits(kind: str, tmp_path: Path) -> None:
    data: Any = (RAW, Y)
    more: dict[str, Any] = {}
    if kind != "array":
        frame = pd.DataFrame(RAW, columns=[f"c{j}" for j in range(12)]).assign(
            city=np.where(X[:, 5] > 0, "Rome", "Bonn")
        )
        data = (frame, Y)
        if kind == "csv":
            frame.assign(y=Y.astype(int)).to_csv(tmp_path / "t.csv", index=False)
            data, more = (tmp_path / "t.csv",), {"target": "y"}
    how = {**HOW, "k": 6, "batch_rows": 50, "every": 0.0, "passes": 3, **more}
    whole = th.select(*data, **how)
    for stop_at in (1, 12):
        checkpoint = tmp_path / f"{stop_at}.ckpt"
        with pytest.raises(KeyboardInterrupt):
            th.select(*data, **how, checkpoint=checkpoint, progress=_StopAt(stop_at))
        resumed = th.select(*data, **{**how, "batch_rows": 23}, checkpoint=checkpoint)
        assert saved_bytes(resumed, tmp_path / "resumed") == saved_bytes(whole, tmp_path / "whole")


def test_tables_rank_a_small_column_among_large_ones(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    counts = rng.poisson(10.0 ** np.linspace(0, 5, 10), (1500, 10))
    frame = pd.DataFrame(counts, columns=[f"c{j}" for j in range(10)])
    frame["y"] = (rng.random(1500) < 1 / (1 + np.exp(3 - 3 * counts[:, 0]))).astype(int)
    frame.loc[rng.random(1500) < 0.05, "c7"] = np.nan
    frame.to_csv(tmp_path / "clicks.csv", index=False)
    for method in ("mission", "b-arda"):
        selection = th.select(tmp_path / "clicks.csv", target="y", k=5, method=method, passes=1, refit=False)
        assert selection.names[0] == "c0"
        again = th.load(_saved(selection, tmp_path))
        np.testing.assert_array_equal(again.scales, selection.scales)
        features = frame.drop(columns="y")
        np.testing.assert_array_equal(again.predict(features), selection.predict(features))


def _saved(selection: th.Selection, folder: Path) -> Path:
    selection.save(folder / "found.thr")
    return folder / "found.thr"


def test_damaged_units_are_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    found = th.select(RAW, Y, **HOW)
    assert found.scales is not None
    for damaged in ({"scales": -found.scales}, {"scales": found.scales[:2]}, {"centres": found.centres * np.nan}):
        with pytest.raises(FileFormatError):
            th.load(_saved(replace(found, **damaged), tmp_path))


def test_units_of_a_damaged_checkpoint_are_refused(tmp_path: Path) -> None:
    from thresher.core.storage import container

    checkpoint = tmp_path / "fit.ckpt"
    how = {**HOW, "batch_rows": 50, "every": 0.0, "checkpoint": checkpoint}
    with pytest.raises(KeyboardInterrupt):
        th.select(RAW, Y, **how, progress=_StopAt(3))
    saved = container.read(checkpoint, "checkpoint")
    for name, part in (
        ("units_keys", np.arange(5, dtype=np.uint64)),
        ("units_scales", np.zeros(12)),
        ("units_centres", np.zeros(3)),
    ):
        container.write(checkpoint, saved._replace(arrays={**saved.arrays, name: part}))
        with pytest.raises(FileFormatError, match="invalid checkpoint"):
            th.select(RAW, Y, **how)


def test_no_intercept_no_centre() -> None:
    selection = th.select(RAW, Y, fit_intercept=False, calibrate=False, refit=False, **HOW)
    assert selection.centres is not None
    assert (selection.centres == 0).all()
    assert (selection.intercept == 0).all()


def test_a_stream_is_standardised_if_that_is_set() -> None:
    assert th.MissionClassifier(k=4).partial_fit(RAW, Y).selection_.scales is None
    further = th.MissionClassifier(k=4, passes=1, refit=False).fit(RAW, Y).partial_fit(RAW, Y)  # goes on in its units
    assert further.score(RAW, Y) > 0.8


def test_what_cannot_be_standardised() -> None:
    with pytest.raises(SettingsError, match="products"):
        th.select(X, Y, k=2, interactions=2, standardize=True)
    with pytest.raises(SettingsError, match="hashing"):
        th.select(X, Y, k=2, method="hashing", standardize=True)
    with pytest.raises(SettingsError, match="standardize must be"):
        th.select(X, Y, k=2, standardize="yes")
    for more in ({"interactions": 2}, {"method": "hashing"}):
        assert th.select(X, Y, k=2, **more).scales is None


def test_units_are_in_the_plan() -> None:
    wide = np.zeros((20, 4000))
    wide[::2, 5] = 1.0
    y = np.arange(20) % 2
    with_units = th.select(wide, y, k=2, memory="4MB")
    without = th.select(wide, y, k=2, memory="4MB", standardize=False)
    plans = [selection.provenance["plan"] for selection in (with_units, without)]
    assert plans[0]["columns"] - plans[1]["columns"] == 4000 * 96
    assert plans[0]["sketch"] == plans[1]["sketch"]
    wider = np.concatenate([wide, wide], axis=1)
    assert th.select(wider, y, k=2, memory="4MB").scales is None  # they would take more than an eighth
