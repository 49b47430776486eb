"""scikit-learn's own checks, and its tools around the estimators."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_set_output_transform_pandas,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
)

import thresher as th
from tests.estimators.checks import assert_it_passes

ESTIMATORS = [
    th.MissionClassifier(),
    th.MissionRegressor(),
    th.MissionClassifier(method="iht", memory="4MB", passes=2),
    th.MissionRegressor(loss="huber:1.35", minibatch=4, memory="8MB", passes=1, refit=False),
    th.MissionClassifier(loss="squared_hinge", memory="4MB", passes=2),
    th.BudgetedClassifier(),
    th.BudgetedRegressor(),
    th.BudgetedClassifier(method="b-amd", lam=1e-3, memory="4MB", passes=2),
    th.BudgetedClassifier(method="ofs", loss="logistic", memory="4MB", passes=2),
]
#: A step of twice the length is not two steps, and the steps come in the order of the rows. That a row of weight 0
#: is as good as absent does hold: see test_estimators.py.
ONE_BY_ONE = "rows are learned one by one, so a row of weight 2 is not the same as the row twice"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": ONE_BY_ONE,
    "check_sample_weight_equivalence_on_sparse_data": ONE_BY_ONE,
}

X = np.random.default_rng(0).normal(size=(600, 40))
Y = (X[:, [3, 9, 20, 31]] @ [3.0, -2.5, 2.0, -1.5] > 0).astype(int)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scikit_learn_s_own_checks(estimator: Any) -> None:
    assert_it_passes(estimator, EXPECTED)


@pytest.mark.parametrize("estimator", ESTIMATORS[:2], ids=lambda estimator: type(estimator).__name__)
def test_its_checks_of_column_names(estimator: Any) -> None:
    pytest.importorskip("pandas")
    name = type(estimator).__name__
    check_dataframe_column_names_consistency(name, estimator)
    check_transformer_get_feature_names_out(name, estimator)
    check_transformer_get_feature_names_out_pandas(name, estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it fits on a frame, and transforms a matrix
        check_set_output_transform_pandas(name, estimator)


def test_a_grid_search_over_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), th.MissionClassifier(passes=3))
    grid = GridSearchCV(pipeline, {"missionclassifier__k": [1, 4], "missionclassifier__method": ["mission", "iht"]})
    grid.fit(X, Y)
    assert grid.best_params_["missionclassifier__k"] == 4
    assert grid.best_score_ > 0.9
    assert cross_val_score(th.MissionClassifier(k=4, passes=3), X, Y, scoring="roc_auc").mean() > 0.9


def test_as_a_step_that_selects() -> None:
    pipeline = make_pipeline(th.MissionClassifier(k=4, passes=5), LogisticRegression()).fit(X, Y)
    assert pipeline[-1].coef_.shape == (1, 4)
    assert pipeline.score(X, Y) > 0.9
    assert set(pipeline[:-1].get_feature_names_out()) == {"x3", "x9", "x20", "x31"}


def test_frames_out() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(40)])
    model = th.MissionClassifier(k=3).set_output(transform="pandas").fit(frame, Y)
    out = model.transform(frame)
    assert list(out.columns) == list(model.get_feature_names_out()) == model.selection_.names
    np.testing.assert_array_equal(out.to_numpy(), frame[out.columns].to_numpy(np.float32))


def test_frames_and_matrices_mixed_go_by_position() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(40)])
    named, plain = th.MissionClassifier(k=3).fit(frame, Y), th.MissionClassifier(k=3).fit(X, Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(named.predict(X), named.predict(frame))
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(plain.predict(frame), plain.predict(X))


def test_a_clone_knows_nothing_and_learns_the_same() -> None:
    model = th.MissionClassifier(k=4, random_state=3).fit(X, Y)
    copy = clone(model)
    assert not hasattr(copy, "selection_")
    np.testing.assert_array_equal(copy.fit(X, Y).coef_, model.coef_)
