"""Scores of a selection, against scikit-learn."""

from functools import partial

import numpy as np
import pytest
from sklearn import metrics

import thresher as th
from tests.selection.makers import N, P, make
from thresher.core.feature_space import FeatureSpace
from thresher.errors import DataError
from thresher.selection.scoring import evaluate
from thresher.sources.registry import as_source


def test_several_labels_are_scored(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("0,1 1:1 2:1\n1 2:1\n 1:-1 2:-1\n")
    selection = make(np.eye(2), space=FeatureSpace("index"), keys=[1, 2], loss="logistic", classes=[0.0, 1.0],
                     intercept=[0, 0])  # fmt: skip
    found = evaluate(selection, th.scan(path, multilabel=True))
    assert (found["rows"], found["hamming_accuracy"], found["micro_f1"]) == (3, 1.0, 1.0)
    path.write_text("0,7 1:1\n")
    with pytest.raises(DataError, match="line 1: the label 7 is none of the known ones"):
        evaluate(selection, th.scan(path, multilabel=True))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), ("no", "yes")])
def test_classification_scores_are_those_of_scikit_learn(problem, labels, weighted):
    x, columns, weights = problem
    rng = np.random.default_rng(2)
    truth = rng.random(N) < 0.5
    y = np.array(labels)[truth.astype(int)]
    weight = rng.random(N).astype(np.float32) if weighted else None
    classes = [float(c) if isinstance(c, int) else c for c in labels]
    for loss in ("logistic", "hinge", "squared_hinge"):
        selection = make(weights, keys=columns, space=FeatureSpace("column", P), loss=loss, classes=classes)
        scores = evaluate(selection, as_source(x, y, weight=weight))
        margins = selection.decision_function(x)
        assert scores["rows"] == N
        accuracy = metrics.accuracy_score(y, selection.predict(x), sample_weight=weight)
        assert scores["accuracy"] == pytest.approx(accuracy, rel=1e-12)
        if loss == "logistic":
            expected = metrics.log_loss(truth, selection.predict_proba(x)[:, 1], sample_weight=weight)
        elif loss == "hinge":
            expected = metrics.hinge_loss(truth, margins, sample_weight=weight)
        else:
            gap = np.maximum(0, 1 - np.where(truth, 1, -1) * margins)
            expected = np.average(gap**2 / 2, weights=weight)
        assert scores["log_loss" if loss == "logistic" else "loss"] == pytest.approx(expected, rel=1e-6)
        assert scores["auc"] == pytest.approx(metrics.roc_auc_score(truth, margins, sample_weight=weight), abs=1e-2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_regression_scores_are_those_of_scikit_learn(problem, offset, weighted):
    x, columns, weights = problem
    rng = np.random.default_rng(3)
    selection = make(weights, keys=columns, space=FeatureSpace("column", P), loss="squared", intercept=[offset])
    y = selection.predict(x) + rng.normal(size=N)
    weight = rng.random(N).astype(np.float32) if weighted else None
    scores = evaluate(selection, as_source(x, y, weight=weight))
    predicted = selection.predict(x)
    mse = metrics.mean_squared_error(y, predicted, sample_weight=weight)
    assert scores["rmse"] == pytest.approx(mse**0.5, rel=1e-9)
    assert scores["r2"] == pytest.approx(metrics.r2_score(y, predicted, sample_weight=weight), rel=1e-6)
    assert scores["loss"] == pytest.approx(mse / 2, rel=1e-9)


def test_scores_do_not_depend_on_the_batches(problem):
    x, columns, weights = problem
    weight = np.random.default_rng(4).random(N)
    for loss, y in (("squared", x.sum(axis=1) + 1000), ("logistic", (x.sum(axis=1) > 0).astype(float))):
        selection = make(weights, keys=columns, space=FeatureSpace("column", P), loss=loss)
        source = as_source(x, y, weight=weight)
        whole = evaluate(selection, source)
        for rows in (1, 7, N):
            cut = as_source(x, y, weight=weight)
            cut.batches = partial(source.batches, rows)
            assert evaluate(selection, cut) == whole


def test_constant_targets_have_no_r2():
    selection = make([0.0], space=FeatureSpace("column", 1), loss="squared", intercept=[0.1])
    assert evaluate(selection, as_source(np.ones((3, 1)), np.full(3, 0.1))) == {"rows": 3, "rmse": 0.0, "loss": 0.0}


def test_several_classes_are_scored():
    selection = make(np.eye(3), space=FeatureSpace("column", 3), loss="softmax", classes=list("abc"), intercept=[0] * 3)
    scores = evaluate(selection, as_source(np.eye(3), ["a", "b", "a"]))
    proba = np.exp(np.eye(3)) / np.exp(np.eye(3)).sum(1, keepdims=True)
    assert scores["accuracy"] == pytest.approx(2 / 3)
    assert scores["balanced_accuracy"] == pytest.approx(0.75)
    assert scores["log_loss"] == pytest.approx(metrics.log_loss(["a", "b", "a"], proba, labels=list("abc")))


@pytest.mark.parametrize(
    ("loss", "classes", "y", "message"),
    [
        ("logistic", [0.0, 1.0], [0, 1, 2], r"row 2 .*the label .*2.* is not one of the classes learned"),
        ("logistic", [0.0, 1.0], [0, np.nan, 1], r"row 1 .*nan"),
        ("logistic", [0.0, 1.0], ["a", "b", "a"], r"row 0 .*'a'"),
        ("logistic", ["a", "b"], [0, 1, 0], r"row 0 .*0"),
        ("logistic", ["a", "b"], ["a", None, "b"], r"row 1 .*None"),
        ("squared", None, [0, np.inf, 0], r"row 1 .*inf.* is not a finite number"),
        ("squared", None, ["a", "b", "c"], r"row 0 .*'a' is not a finite number"),
    ],
)
def test_labels_that_cannot_be_scored(loss, classes, y, message):
    y = np.array(y, dtype=object) if None in y else np.array(y)
    selection = make([1.0], space=FeatureSpace("column", 1), loss=loss, classes=classes or ())
    with pytest.raises(DataError, match=message):
        evaluate(selection, as_source(np.ones((3, 1)), y))


def test_missing_pandas_labels_cannot_be_scored():
    pd = pytest.importorskip("pandas")
    y = np.array(["a", pd.NA, "b"], dtype=object)
    selection = make([1.0], space=FeatureSpace("column", 1), classes=["a", "b"])
    with pytest.raises(DataError, match="row 1"):
        evaluate(selection, as_source(np.ones((3, 1)), y))


def test_predictions_that_are_not_finite_are_an_error():
    selection = make([1e308], space=FeatureSpace("column", 1))
    with pytest.raises(DataError, match=r"row 1 .*the prediction is inf.* too large"):
        evaluate(selection, as_source(np.array([[1.0], [100.0]]), [0, 1]))


def test_nothing_to_score():
    selection = make([1.0], space=FeatureSpace("column", 1))
    with pytest.raises(DataError, match="no labels"):
        evaluate(selection, as_source(np.ones((3, 1))))
    assert evaluate(selection, as_source(np.ones((0, 1)), [])) == {}
