"""A selection without features, of every method: it predicts by its intercept, and says so."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.cli.test_commands import run
from tests.streams import planted, write_libsvm
from thresher.methods import method_names
from thresher.selection.export.registry import EXPORT_FORMATS

ZEROS = np.zeros((60, 4))
LABELS = np.tile([0, 0, 1], 20)
CLASSES = np.tile(["a", "b", "c"], 20)
X, Y = planted(rows=300, width=30, support=(3, 7))
#: Settings without which a method has no default, or with which it selects nothing.
NEEDED: dict[str, dict[str, Any]] = {name: {"lam": 0.1} for name in ("grafting", "grafting-light", "naive-l1")}
HIGH = ["l1-arda", "ada-fobos", "sparse-rf", "grafting", "naive-l1"]


def check(found: th.Selection, x: Any, rows: int) -> None:
    outputs = len(found.intercept)
    assert len(found) == 0
    assert found.weights.shape == ((0,) if outputs == 1 else (outputs, 0))
    expected = found.intercept[0] if outputs == 1 else found.intercept
    np.testing.assert_array_equal(found.decision_function(x), np.broadcast_to(expected, (rows, outputs)).squeeze())
    assert found.transform(x).shape == (rows, 0)
    assert len(found.predict(x)) == rows


@pytest.mark.parametrize("labels", [LABELS, CLASSES], ids=["two classes", "three classes"])
@pytest.mark.parametrize("method", [name for name in method_names() if name != "sparse-rf"])
def test_data_without_any_value(method: str, labels: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    loss = "softmax" if method in ("mission", "iht", "batch-iht", "hashing") and labels is CLASSES else None
    if loss is None and labels is CLASSES:
        loss = "rest:squared_hinge" if method in ("b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos") else None
    found = th.select(ZEROS, labels, k=3, method=method, loss=loss, **NEEDED.get(method, {}))
    check(found, ZEROS, 60)
    assert caplog.text.count("Nothing was selected") == 1
    found.save(tmp_path / "empty.thr")
    check(th.load(tmp_path / "empty.thr"), ZEROS, 60)


@pytest.mark.parametrize("method", HIGH)
def test_a_penalty_that_is_too_high(method: str, caplog: pytest.LogCaptureFixture) -> None:
    found = th.select(X, Y, k=3, method=method, lam=1e9)
    check(found, X, 300)
    assert "Lower `lam`, now 1000000000.0" in caplog.text


def test_every_command_and_export(tmp_path: Path) -> None:
    data, model = write_libsvm(tmp_path / "rows.svm", X, Y), tmp_path / "empty.thr"
    shown = run("select", data, "-k", 3, "--method", "l1-arda", "--lam", "1e9", "--holdout", 0.2, "-o", model)
    assert shown.exit_code == 0, shown.output
    assert "none of 3 requested: every prediction is the intercept alone" in shown.output
    assert "none of 3 requested" in run("inspect", model).output
    assert len(run("inspect", model, "--format", "tsv").output.splitlines()) == 1
    assert json.loads(run("inspect", model, "--format", "json").output)["features"] == []
    assert len(run("predict", model, data).output.splitlines()) == 300
    found = th.load(model)
    for name in EXPORT_FORMATS:
        found.export(tmp_path / f"empty.{name}")
    assert found.to_arrow().num_rows == len(found.to_frame()) == 0
    margin = float(run("predict", model, data, "--margin").output.splitlines()[0])
    assert math.isclose(margin, found.intercept[0])


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (th.MissionClassifier, {}),
        (th.BudgetedClassifier, {"method": "ada-fobos", "lam": 1e9}),
        (th.FGMClassifier, {}),
        (th.SubstitutionClassifier, {}),
        (th.MissionRegressor, {}),
        (th.SubstitutionRegressor, {}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_estimators(kind: Any, settings: dict[str, Any]) -> None:
    model = kind(k=3, **settings)
    y = LABELS.astype(float) if type(model).__name__.endswith("Regressor") else LABELS
    model.fit(ZEROS, y)
    assert model.transform(ZEROS).shape == (60, 0)
    assert model.get_support().sum() == 0
    assert len(model.get_feature_names_out()) == 0
    assert len(model.predict(ZEROS)) == 60
    assert np.isfinite(model.score(ZEROS, y))
