"""The Feature Generating Machine behind scikit-learn's interface."""

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
    th.FGMClassifier(),
    th.FGMRegressor(),
    th.FGMClassifier(k=2, loss="logistic", B=1, refit=True),
    th.FGMClassifier(k=3, scale=None),
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 40)).astype(np.float32)
Y = np.where(X[:, [3, 9, 20]] @ [3.0, -2.5, 2.0] > 0, "yes", "no")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scikit_learn_s_own_checks(estimator: Any) -> None:
    assert_it_passes(estimator)


def test_the_same_as_select_to_the_bit() -> None:
    model = th.FGMClassifier(k=6, B=2).fit(X, Y)
    found = th.select(X, Y, k=6, B=2, method="fgm")
    assert model.selection_.weights.tolist() == found.weights.tolist()
    assert model.coef_.shape == (1, 6)
    assert model.intercept_.shape == (1,)
    assert list(model.get_feature_names_out()) == found.names
    assert [entry["features"] for entry in model.path_] == [2, 4, 6]
    assert set(model.predict(X)) == {"no", "yes"}
    assert model.transform(X).shape == (500, 6)
    assert model.get_support().sum() == 6
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()


def test_files_sources_and_frames(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    labels = np.where(Y == "yes", 1, -1)
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(row))
        for row, label in zip(X, labels, strict=True)
    ]
    path.write_text("\n".join(lines))
    model = th.FGMClassifier(k=3).fit(path)
    assert sorted(model.get_feature_names_out()) == ["10", "21", "4"]
    assert model.classes_.tolist() == [-1, 1]
    assert model.score(path) > 0.9
    assert model.score(th.scan(path)) == model.score(path)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(40)])
    named = th.FGMClassifier(k=3).fit(frame, Y)
    assert sorted(named.get_feature_names_out()) == ["c20", "c3", "c9"]
    assert named.score(frame, Y) > 0.9


def test_several_classes_and_labels() -> None:
    y = np.argmax(X[:, [3, 9, 20]], axis=1)
    model = th.FGMClassifier(k=3, B=1, loss="logistic").fit(sp.csr_matrix(X), y)
    assert model.coef_.shape == (3, 3)
    assert model.decision_function(X).shape == (500, 3)
    assert model.predict_proba(X).shape == (500, 3)
    assert model.score(X, y) > 0.9
    labels = (X[:, [3, 9]] > 0).astype(int)
    assert (th.FGMClassifier(k=2).fit(X, labels).predict(X) == labels).mean() > 0.95


def test_validation() -> None:
    model = th.FGMClassifier(k=30, B=1).fit(X[:300], Y[:300], validation=(X[300:], Y[300:]))
    assert max(entry["score"] for entry in model.path_) == pytest.approx(model.score(X[300:], Y[300:]))


def test_regression() -> None:
    y = X[:, 7] * 3 - 2 * X[:, 31] + 5
    model = th.FGMRegressor(k=2).fit(X, y)
    assert list(model.get_feature_names_out()) == ["x7", "x31"]
    assert np.allclose(model.coef_, [3, -2], atol=0.01)
    assert model.intercept_ == pytest.approx(5, abs=0.01)
    assert model.score(X, y) > 0.999


def test_losses_that_do_not_fit_are_refused() -> None:
    with pytest.raises(th.SettingsError, match="squared_hinge or logistic"):
        th.FGMClassifier(loss="squared").fit(X, Y)
    with pytest.raises(th.SettingsError, match="use FGMClassifier"):
        th.FGMRegressor(loss="logistic").fit(X, np.zeros(500))
