"""What people read below the table of features."""

import io
import re
import sys

import numpy as np
import pytest
from rich.cells import cell_len

import thresher as th
from tests.selection.makers import make
from thresher.core.feature_space import FeatureSpace, Hashing
from thresher.core.memory import MB, Progress
from thresher.report.summary import memory_line, show_scores, summary
from thresher.report.text import aligned, print_selection


@pytest.mark.parametrize(
    ("scores", "shown"),
    [
        (
            {"rows": 2027, "accuracy": 0.912, "auc": 0.96104, "average_precision": 0.88, "log_loss": 0.21},
            "accuracy 0.9120, AUC 0.9610, average precision 0.8800, log loss 0.2100 (2,027 rows)",
        ),
        ({"rows": 3, "rmse": 12345678.9, "r2": -0.5, "loss": 0.0}, "RMSE 1.235e+07, R² -0.5000, loss 0.0000 (3 rows)"),
        ({"rmse": 0.000123456, "loss": float("inf")}, "RMSE 0.0001235, loss inf"),
        ({"rows": 3, "rmse": None}, "RMSE not finite (3 rows)"),  # as it comes back from a file
        (
            {"micro_f1": 0.5, "macro_f1": 0.25, "hamming_accuracy": 1.0},
            "micro F1 0.5000, macro F1 0.2500, hamming accuracy 1.0000",
        ),
        ({"balanced_accuracy": 0.75}, "balanced accuracy 0.7500"),
    ],
)
def test_scores_as_people_write_them(scores, shown):
    assert show_scores(scores) == shown


REVIEW = "this film is the worst that I have seen in years " * 20


class Terminal(io.StringIO):
    """Standard output of a terminal."""

    def isatty(self):
        return True


def on_terminal(monkeypatch, selection, width, **options):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", Terminal())
    print_selection(selection, **options)
    return sys.stdout.getvalue()


def lines_of(selection):
    return dict(summary(selection, None, None))


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_table_fits_the_terminal(monkeypatch, width):
    names = [REVIEW, "日本語" * 30, "short", "\x1b[31mred", ":smile: [bold]x[/bold]"]
    shown = on_terminal(monkeypatch, make([1.5, -1e-5, 12345.678, 0.5, -2.0], names=names), width)
    rows = re.sub(r"\x1b\[[01]m", "", shown).split("\n")[:6]
    assert max(map(cell_len, rows)) <= width
    assert rows[1].split()[1].startswith("this")
    assert "…" in rows[1]
    assert "…" in rows[2]
    assert "\\x1b[31mred" in rows[4]
    assert ":smile: [bold]x[/bold]" in rows[5]
    assert "key" not in rows[0]


def test_keys_are_shown_on_request(monkeypatch, capsys):
    selection = make([1.0, 2.0], keys=[2**64 - 1, 7])
    print_selection(selection)
    assert "18446744073709551615" not in capsys.readouterr().out
    print_selection(selection, keys=True)
    assert "18446744073709551615" in capsys.readouterr().out
    assert "18446744073709551615" in on_terminal(monkeypatch, selection, 80, keys=True)


def test_a_pipe_gets_whole_names_without_control_characters(capsys):
    print_selection(make([1.0, 2.0], names=[REVIEW.strip(), "a\x1b]0;title\x07\u202e\nb"]))
    shown = capsys.readouterr().out
    assert REVIEW.strip() in shown
    assert "a\\x1b]0;title\\x07\\u202e\\nb" in shown


def test_weights_have_their_points_below_each_other():
    table = [("name", ["a", "b", "c"]), ("weight", ["-1.5  ", " 0.125", "12    "])]
    assert aligned(table)[1:] == ["a     -1.5", "b      0.125", "c     12"]


def test_classes_that_do_not_fit_give_way_to_the_strongest(monkeypatch):
    classes = [f"class-{c}" for c in range(20)]
    weights = np.zeros((20, 2))
    weights[3, 0], weights[7, 0], weights[12, 1] = 0.5, -2.25, 1.5
    selection = make(weights, loss="softmax", classes=classes, intercept=np.zeros(20), names=["n" * 90, "word"])
    shown = re.sub(r"\x1b\[[01]m", "", on_terminal(monkeypatch, selection, 80)).split("\n")
    assert max(map(cell_len, shown)) <= 80
    assert shown[0].split() == ["rank", "name", "class", "weight", "bound", "count"]
    assert shown[1].split()[2:4] == ["class-7", "-2.25"]
    assert shown[2].split()[1:4] == ["word", "class-12", "1.5"]
    assert "weight_class-19" in on_terminal(monkeypatch, selection, 1000)


