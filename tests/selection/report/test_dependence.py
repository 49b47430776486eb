"""Partial dependence of models of random features."""

import numpy as np
import pytest

import thresher as th
from tests.selection.report.samples import random_features, rows_of
from thresher.columns.random_features import RandomFeatures
from thresher.selection.report import dependence
from thresher.selection.report.dependence import Dependence
from thresher.selection.report.rows import RowViews
from thresher.selection.scoring import evaluate
from thresher.sources.registry import as_source


def view_of(model, source, y=None):
    views = rows_of(model, source, y)[0]
    return next((view for view in views if view["kind"] == "dependence"), None)


def test_means_are_those_of_rows_with_the_value():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    model = random_features("squared", None, rng.normal(size=20), gamma=0.3)
    view = view_of(model, X, X[:, 0])
    assert sorted(one["name"] for one in view["inputs"]) == ["x0", "x1", "x2"]
    assert view["what"] == "prediction"
    for one in view["inputs"]:
        for at, mean in zip(one["at"], one["means"][0], strict=True):
            changed = X.copy()
            changed[:, int(one["name"][1])] = at
            assert mean == pytest.approx(model.predict(changed).mean(), rel=2e-3, abs=2e-3)
    spreads = [one["spread"] for one in view["inputs"]]
    assert spreads == sorted(spreads, reverse=True)


def test_several_classes_have_a_curve_each():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    model = random_features("softmax", "abc", rng.normal(size=(3, 10)), np.zeros(3))
    view = view_of(model, X, np.array(["a", "b", "c"])[rng.integers(0, 3, 60)])
    assert view["labels"] == ["a", "b", "c"]
    assert view["what"] == "probability"
    for one in view["inputs"]:
        assert one["outputs"] == [0, 1, 2]
        np.testing.assert_allclose(np.sum(one["means"], axis=0), 1, atol=2e-3)


def test_names_are_those_of_the_data_and_constant_inputs_are_left_out(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    rows = "".join(f"{a:.3f},7,{b:.3f},{'ny'[int(a > 0)]}\n" for a, b in X)
    (tmp_path / "t.csv").write_text("age,same,b <i>mi,label\n" + rows)
    source = th.scan_csv(tmp_path / "t.csv", target="label")
    model = th.select(source, method="sparse-rf", max_iter=2, gamma=0.5, lam=0.1)
    view = view_of(model, source)
    assert {one["name"] for one in view["inputs"]} == {"age", "b <i>mi"}


def test_the_sample_does_not_depend_on_batches(monkeypatch):
    monkeypatch.setattr(dependence, "VALUES", 60)  # 20 rows of three values
    model = random_features("squared", None, np.ones(4))
    X = np.random.default_rng(3).normal(size=(500, 3))
    found = []
    for rows in (500, 7, 64):
        sample = Dependence(model)
        for batch, _ in as_source(X, X[:, 0]).batches(rows=rows):
            sample.add(batch)
        found.append(sorted(number for _, number, _, _ in sample._sample))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 20
    assert max(found[0]) > 250  # not the first ones


def test_functions_that_fail_leave_the_view_out():
    def function(rows, rng):
        if rows.shape[0] != 100:
            return np.nan
        return rows @ rng.normal(size=rows.shape[1])

    X = np.random.default_rng(4).normal(size=(100, 3))
    model = th.select(X, X[:, 0], method="sparse-rf", kernel=RandomFeatures(function), max_iter=1, lam=0.1)
    rows = RowViews(model)
    evaluate(model, as_source(X, X[:, 0]), observer=rows.add)
    assert {view["kind"] for view in rows.views()} == {"residuals"}
