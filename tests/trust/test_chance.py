"""The chance level: labels drawn by chance, what is compared, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from thresher.report.summary import summary
from thresher.sources.arrays import DenseSource
from thresher.sources.transforms.drawn_labels import DrawnLabels, LabelSample

RNG = np.random.default_rng(1)
X = RNG.normal(size=(500, 40))
Y = 2 * X[:, :3].sum(axis=1) + RNG.logistic(size=500) > 0
QUICK = {"k": 5, "passes": 1, "refit": False, "calibrate": False}


def drawn(source: DenseSource, number: int, batch: int = 8192) -> np.ndarray:
    labels = DrawnLabels(source, LabelSample(source, 3), 3, number)
    return np.concatenate([rows.y for rows, _ in labels.batches(batch)])


@given(batch=st.integers(1, 600), number=st.integers(0, 5))
def test_labels_do_not_depend_on_the_batches_or_on_the_order(batch: int, number: int) -> None:
    source = DenseSource(X[:60], np.arange(60.0))
    found = drawn(source, number, batch)
    assert np.array_equal(found, drawn(source, number))
    assert set(found.tolist()) <= set(range(60))
    order = np.random.default_rng(number).permutation(60)
    moved = DrawnLabels(DenseSource(X[:60][order], np.zeros(60)), LabelSample(source, 3), 3, number)
    assert np.array_equal(np.concatenate([rows.y for rows, _ in moved.batches(batch)]), found[order])


def test_labels_are_those_of_the_data_and_say_nothing_about_the_rows() -> None:
    source = DenseSource(X, Y.astype(float))
    draws = np.stack([drawn(source, number) for number in range(20)])
    assert abs(draws.mean() - Y.mean()) < 4 * 0.5 / np.sqrt(draws.size)
    assert np.abs(np.corrcoef(np.vstack([Y, draws])) - np.eye(21)).max() < 4.5 / np.sqrt(500)
    assert np.array_equal(drawn(source, 2), draws[2])


def test_chance_is_far_below_an_effect_and_at_the_level_of_none() -> None:
    selection = th.select(X, Y, permutations=4, holdout=0.3, **QUICK)
    chance = selection.provenance["chance"]
    assert (chance["score"], chance["on"], chance["n"]) == ("auc", "held-out rows", 4)
    assert chance["p_value"] == 0.2
    assert max(chance["scores"]) < 0.7 < chance["own_score"] == selection.provenance["test"]["auc"]
    assert max(chance["largest_weight"]) < chance["own_largest_weight"]
    none = th.select(X, np.random.default_rng(5).random(500) < 0.5, permutations=4, holdout=0.3, **QUICK)
    assert none.provenance["chance"]["p_value"] > 0.2


def test_other_tasks_and_methods_and_where_scores_come_from(tmp_path: Path) -> None:
    progressive = th.select(X, Y, permutations=2, **QUICK).provenance["chance"]
    assert (progressive["score"], progressive["on"]) == ("auc", "rows before they are learned")
    numbers = th.select(X, X[:, 0], permutations=2, holdout=0.3, **QUICK).provenance["chance"]
    assert numbers["score"] == "r2"
    classes = np.array(["a", "b", "c"])[X[:, :3].argmax(axis=1)]
    several = th.select(X, classes, permutations=2, holdout=0.3, stability=2, **QUICK)
    assert several.provenance["chance"]["score"] == "accuracy"
    exact = th.select(X, Y, k=5, method="fgm", permutations=2, calibrate=False, output=tmp_path / "a.thr")
    assert exact.provenance["chance"]["score"] is None
    assert exact.provenance["chance"]["p_value"] == pytest.approx(1 / 3)
    loaded = th.load(tmp_path / "a.thr")
    assert loaded.provenance["chance"] == exact.provenance["chance"]
    said = dict(summary(loaded, None, None))["by chance"]
    assert said.startswith("2 fits of labels drawn by chance reach |weight| up to")
    assert "p = 0.33 by the largest weight" in said


def test_the_answer_is_that_of_the_same_fit_and_the_batches_do_not_matter() -> None:
    plain = th.select(X, Y, **QUICK)
    first, second = (th.select(X, Y, permutations=2, batch_rows=rows, **QUICK) for rows in (11, 8192))
    assert np.array_equal(plain.weights, first.weights)
    assert first.provenance["chance"] == second.provenance["chance"]


def test_estimators_have_it() -> None:
    model = th.MissionClassifier(permutations=2, k=5, passes=1, refit=False).fit(X, Y)
    assert model.selection_.provenance["chance"]["n"] == 2
    assert model.score(X, Y) > 0.8
    with pytest.raises(th.SettingsError, match="`permutations` repeats the fit"):
        model.partial_fit(X, Y)
    exact = th.FGMClassifier(k=5, permutations=1).fit(X, Y)
    assert exact.selection_.provenance["chance"]["score"] is None


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"permutations": 0}, "permutations must be at least 1"),
        ({"permutations": 2, "fdr": 0.1}, "leave out `fdr` or `permutations`"),
    ],
)
def test_what_is_refused(more: dict, message: str) -> None:
    with pytest.raises(th.SettingsError, match=message):
        th.select(X, Y, k=5, **more)


def test_an_interrupt_leaves_the_selection() -> None:
    def interrupt(progress: th.Progress) -> None:
        if "drawn by chance, 2" in progress.phase:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted) as interrupted:
        th.select(X, Y, permutations=3, progress=interrupt, **QUICK)
    assert interrupted.value.selection is not None
    assert interrupted.value.selection.names == th.select(X, Y, **QUICK).names
