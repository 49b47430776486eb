"""Callbacks: they see interim selections, change nothing, may end the fit, and may fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.selection.makers import ARRAYS
from tests.streams import planted, write_vw
from thresher.core.interim import Interim

RNG = np.random.default_rng(8)
X = RNG.normal(size=(900, 30))
Y = X[:, 7] - X[:, 21] + 0.5 * X[:, 3] + 0.3 * RNG.normal(size=900) > 0

EVERY: list[dict[str, Any]] = [
    {"method": "mission"},
    {"method": "mission", "passes": 2, "refit": False},
    {"method": "batch-iht", "passes": 1, "refit": False},
    {"method": "b-arda"},
    {"method": "l1-arda", "passes": 1},
    {"method": "mission", "workers": 2, "sync": 300, "passes": 1, "refit": False},
    {"method": "fgm", "B": 2},
    {"method": "sparse-rf", "gamma": 0.1, "lam": 1.0, "draws": 5, "max_iter": 4},
    {"method": "os", "arrivals": 4},
    {"method": "mission", "k": 6, "fdr": 0.5, "splits": 2, "passes": 1},
]


def name_of(settings: dict[str, Any]) -> str:
    return " ".join(map(str, settings.values()))


def answer(selection: th.Selection) -> list[Any]:
    return [selection.names, *(getattr(selection, name).tobytes() for name in ARRAYS)]


@pytest.mark.parametrize("settings", EVERY, ids=name_of)
def test_a_callback_changes_nothing_and_sees_selections(settings: dict[str, Any]) -> None:
    seen: list[Interim] = []
    found: list[th.Selection] = []

    def look(interim: Interim) -> None:
        seen.append(interim)
        if len(found) < 3:
            found.append(interim.selection())
            assert interim.selection() is found[-1]

    arguments = {"k": 3, "batch_rows": 150} | settings
    watched = th.select(X, Y, callback=look, **arguments)
    assert answer(watched) == answer(th.select(X, Y, **arguments))
    assert "stopped" not in watched.provenance
    assert seen
    assert all(one.rows > 0 and one.seconds >= 0 for one in seen)
    for selection in found:
        assert np.isfinite(selection.decision_function(X[:5])).all()
        assert len(selection) <= max(8, arguments["k"])


@pytest.mark.parametrize("settings", EVERY, ids=name_of)
def test_a_callback_ends_the_fit_and_leaves_a_usable_model(settings: dict[str, Any], tmp_path: Path) -> None:
    calls: list[int] = []

    def stop(interim: Interim) -> bool:
        calls.append(interim.rows)
        return True

    arguments = {"k": 3, "batch_rows": 150} | settings
    selection = th.select(X, Y, callback=stop, output=tmp_path / "out.thr", **arguments)
    assert len(calls) == 1
    assert selection.provenance["stopped"].split()[0].isdigit()
    loaded = th.load(tmp_path / "out.thr")
    assert loaded.predict(X[:5]).tolist() == selection.predict(X[:5]).tolist()
    if settings == EVERY[1]:
        assert selection.provenance["rows"] == calls[0] == 150
        assert selection.provenance["stopped"] == "150 rows"


def test_a_stop_while_all_rows_are_learned_again_keeps_what_is_learned() -> None:
    before: list[int] = []

    def stop(interim: Interim) -> bool:
        again = bool(before) and interim.rows < before[-1]
        before.append(interim.rows)
        return again

    selection = th.select(X, Y, k=3, batch_rows=150, callback=stop)
    assert selection.provenance["rows"] == 150
    assert selection.provenance["stopped"] == "150 rows"
    assert {"x7", "x21"} <= set(selection.names)


@pytest.mark.parametrize("settings", [{}, {"method": "fgm", "B": 1}, {"method": "os", "arrivals": 4}], ids=name_of)
def test_after_an_error_the_checkpoint_is_there_and_the_fit_resumes(settings: dict[str, Any], tmp_path: Path) -> None:
    calls: list[int] = []

    def fail(interim: Interim) -> None:
        calls.append(interim.rows)
        if len(calls) == 3:
            raise RuntimeError("no more")

    arguments = {"k": 3, "batch_rows": 150, "checkpoint": tmp_path / "fit.ckpt"} | settings
    with pytest.raises(RuntimeError, match="no more"):
        th.select(X, Y, callback=fail, **arguments)
    assert (tmp_path / "fit.ckpt").exists()
    assert answer(th.select(X, Y, **arguments)) == answer(th.select(X, Y, **{**arguments, "checkpoint": None}))
    assert not (tmp_path / "fit.ckpt").exists()


def test_only_true_ends_a_fit() -> None:
    calls: list[int] = []
    th.select(X, Y, k=3, batch_rows=300, passes=1, refit=False, callback=lambda interim: calls.append(1) or 5)  # type: ignore[func-returns-value]
    assert len(calls) == 3


def test_interim_selections_have_names(tmp_path: Path) -> None:
    path = write_vw(tmp_path / "rows.vw", *planted(rows=300))
    for settings in ({}, {"method": "b-arda"}, {"method": "fgm"}):
        names: list[str] = []
        th.select(path, k=3, callback=lambda interim, to=names: to.extend(interim.selection().names), **settings)
        assert names
        assert not any(name.startswith("#") for name in names)


@pytest.mark.parametrize(
    "estimator",
    [th.MissionClassifier(3), th.BudgetedClassifier(3), th.FGMClassifier(3), th.SubstitutionClassifier(3)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators_take_it_in_fit(estimator: Any) -> None:
    calls: list[int] = []
    estimator.fit(X, Y, callback=lambda interim: bool(calls.append(interim.rows)) or True)  # type: ignore[func-returns-value]
    assert len(calls) == 1
    assert estimator.selection_.provenance["stopped"]
    assert estimator.predict(X[:4]).shape == (4,)
    assert not [name for name in vars(estimator) if "callback" in name]


def test_a_further_stream_of_features_goes_on_after_a_stop() -> None:
    estimator = th.SubstitutionClassifier(3, arrivals=1)
    estimator.fit(th.FeatureStream(X[:, :5]), Y, callback=lambda interim: True)
    estimator.partial_fit(X[:, 5:])
    assert "stopped" not in estimator.selection_.provenance
    assert "x7" in estimator.get_feature_names_out()
