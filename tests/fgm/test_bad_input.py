"""fgm: invalid input raises, before any pass over the data if possible."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.fgm.data import data, sparse_file
from thresher.fgm.run import FGMRun
from thresher.fgm.settings import FGMSettings
from thresher.run import RunOptions
from thresher.sources.registry import as_source


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 61}, "k must be at most 60"),
        ({"k": 0}, "k must be at least 1"),
        ({"k": 5, "C": 0.0}, "C must be above 0"),
        ({"k": 5, "C": -1.0}, "C must be above 0"),
        ({"k": 5, "B": 0}, "B must be at least 1"),
        ({"k": 5, "loss": "hinge"}, "the loss of fgm must be one of"),
        ({"k": 5, "scale": "unit"}, "scale must be"),
        ({"k": 5, "tol": -1.0}, "tol and inner_tol must be at least 0"),
        ({"k": 5, "solver": "mkl", "loss": "logistic"}, "mkl solver must be squared_hinge"),
        ({"k": 5, "family": "forest"}, "unknown family 'forest'"),
        ({"k": 5, "family": "tree"}, "groups is missing"),
        ({"k": 5, "max_iter": 0}, "max_iter must"),
        ({"k": 5, "solver": "best"}, "solver must be one of"),
        ({"k": 5, "refit": -1.0}, "refit must be"),
    ],
)
def test_bad_settings_raise_before_any_pass(options: dict[str, Any], message: str) -> None:
    x, y = data()
    source = as_source(x, y)
    source._rows = source._content = None  # nothing may be read
    with pytest.raises(th.SettingsError, match=message):
        th.select(source, method="fgm", **options)


@pytest.mark.parametrize(
    ("method", "setting"),
    [
        ("fgm", {"step": 0.1}),
        ("fgm", {"passes": 2}),
        ("fgm", {"sketch": (1, 8)}),
        ("mission", {"B": 3}),
        ("iht", {"C": 1.0}),
    ],
)
def test_settings_of_the_other_loop_are_refused(method: str, setting: dict[str, Any]) -> None:
    x, y = data()
    with pytest.raises(th.SettingsError, match=f"{method} has no setting `{next(iter(setting))}`"):
        th.select(x, y, k=3, method=method, **setting)


def test_products_of_features() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 12)).astype(np.float32)
    found = th.select(x, x[:, 2] * x[:, 7] > 0, k=1, method="fgm", interactions=2)
    assert found.names == ["x2 × x7"]
    assert (found.predict(x) == (x[:, 2] * x[:, 7] > 0)).mean() > 0.9


def test_one_class_raises() -> None:
    x, _ = data()
    with pytest.raises(th.DataError, match="only one class"):
        th.select(x, np.ones(len(x)), k=2, method="fgm")


def test_missing_rows_and_bad_values_raise(tmp_path: Path) -> None:
    x, y = data()
    x[7, 3] = np.nan
    with pytest.raises(th.DataError, match="row 7, column 3"):
        th.select(x, y, k=2, method="fgm")
    with pytest.raises(th.DataError, match="no rows"):
        th.select(np.empty((0, 3)), np.empty(0), k=2, method="fgm")
    with pytest.raises(th.DataError, match="no labels"):
        th.select(x, k=2, method="fgm")
    bad = tmp_path / "bad.svm"
    bad.write_text("1 1:1\nnan 2:1\n")
    with pytest.raises(th.DataError, match="label"):
        th.select(bad, k=1, method="fgm")


def test_too_little_memory_raises(tmp_path: Path) -> None:
    path = sparse_file(tmp_path)
    with pytest.raises(th.SettingsError, match="besides the columns"):
        th.select(path, k=12, B=1, method="fgm", memory="64KB")
    x, y = data(n=3000)
    with pytest.raises(th.SettingsError, match="the columns proposed so far need"):
        th.select(x, y, k=30, method="fgm", memory="2MB")


def test_memory_is_refused_before_the_first_row_where_the_rows_are_known() -> None:
    source = as_source(*data(n=50))
    source.total_rows = 10**6
    with pytest.raises(th.SettingsError, match="1000000 rows and 10 blocks"):
        FGMRun(source, FGMSettings(k=60), RunOptions(memory="64MB"))
