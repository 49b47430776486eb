"""Inputs on scales of their own: heavy-tailed ones become logarithms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference.sparse_rf.scales import moments, scaled
from thresher import _native
from thresher.columns.random_features import RandomFeatureMap
from thresher.columns.row_store import RowStore
from thresher.core.batch import Batch
from thresher.core.feature_space import FeatureSpace, RandomFeatureSpec
from thresher.errors import SettingsError

POOL = _native.ThreadPool(1)
RNG = np.random.default_rng(3)
#: Two counts with tails over orders of magnitude, and an input without.
X = np.column_stack([np.exp(RNG.normal(scale=2.0, size=(500, 2))), RNG.normal(size=500)])
Y = np.sin(2.0 * np.log1p(X[:, 0])) + np.log1p(X[:, 1]) * X[:, 2]
DRAWS: dict[str, Any] = {"method": "sparse-rf", "loss": "squared", "draws": 60}


def spec_of(factors: dict[int, float], logs: set[int]) -> RandomFeatureSpec:
    return RandomFeatureSpec("gaussian", factors=tuple(sorted(factors.items())), logs=tuple(sorted(logs)))


@examples(50)
@given(st.lists(st.floats(-1e38, 1e38), max_size=20))
def test_signed_log(values: list[float]) -> None:
    v = np.array(values, np.float64)
    np.testing.assert_allclose(_native.signed_log(v), np.sign(v) * np.log1p(np.abs(v)), rtol=1e-14, atol=3e-16)


@examples(30)
@given(st.integers(1, 30), st.integers(1, 6), st.floats(0.0, 1.0), st.integers(0, 99))
def test_moments_are_those_of_dense_columns(rows: int, columns: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = sp.random(rows, columns, share, "csr", np.float32, random_state=seed)
    weights = rng.integers(1, 4, rows).astype(np.float64)
    store = RowStore()
    for first in range(0, rows, 7):
        part = x[first : first + 7]
        store.add(part.indptr.astype(np.int64), part.indices.astype(np.uint64), part.data)
    found = store.moments(weights, tails=True)
    at = found.keys.astype(int)
    assert set(at) == set(x.indices.tolist())
    variances, squares, kurtoses = moments(x.toarray().astype(float)[:, at], weights)
    np.testing.assert_allclose(found.variances, variances, atol=1e-14)
    np.testing.assert_allclose(found.squares, squares, rtol=1e-12)
    assert found.kurtoses is not None
    spread = variances > 1e-6
    np.testing.assert_allclose(found.kurtoses[spread], kurtoses[spread], rtol=1e-6)


@examples(30)
@given(st.dictionaries(st.integers(0, 9), st.floats(0, 1e3), min_size=1), st.data(), st.booleans(), st.integers(0, 99))
def test_features_are_those_of_scaled_rows(factors: dict[int, float], data: Any, plain: bool, seed: int) -> None:
    logs = data.draw(st.sets(st.sampled_from(sorted(factors))))
    x = np.random.default_rng(seed).normal(size=(5, 10)).astype(np.float32)
    rows = Batch(np.arange(6) * 10, np.tile(np.arange(10, dtype=np.uint64), 5), x.ravel())
    space = FeatureSpace("column", 10)
    wanted = space.with_random_features(RandomFeatureSpec("gaussian"))
    numbers = np.arange(4, dtype=np.uint64)
    values = RandomFeatureMap(space.with_random_features(spec_of(factors, logs)), numbers, POOL).values(rows)
    twin = Batch(rows.indptr, rows.keys, scaled(x.astype(float), factors, logs).ravel())
    np.testing.assert_allclose(values, RandomFeatureMap(wanted, numbers, POOL).values(twin), atol=2e-3)
    found = space.with_random_features(spec_of(factors, logs))
    assert FeatureSpace.from_dict(found.to_dict()) == found
    assert (found.to_dict()["kind"] == "drawn-log") == bool(logs)


@pytest.mark.parametrize("logs", [[], [3], [1, 0], [0, 0], [0.0], "0", None], ids=str)
def test_files_with_impossible_logarithms_are_refused(logs: Any) -> None:
    fields = FeatureSpace("column", 3).with_random_features(spec_of({0: 1.0, 1: 2.0}, {0})).to_dict()
    with pytest.raises(SettingsError, match="logarithms"):
        FeatureSpace.from_dict({**fields, "logs": logs})


def test_heavy_tailed_inputs_are_learned_as_logarithms(tmp_path: Path) -> None:
    found = th.select(X[:400], Y[:400], **DRAWS)
    spec = found.space.random_features
    assert spec is not None
    assert found.settings["chosen"]["scale"] == "log"
    assert spec.logs == (0, 1)
    other = th.select(X[:400], Y[:400], scale="std", **DRAWS)
    errors = [float(np.mean((model.predict(X[400:]) - Y[400:]) ** 2)) for model in (found, other)]
    assert errors[0] < 0.5 * errors[1]
    assert "log1p(" in found.names[0]
    assert "·x2" in found.names[0]
    found.save(tmp_path / "model.thr")
    assert np.array_equal(th.load(tmp_path / "model.thr").predict(X), found.predict(X))


def test_logarithms_with_a_width_of_ones_own() -> None:
    found = th.select(X, Y, gamma=0.2, scale="log", k=10, **DRAWS)
    assert found.space.random_features is not None
    assert found.space.random_features.logs == (0, 1)
    assert found.space.random_features.gamma == 0.2


def test_a_shift_of_orders_of_magnitude_makes_no_tail() -> None:
    found = th.select(X[:, 2:] + 1e4, X[:, 2] > 0.3, method="sparse-rf", draws=30)
    assert found.settings["chosen"]["scale"] == "std"


def test_workers_see_the_same_tails() -> None:
    how = {**DRAWS, "draws": 20, "k": 10, "scale": "log"}
    alone, shared = th.select(X, Y, **how), th.select(X, Y, workers=3, **how)
    assert shared.space == alone.space
    assert np.array_equal(shared.weights, alone.weights)