def test_the_summary_is_folded_between_words(monkeypatch):
    selection = make([1.0], classes=["of all the others", "for the longest of all the labels in this table here"])
    lines = re.sub(r"\x1b\[[01]m", "", on_terminal(monkeypatch, selection, 60)).split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("classes"))
    assert max(map(len, lines)) <= 60
    assert lines[at + 1].startswith(" " * 13)
    whole = f"{lines[at][13:]} {lines[at + 1].strip()}"
    assert whole.startswith("a positive weight is evidence for for the longest of all the labels")


def test_two_classes_have_signs_and_several_have_columns():
    assert lines_of(make([1.0]))["classes"] == "a positive weight is evidence for 1, against 0"
    several = make(np.eye(3), loss="softmax", classes=["a", "b\x1b", REVIEW], intercept=np.zeros(3))
    shown = lines_of(several)["classes"]
    assert shown.startswith("a, b\\x1b, this film")
    assert shown.endswith("…; a positive weight_… is evidence for the class in its name")
    assert "against" not in shown


def test_hashed_features_are_buckets_and_no_groups():
    space = FeatureSpace("token").hashed(Hashing(64, 0))
    hashed = make(range(1, 5), space=space, names=[f"bucket {i}" for i in range(4)])
    hashed.settings["k"] = 2
    assert (
        lines_of(hashed)["features"] == "4 of 64 buckets have a weight (k does not limit them); buckets have no names"
    )


@pytest.mark.parametrize(
    ("provenance", "grown", "mapped", "shown"),
    [
        ({"plan": {"memory": 64 * MB, "total": 45 * MB}}, 38, 9, "64.0 MB allowed, 45.0 MB planned, 38.0 MB used"),
        (
            {"plan": {"memory": 8 * MB, "total": 6 * MB}},
            10,
            5,
            "8.0 MB allowed, 6.0 MB planned, 10.0 MB used; 4.0 MB more than planned: 5.0 MB of program code and mapped "
            "files",
        ),
        (
            {"plan": {"memory": 8 * MB, "total": 6 * MB}},
            10,
            0,
            "8.0 MB allowed, 6.0 MB planned, 10.0 MB used; 4.0 MB more than planned: Python's own objects, and rows "
            "larger than a buffer",
        ),
        (
            {"plan": {"memory": 0, "total": 20 * MB, "seen": 0}, "seen": {"features": 1000, "bytes": 100 * MB}},
            120,
            0,
            "no limit set, 20.0 MB planned and 100.0 MB for the 1,000 features seen, 120.0 MB used",
        ),
    ],
)
def test_memory_over_the_plan_is_explained(provenance, grown, mapped, shown):
    run = Progress(1, 1, 1, 1, 0, None, 1, None, 1.0, grown * MB, mapped * MB)
    assert memory_line(provenance, run) == shown


def test_a_budgeted_method_without_memory_states_no_limit():
    data = [[1.0, 0.0], [0.0, 1.0]] * 5, [1, 0] * 5
    assert th.select(*map(np.array, data), k=1, method="b-arda").provenance["plan"]["memory"] == 0
    assert th.select(*map(np.array, data), k=1, method="b-arda", memory="16MB").provenance["plan"]["memory"] == 16 * MB
    assert th.select(*map(np.array, data), k=1).provenance["plan"]["memory"] == 64 * MB


def test_standardised_weights_are_as_short_as_weights(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)) * [1.0, 1000.0, 0.001]
    print_selection(th.select(x, x[:, 1] > 0, k=2, passes=1, refit=False))
    header, *rows = capsys.readouterr().out.splitlines()[:3]
    assert header.split() == ["rank", "name", "weight", "standardized", "bound", "count"]
    assert all(len(row.split()[3]) <= 12 for row in rows)
