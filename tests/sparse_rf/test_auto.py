"""What held-out rows choose: the scale of the inputs, the width, the penalty and the number of random features."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from thresher import _native
from thresher.columns.random_features import InputScaling, RandomFeatureMap
from thresher.core.batch import Batch
from thresher.core.feature_space import FeatureSpace, RandomFeatureSpec
from thresher.errors import SettingsError
from thresher.sparse_rf.held_out import HeldOut

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)) * [1.0, 1000.0, 0.01] + [5.0, 0.0, 1.0]
UNITS = (X - X.mean(axis=0)) / X.std(axis=0)
CLASSES = (UNITS[:, 0] * UNITS[:, 1] > 0).astype(int) + 2 * (UNITS[:, 2] > 1.0)
SIGNS = np.where((UNITS**2).sum(axis=1) < 2.4, 1, -1)
FEW: dict[str, Any] = {"method": "sparse-rf", "draws": 30}
POOL = _native.ThreadPool(1)


@pytest.fixture(scope="module")
def found() -> th.Selection:
    return th.select(X, SIGNS, **FEW)


def test_defaults_learn_a_ball_whatever_the_units(found: th.Selection) -> None:
    assert np.mean(found.predict(X) == SIGNS) > 0.93
    assert len(found) <= 100


def test_all_choices_are_in_the_settings(found: th.Selection) -> None:
    chosen = found.settings["chosen"]
    spec = found.space.random_features
    assert spec is not None
    assert chosen["gamma"] == spec.gamma
    assert chosen["scale"] == "std"
    assert chosen["features"] >= len(found) > 0
    assert chosen["lam"] in [entry["lam"] for entry in found.provenance["path"]]
    assert chosen["l2"] > 0
    assert all("score" in entry for entry in found.provenance["path"])


@pytest.mark.parametrize("changed", [{"n_jobs": 1}, {"n_jobs": 2}, {"batch_rows": 7}], ids=str)
def test_choices_and_weights_depend_on_neither_threads_nor_batches(found: th.Selection, changed: Any) -> None:
    again = th.select(X, SIGNS, **FEW, **changed)
    assert again.settings["chosen"] == found.settings["chosen"]
    assert np.array_equal(again.keys, found.keys)
    assert np.array_equal(again.weights, found.weights)


def test_a_file_predicts_as_the_selection(found: th.Selection, tmp_path: Path) -> None:
    found.save(tmp_path / "model.thr")
    assert np.array_equal(th.load(tmp_path / "model.thr").predict(X), found.predict(X))


def test_resumed_fits_have_the_same_bits(found: th.Selection, tmp_path: Path) -> None:
    left = iter(range(6))

    def stop(progress: Any) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    settings = {**FEW, "checkpoint": tmp_path / "run", "every": 0.0}
    with contextlib.suppress(KeyboardInterrupt):
        th.select(X, SIGNS, progress=stop, **settings)
    again = th.select(X, SIGNS, **settings)
    assert np.array_equal(again.weights, found.weights)
    assert again.settings["chosen"] == found.settings["chosen"]


def test_few_held_out_rows_compare_the_loss_many_their_mistakes() -> None:
    targets = np.where(RNG.normal(size=(2, 600)) > 0, 1.0, -1.0)
    margins = RNG.normal(size=targets.shape)
    many = HeldOut(np.ones(600, bool), targets, np.ones(600), False)
    few = many.rows(np.arange(200))
    wrong = ((margins > 0) != (targets > 0)).mean(axis=0)
    assert np.array_equal(many.losses(margins), wrong)
    assert np.array_equal(few.mistakes(margins[:, :200]), wrong[:200])
    hinge = 0.5 * np.maximum(0.0, 1.0 - margins * targets) ** 2
    np.testing.assert_allclose(few.losses(margins[:, :200]), hinge[:, :200].mean(axis=0), rtol=1e-12)


def test_scores_of_the_path_are_shares_of_correct_rows(found: th.Selection) -> None:
    scores = np.array([entry["score"] for entry in found.provenance["path"]])
    rows = np.arange(50, 120)  # about a fifth of 400
    shares = np.round(scores[:, None] * rows) / rows
    assert np.isclose(shares, scores[:, None], atol=1e-12).all(axis=0).any()


def test_progress_shows_round_functions_and_score() -> None:
    seen: list[str] = []
    th.select(X, SIGNS, progress=lambda progress: seen.append(progress.detail), **FEW)
    assert any(detail.startswith("round 2, ") and "functions, held-out score 0." in detail for detail in seen)


def test_names_are_in_the_units_of_the_data(found: th.Selection) -> None:
    spec = found.space.random_features
    assert spec is not None
    assert spec.factors is not None
    plain = found.space.without_random_features().with_random_features(replace(spec, factors=None))
    inputs, names = np.arange(3, dtype=np.uint64), ["a", "b", "c"]
    scaled = RandomFeatureMap(found.space, found.keys[:1], POOL)
    same = RandomFeatureMap(plain, found.keys[:1], POOL)
    rows = Batch(np.array([0, 3]), inputs, X[0].astype(np.float32))
    units = Batch(np.array([0, 3]), inputs, (X[0].astype(np.float32) * [f for _, f in spec.factors]).astype(np.float32))
    assert np.array_equal(scaled.values(rows), same.values(units))
    assert scaled.names(inputs, names) != same.names(inputs, names)


def test_several_classes_share_functions_and_k_limits_them() -> None:
    found = th.select(X, CLASSES, k=20, **FEW)
    assert len(found) <= 20
    assert found.weights.shape[0] == len(set(CLASSES.tolist()))
    assert np.mean(found.predict(X) == CLASSES) > 0.8


def test_numbers_are_predicted() -> None:
    y = np.sin(UNITS[:, 0]) * 1e6 + 3e6
    found = th.select(X, y, task="numbers", **FEW)
    assert np.mean((found.predict(X) - y) ** 2) < 0.1 * y.var()


def test_validation_rows_choose_lam() -> None:
    found = th.select(X, SIGNS, validation=(X[:100], SIGNS[:100]), **FEW)
    assert np.mean(found.predict(X) == SIGNS) > 0.9


def test_little_memory_still_fits() -> None:
    found = th.select(X, SIGNS, memory="40MB", k=10, **FEW)
    assert 0 < len(found) <= 10


def test_constant_inputs_are_named_once_and_have_no_effect(caplog: Any) -> None:
    with caplog.at_level("INFO", logger="thresher"):
        found = th.select(np.column_stack([X, np.full(len(X), 7.0)]), SIGNS, **FEW)
    said = [record.getMessage() for record in caplog.records if "constant" in record.getMessage()]
    assert len(said) == 1
    assert "x3" in said[0]
    assert not any("x3" in name for name in found.names)


@pytest.mark.parametrize("wrong", [{"gamma": "wide"}, {"lam": "some"}, {"scale": "norm"}, {"draws": 0}], ids=str)
def test_nonsense_is_refused_before_any_row_is_read(wrong: Any) -> None:
    with pytest.raises(SettingsError):
        th.select("no such file.svm", **{**FEW, **wrong})


@examples(30)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.floats(0, 1e6)), max_size=20), st.lists(st.integers(0, 50), max_size=20)
)
def test_factors_of_inputs(pairs: list[tuple[int, float]], keys: list[int]) -> None:
    factors = dict(pairs)
    scaling = InputScaling(sorted(factors.items()))
    assert scaling.factors(np.array(keys, np.uint64)).tolist() == [factors.get(key, 0.0) for key in keys]
    space = FeatureSpace("index").with_random_features(
        RandomFeatureSpec("gaussian", factors=tuple(sorted(factors.items())))
    )
    assert FeatureSpace.from_dict(space.to_dict()) == space


@examples(20)
@given(st.integers(1, 12), st.integers(1, 3), st.integers(0, 99))
def test_positive_definite_systems_are_solved(size: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    matrix, right = root @ root.T + np.eye(size), rng.normal(size=(count, size))
    solved = _native.solve_positive_definite(matrix, right).reshape(count, size)
    assert np.allclose(solved, np.linalg.solve(matrix, right.T).T)


def test_rows_of_weight_two_count_as_two_rows() -> None:
    losses, weights = np.array([0.0, 1.0, 1.0]), np.array([1.0, 2.0, 1.0])
    once = HeldOut(np.ones(3, bool), np.ones((1, 3)), weights, False)
    twice = HeldOut(np.ones(4, bool), np.ones((1, 4)), np.ones(4), False)
    assert np.isclose(once.error(losses), twice.error(np.array([0.0, 1.0, 1.0, 1.0])))
