"""Sparse Random Features behind scikit-learn's interface."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import thresher as th
from tests.estimators.checks import assert_it_passes

ESTIMATORS = [
    th.SparseRFClassifier(draws=40, max_iter=2, tol=1e-8),
    th.SparseRFRegressor(draws=40, max_iter=2, tol=1e-8, gamma=0.1),
]
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(600, 3)).astype(np.float32)
Y = np.where((X[:, :2] ** 2).sum(axis=1) < 0.6, "in", "out")
SMALL: dict[str, Any] = {"draws": 30, "max_iter": 4}


def _expected(estimator: Any) -> dict[str, str]:
    # A frame's columns are known by name, a matrix's by position: their functions are drawn apart.
    reason = "a table and a matrix of the same numbers have other random functions"
    return {"check_regressor_data_not_an_array": reason} if isinstance(estimator, th.SparseRFRegressor) else {}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scikit_learn_s_own_checks(estimator: Any) -> None:
    assert_it_passes(estimator, _expected(estimator))


def test_the_same_as_select_to_the_bit() -> None:
    model = th.SparseRFClassifier(lam=2.0, random_state=3, **SMALL).fit(X, Y)
    found = th.select(X, Y, method="sparse-rf", lam=2.0, random_state=3, **SMALL)
    assert model.selection_.weights.tolist() == found.weights.tolist()
    assert model.selection_.keys.tolist() == found.keys.tolist()
    assert list(model.get_feature_names_out()) == found.names
    k = len(found)
    assert model.coef_.shape == (1, k)
    assert model.transform(X).shape == (600, k)
    assert model.score(X, Y) > 0.93
    margins = model.transform(X) @ model.coef_[0] + model.intercept_[0]
    assert np.allclose(margins, model.decision_function(X), atol=1e-4)
    assert [entry["drawn"] for entry in model.path_] == [30, 60, 90, 120]
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()
    with pytest.raises(th.SettingsError, match="functions of the columns"):
        model.get_support()


def test_sparse_rows_and_files_are_the_same_functions(tmp_path: Path) -> None:
    x = X * (RNG.random(X.shape) < 0.7)
    dense = th.SparseRFClassifier(lam=2.0, **SMALL).fit(x, Y)
    sparse = th.SparseRFClassifier(lam=2.0, **SMALL).fit(sp.csr_matrix(x), Y)
    assert dense.selection_.weights.tolist() == sparse.selection_.weights.tolist()
    assert dense.decision_function(sp.csr_matrix(x)).tolist() == sparse.decision_function(x).tolist()
    path = tmp_path / "rows.svm"
    path.write_text(
        "\n".join(
            f"{int(label == 'in')} " + " ".join(f"{j}:{v}" for j, v in enumerate(row) if v)
            for row, label in zip(x, Y, strict=True)
        )
    )
    model = th.SparseRFClassifier(lam=2.0, **SMALL).fit(path)
    assert model.score(path) > 0.8
    assert model.selection_.names[0].startswith("cos(")
    assert model.transform(path).shape == (600, len(model.selection_))


def test_several_classes_and_labels() -> None:
    three = np.digitize(X[:, 0] ** 2 + X[:, 1] ** 2, [0.3, 0.9])
    model = th.SparseRFClassifier(k=25, loss="logistic", **SMALL).fit(X, three)
    assert model.coef_.shape == (3, len(model.selection_))
    assert len(model.selection_) <= 25
    assert model.predict_proba(X).shape == (600, 3)
    assert model.score(X, three) > 0.8
    apart = th.SparseRFClassifier(k=10, per_class=True, **SMALL).fit(X, three)
    assert (np.count_nonzero(apart.coef_, axis=1) <= 10).all()
    labels = np.stack([X[:, 0] > 0, X[:, 1] > 0.2], axis=1).astype(int)
    several = th.SparseRFClassifier(**SMALL).fit(X, labels)
    assert (several.predict(X) == labels).mean() > 0.9


def test_a_validation_picks_from_a_path() -> None:
    y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.3 * RNG.normal(size=600)
    lams = (100.0, 3.0, 1.0, 1e-3)
    model = th.SparseRFRegressor(lam=lams, **SMALL).fit(X[:400], y[:400], validation=(X[400:], y[400:]))
    scores = {entry["lam"]: entry["score"] for entry in model.path_ if "score" in entry}
    assert list(scores) == list(lams)
    assert np.isclose(model.score(X[400:], y[400:]), max(scores.values()))
    with pytest.raises(th.SettingsError, match="validation"):
        th.SparseRFRegressor(lam=lams).fit(X, y)


def test_weights_of_rows_and_classes_count() -> None:
    heavy = np.where(Y == "in", 20.0, 1.0)
    plain = th.SparseRFClassifier(k=3, **SMALL).fit(X, Y)
    weighted = th.SparseRFClassifier(k=3, **SMALL).fit(X, Y, sample_weight=heavy)
    by_class = th.SparseRFClassifier(k=3, class_weight={"in": 20.0}, **SMALL).fit(X, Y)
    assert (weighted.predict(X) == "in").sum() > (plain.predict(X) == "in").sum()
    assert weighted.coef_.tolist() == by_class.coef_.tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": float("nan")}, "gamma"),
        ({"gamma": "wide"}, "scale"),
        ({"draws": 0}, "draws"),
        ({"max_iter": 0}, "draws and max_iter"),
        ({"lam": 0.0}, "lam"),
        ({"lam": ()}, "lam"),
        ({"k": 0}, "at least 1"),
        ({"q": 0}, "at least 1"),
        ({"kernel": "mystery"}, "kernel must be one of"),
        ({"kernel": 3}, "name of a kernel"),
        ({"kernel": "matern:x"}, "Invalid kernel parameter in 'matern:x'"),
        ({"kernel": "matern:0.7"}, "smoothness"),
        ({"kernel": "gaussian:2"}, "no parameter"),
        ({"kernel": "polynomial:0"}, "degree"),
        ({"kernel": "arc-cosine:2"}, "order"),
        ({"kernel": "binning", "q": 2}, "leave out `q`"),
        ({"loss": "hinge"}, "must be one of squared_hinge, logistic"),
        ({"tol": 0.0}, "tol"),
    ],
)
def test_invalid_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(th.SettingsError, match=message):
        th.SparseRFClassifier(**settings).fit(X, Y)


def test_invalid_rows() -> None:
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        th.SparseRFClassifier().fit(bad, Y)
    with pytest.raises(th.DataError, match=r"finite|NaN|nan"):
        th.select(bad, Y, method="sparse-rf")
    with pytest.raises(th.DataError, match="all rows are equal"):
        th.SparseRFClassifier().fit(np.ones((600, 3)), Y)
    model = th.SparseRFClassifier(**SMALL).fit(X, Y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])
    with pytest.raises(th.SpaceError):
        model.selection_.predict(X[:, :2])


def test_a_penalty_too_large_gives_a_constant_model_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    model = th.SparseRFClassifier(lam=1e6, **SMALL).fit(X, Y)
    assert len(model.selection_) == 0
    assert "Nothing was selected" in caplog.text
    most = max(set(Y), key=list(Y).count)
    assert set(model.predict(X)) == {most}
    assert model.transform(X).shape == (600, 0)
