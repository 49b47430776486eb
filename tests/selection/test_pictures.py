"""Pictures of selections: what is drawn, hostile names, and what is said where nothing can be drawn."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import thresher as th
from tests.selection.makers import make
from thresher.core.memory import PlanReport, ReadLimits
from thresher.errors import MissingExtraError, SettingsError

mpl.use("Agg")

from matplotlib import pyplot as plt

RNG = np.random.default_rng(2)
X = RNG.normal(size=(600, 12))
Y = X[:, 7] - X[:, 3] > 0
HOSTILE = ["<script>alert(1)</script>", "$\\frac{", 'a"b\n&', "\u202eabc", "x" * 400]


@pytest.fixture(autouse=True)
def _close_figures() -> Any:
    yield
    plt.close("all")


def drawn(ax: Any) -> Any:
    """The axes, after everything in them was drawn."""
    ax.figure.canvas.draw()
    return ax


def rows_of(ax: Any) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


@pytest.fixture(scope="module")
def online() -> th.Selection:
    return th.select(X, Y, k=4, passes=2)


def test_weights_are_bars_with_their_signs() -> None:
    selection = replace(make([3.0, -2.0, 1.0], classes=["no", "yes"]), bounds=np.array([0.5, 0.1, 0.0]))
    ax = drawn(selection.plot.weights(2))
    assert [bar.get_width() for bar in ax.patches] == [3.0, -2.0]
    assert rows_of(ax) == ["f0", "f1"]
    assert "evidence for yes" in ax.get_xlabel()
    assert len(ax.collections) == 1  # the error bars
    assert ax.get_title(loc="left") == "The 2 strongest of 3 features"


def test_weights_of_several_classes_are_a_table_or_one_class() -> None:
    weights = np.array([[3.0, 0.5, 0.0], [-1.0, 0.0, 2.0]])
    selection = make(weights, intercept=(0.0, 0.0), loss="softmax", classes=["a", "b"])
    ax = drawn(selection.plot.weights())
    np.testing.assert_array_equal(ax.images[0].get_array(), weights.T)
    of_b = drawn(selection.plot.weights(2, label="b"))
    assert rows_of(of_b) == ["f2", "f0"]
    with pytest.raises(SettingsError, match=r"one of the classes \(a, b\)"):
        selection.plot.weights(label="c")


def test_standardized_weights_are_shown_if_features_rank_by_them() -> None:
    selection = replace(make([1.0, 2.0]), scales=np.array([10.0, 1.0]), centres=np.zeros(2))
    ax = drawn(selection.plot.weights())
    assert [bar.get_width() for bar in ax.patches] == [10.0, 2.0]
    assert ax.get_xlabel().startswith("standardized weight")


def test_hostile_names_are_text() -> None:
    selection = make(np.arange(5.0, 0.0, -1.0), names=HOSTILE, classes=["<b>", "$x$"])
    shown = rows_of(drawn(selection.plot.weights()))
    assert shown[0] == HOSTILE[0]
    assert shown[1] == HOSTILE[1]
    assert "\n" not in shown[2]
    assert "\u202e" not in shown[3]
    assert len(shown[4]) == 40
    html = selection._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html.replace("<b>Selection</b>", "")
    assert "&lt;script&gt;" in html
    assert "\u202e" not in html
    assert "\n" not in html


def test_the_table_in_a_notebook_has_bars_and_is_bounded(online: th.Selection) -> None:
    html = online._repr_html_()
    assert html.count("<tr>") == 5
    assert "x7" in html
    assert "4 features by <bdi>mission</bdi>, 1,200 rows learned" in html
    big = make(np.linspace(9, 1, 5000))
    assert len(big._repr_html_()) < 20_000
    assert "4,985 more" in big._repr_html_()
    several = make(np.ones((9, 3)), intercept=np.zeros(9), loss="softmax", classes=list("abcdefghi"))
    assert "3 classes more" in several._repr_html_()
    assert make(np.empty(0))._repr_html_().count("<tr>") == 1


def test_a_plan_is_a_table_in_a_notebook() -> None:
    html = PlanReport(ReadLimits(), [("table", 2048, "k < 5"), ("none", 0, "-")], [("left", "a & b")])._repr_html_()
    assert "<td>2.0 KB</td><td>k &lt; 5</td>" in html
    assert "none" not in html
    assert "a &amp; b" in html


def test_the_learning_curve_and_the_history(online: th.Selection) -> None:
    curve = online.provenance["learning_curve"]
    ax = drawn(online.plot.learning_curve())
    progressive = next(line for line in ax.lines if line.get_label() == "progressive loss")
    assert progressive.get_xdata().tolist() == curve["rows"]
    assert "logistic" in ax.get_ylabel()
    assert rows_of(drawn(online.plot.history())) == online.names
    jaccard = drawn(online.plot.history("jaccard"))
    assert jaccard.lines[0].get_ydata()[-1] == 1.0
    with pytest.raises(SettingsError, match='"timeline" or "jaccard"'):
        online.plot.history("other")


def test_the_path_and_the_scores() -> None:
    fgm = th.select(X, Y, k=4, method="fgm", B=1, preset="fixed")
    ax = drawn(fgm.plot.path())
    assert ax.lines[0].get_ydata().tolist() == [entry["objective"] for entry in fgm.provenance["path"]]
    curve = {
        "points": [{"k": k, "loss": 1 / k, "standard_error": 0.01} for k in (1, 2, 5)],
        "chosen": 5,
        "k_max": 5,
        "rows": 10,
        "folds": 1,
    }
    chosen = replace(fgm, provenance={"k_curve": curve})
    for ax in (drawn(chosen.plot.scores()), drawn(chosen.plot.path())):
        assert "chosen: 5" in [text.get_text() for text in ax.get_legend().get_texts()]
    scored = [{**entry, "score": 0.9} for entry in fgm.provenance["path"]]
    assert drawn(replace(fgm, provenance={"path": scored}).plot.scores()).get_ylabel() == "validation score"


def test_stability_shows_frequencies_or_q_values() -> None:
    facts = {"names": ["f0", "f9"], "frequency": [1.0, 0.4], "threshold": 0.75, "stable": 1}
    selection = replace(make([2.0, 1.0]), provenance={"stability": facts})
    assert rows_of(drawn(selection.plot.stability())) == ["f0", "f9"]
    cut = {"names": ["f5", "f6"], "q_values": [0.3, None], "keys": [5, 6]}
    fdr = {"q": 0.1, "cut": cut, "kept": 2, "candidates": 4}
    selection = replace(make([2.0, 1.0]), q_values=np.array([0.05, 0.02]), provenance={"fdr": fdr})
    assert rows_of(drawn(selection.plot.stability())) == ["f1", "f0", "f5"]


@pytest.mark.parametrize("name", ["stability", "scores", "path", "learning_curve", "history"])
def test_what_was_not_gathered_is_an_error_that_says_what_to_do(name: str) -> None:
    with pytest.raises(SettingsError, match=r"this selection has no .*(select|see|keep)"):
        getattr(make([1.0]).plot, name)()


def test_a_picture_can_be_drawn_on_axes_that_are_there(online: th.Selection) -> None:
    _, axes = plt.subplots(2, 3)
    pictures = [online.plot.weights, online.plot.learning_curve, online.plot.history]
    assert [draw(ax=ax) for draw, ax in zip(pictures, axes[0], strict=True)] == list(axes[0])
    drawn(axes[0, 0])


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"thresher\[plot\]"):
        make([1.0]).plot.weights()
