"""The data of every view, and what is left out."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import thresher as th
from tests import golden
from tests.selection.makers import make
from tests.selection.report.record import PATH, views
from tests.selection.report.samples import FACTS, HOSTILE, binary, dense, rows_of
from thresher.selection.file import load
from thresher.selection.report.features import feature_table
from thresher.selection.report.page import report_data
from thresher.selection.report.rows import HELD, SHOWN, RowViews, confusion
from thresher.sources.registry import as_source


def same(found, recorded):
    """Equal, numbers up to rounding."""
    if isinstance(recorded, dict):
        return found.keys() == recorded.keys() and all(same(found[name], recorded[name]) for name in recorded)
    if isinstance(recorded, list):
        return len(found) == len(recorded) and all(map(same, found, recorded))
    if isinstance(recorded, float) or isinstance(found, float):
        return math.isclose(found, recorded, rel_tol=1e-3, abs_tol=1e-6)
    return found == recorded


def test_views_are_as_recorded():
    found, recorded = views(), json.loads(PATH.read_text())
    assert found.keys() == recorded.keys()
    for name, data in recorded.items():
        for part, inner in data.items():
            assert same(found[name][part], inner), (name, part, found[name][part])


def test_every_fact_has_a_view():
    kinds = [view["kind"] for view in report_data(binary(**FACTS))["views"]]
    assert kinds == [
        *("k_curve", "table", "learning_curve", "kept_history", "path"),
        *("error_control", "stability", "table", "table", "table"),
    ]


def test_a_selection_without_facts_has_no_views():
    data = report_data(binary())
    assert data["views"] == []
    assert len(data["features"]["rows"]) == 4
    assert "There are no scores" in data["headline"]["sentence"]


@pytest.mark.parametrize(
    "name",
    ["k_curve", "race", "learning_curve", "kept_history", "path", "fdr", "stability", "chance", "decoys", "stand_ins"],
)
@pytest.mark.parametrize("value", [{"points": 3}, [1, 2], "text", 7, {"rows": [math.nan], "loss": [1]}])
def test_facts_of_another_form_leave_their_view_out(name, value):
    kinds = [view["kind"] for view in report_data(binary(**{name: value}))["views"]]
    assert kinds == []


def test_files_of_earlier_versions_have_a_report():
    """A file without the facts of today, as stored."""
    for path in sorted((Path(golden.__file__).parent / "stored").glob("*.thr")):
        data = report_data(load(path))
        json.dumps(data, allow_nan=False)
        assert data["features"]["total"] == len(load(path))


def test_the_table_keeps_within_its_bytes():
    k = 16_383
    rng = np.random.default_rng(0)
    names = [f"<name> number {i} " + "x" * 200 for i in range(k)]
    selection = make(rng.normal(size=k), names=names)
    table = feature_table(selection, 1_000_000)
    assert table["total"] == k
    assert 1000 < len(table["rows"]) < k
    assert [row[0] for row in table["rows"][:3]] == names[:3]
    whole = feature_table(make(rng.normal(size=k)), 1_000_000)
    assert len(whole["rows"]) == k


def test_keys_beyond_the_integers_of_javascript_are_text():
    selection = make([1.0, 2.0], keys=[(1 << 64) - 1, 5])
    assert [row[-1] for row in feature_table(selection)["rows"]] == [str((1 << 64) - 1), 5]


def test_charts_show_names_without_control_characters():
    facts = {**FACTS, "stability": {"names": HOSTILE, "frequency": [0.5] * len(HOSTILE), "B": 5}}
    shown = next(view for view in report_data(binary(**facts))["views"] if view["kind"] == "stability")["names"]
    assert all(name.isprintable() for name in shown)
    assert max(map(len, shown)) <= 28


def test_row_views_do_not_depend_on_batches():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 2))
    model = dense("squared", None, [1.0, -1.0], [0.0])
    y = X @ [1.0, -0.5]
    whole, _ = rows_of(model, X, y)
    parts = RowViews(model)
    for batch, _ in as_source(X, y).batches(rows=700):
        parts.add(batch, model.margins(batch), batch.y.astype(float), lambda row: "")
    names = ["edges", "count", "pairs"]
    (again,) = [view for view in parts.views() if view["kind"] == "residuals"]
    assert [whole[0][name] for name in names] == [again[name] for name in names]
    assert sum(again["count"]) == sum(again["pairs"][2]) == 6000


def test_many_classes_are_merged():
    counts = np.diag(np.arange(30, 60))
    view = confusion(counts, [f"c{i}" for i in range(30)])
    assert len(view["labels"]) == SHOWN
    assert view["labels"][-1] == "11 others"
    assert np.sum(view["counts"]) == counts.sum()
    many = make(np.zeros((HELD + 1, 1)), loss="softmax", classes=range(HELD + 1), intercept=np.zeros(HELD + 1))
    assert RowViews(many)._confusion is None


def test_contributions_of_an_example_sum_to_its_score():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 30))
    model = dense("logistic", ("no", "yes"), rng.normal(size=30), [0.5])
    views, _ = rows_of(model, X, np.where(X[:, 0] > 0, "yes", "no"))
    examples = [one for group in views[-1]["groups"] for one in group["examples"]]
    assert len(examples) == 9
    for one in examples:
        total = one["intercept"] + sum(part[2] for part in one["parts"]) + one["others_sum"]
        assert total == pytest.approx(one["score"], abs=0.02)
        assert one["others"] == 18


def test_the_command_or_the_call():
    assert report_data(binary(), command="thresher select http://u:secret@h/x.csv")["made"]["command"].endswith(
        "***@h/x.csv"
    )
    call = report_data(binary(data="d.vw"))["made"]["command"]
    assert call.startswith("th.select('d.vw', ")
    assert "method='mission'" in call
    assert "random_state=3" in call
    assert "passes" not in call  # a default


def test_data_that_was_learned_is_said_to_be(tmp_path, monkeypatch):
    from thresher.selection.report import report

    said = []
    monkeypatch.setattr(report, "check_library", lambda: None)
    monkeypatch.setattr(report, "prepare_library", lambda: None)
    monkeypatch.setattr(report, "write_report", lambda path, data: said.append(data["headline"]["sentence"]))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    np.savetxt(tmp_path / "a.csv", np.c_[X, X[:, 0] > 0], delimiter=",", header="a,b,c,d,y", comments="", fmt="%.4f")
    (tmp_path / "b.csv").write_bytes((tmp_path / "a.csv").read_bytes())
    selection = th.select(tmp_path / "a.csv", target="y", k=2, passes=1)
    selection.report(tmp_path / "a.csv", path=tmp_path / "r.html")
    selection.report(tmp_path / "b.csv", path=tmp_path / "r.html")
    assert "rows of the data that it was learned from" in said[0]
    assert "b.csv" in said[1]
