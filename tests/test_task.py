"""The labels decide between two classes, several and numbers, for every method and every kind of data."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import thresher as th
from tests.streams import write_libsvm as write_sparse
from thresher.cli.main import make_app
from thresher.core.label_task import FEW_VALUES, are_numbers
from thresher.sources.base import Wrapped
from thresher.sources.registry import as_source
from thresher.sources.transforms.peeked import ROWS

N = 1100  # more than the first rows that decide for a pipe
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 12))
SIGNAL = X[:, 3] + 0.3 * RNG.normal(size=N)
THREE = np.digitize(SIGNAL, [-0.5, 0.5])
METHODS = ["mission", "b-arda", "fgm", "os"]


def write_libsvm(path: Path, x: Any, y: Any) -> Path:
    return write_sparse(path, sp.csr_matrix(x), y)


class Once(Wrapped):
    """A source that can be read only once, as a pipe."""

    def __init__(self, source: Any, begun: list[bool] | None = None) -> None:
        super().__init__(source)
        self.rewindable = False
        self.begun = [] if begun is None else begun

    @property
    def mixes(self) -> bool:
        return False

    def _with(self, source: Any) -> Once:
        return Once(source, self.begun)

    def permuted(self, seed: int) -> Once:
        return self

    def _read(self, *arguments: Any) -> Any:
        assert not self.begun, "read twice"
        self.begun.append(True)
        yield from self.source._read(*arguments)


def same(one: th.Selection, other: th.Selection) -> None:
    assert one.names == other.names
    assert one.loss == other.loss
    assert one.classes == other.classes
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.intercept, other.intercept)


# ── the rule ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        ([0.0, 1.0], False),
        ([0.5, 1.5], False),
        ([0.0, 1.0, 2.0], False),
        ([0.0, 1.0, 2.5], True),
        ([float(i) for i in range(FEW_VALUES)], False),
        ([float(i) for i in range(FEW_VALUES + 1)], True),
        ([str(i) for i in range(100)], False),
        ([], False),
    ],
)
def test_what_labels_are(labels: list[Any], numbers: bool) -> None:
    assert are_numbers(labels) is numbers


@given(st.lists(st.floats(-1e6, 1e6) | st.integers(-30, 30).map(float), unique=True), st.data())
def test_more_numbers_stay_numbers(labels: list[float], data: st.DataObject) -> None:
    first = labels[: data.draw(st.integers(0, len(labels)))]
    assert not are_numbers(first) or are_numbers(labels)


# ── methods and labels ───────────────────────────────────────────────────────────────────────────

LABELS = {
    "two": (SIGNAL > 0, 2),
    "two numbers": (np.where(SIGNAL > 0, 1.5, -0.25), 2),
    "three": (THREE, 3),
    "text": (np.array(["low", "middle", "high"])[THREE], 3),
    "twenty": (np.digitize(SIGNAL, np.linspace(-1.5, 1.5, 19)), FEW_VALUES),
    "thirty": (np.digitize(SIGNAL, np.linspace(-1.5, 1.5, 29)), None),
    "fractions": (SIGNAL, None),
}
LOSSES = {
    "mission": ("logistic", "softmax"),
    "b-arda": ("squared_hinge", "rest:squared_hinge"),
    "fgm": ("squared_hinge", "rest:squared_hinge"),
    "os": ("squared_hinge", "rest:squared_hinge"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", LABELS)
def test_labels_decide(method: str, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    y, classes = LABELS[kind]
    with caplog.at_level(logging.INFO):
        found = th.select(X, y, k=2, method=method)
    two, several = LOSSES[method]
    expected = "squared" if classes is None else two if classes == 2 else several
    assert str(found.loss) == expected
    assert found.names[0] == "x3"
    guess = {"task": "numbers"} if classes is None else {"task": "classes", "classes": classes}
    assert found.provenance["task"] == {**guess, "guessed": True}
    lines = [record.getMessage() for record in caplog.records if "task=" in record.getMessage()]
    assert len(lines) == (kind not in ("two", "two numbers", "text"))
    if classes is not None and classes > 2:
        assert f"{classes} classes: " in caplog.text
    if kind in ("two", "text", "fractions"):  # a loss that is given decides as before, and leads to the same answer
        asked = expected.removeprefix("rest:") if method in ("fgm", "os") else expected
        given_loss = th.select(X, y, k=2, method=method, loss=asked)
        same(found, given_loss)
        assert "task" not in given_loss.provenance


@pytest.mark.parametrize("method", ["mission", "fgm"])
def test_the_task_decides_if_it_is_given(method: str) -> None:
    numbers = th.select(X, THREE, k=2, method=method, task="numbers")
    same(numbers, th.select(X, THREE, k=2, method=method, loss="squared"))
    assert numbers.provenance["task"] == {"task": "numbers", "guessed": False}
    thirty = LABELS["thirty"][0]
    classes = th.select(X, thirty, k=2, method=method, task="classes")
    assert classes.provenance["task"] == {"task": "classes", "classes": 30, "guessed": False}


def test_a_task_must_fit_the_loss() -> None:
    with pytest.raises(th.SettingsError, match="task must be"):
        th.select(X, THREE, k=2, task="ranks")
    with pytest.raises(th.SettingsError, match="squared loss is for numbers"):
        th.select(X, THREE, k=2, task="classes", loss="squared")
    assert th.select(X, THREE, k=2, task="classes", loss="softmax").classes == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("method", ["mission", "fgm"])
def test_balanced_weights(method: str) -> None:
    rare = np.digitize(SIGNAL, [-2.0, 1.5])
    for y in (rare, rare > 0):
        counts = {label: N / (len(np.unique(y)) * np.sum(y == label)) for label in np.unique(y).astype(float)}
        balanced = th.select(X, y, k=2, method=method, class_weight="balanced")
        same(balanced, th.select(X, y, k=2, method=method, class_weight=counts))
    with pytest.raises(th.SettingsError, match=r"numbers, such as .*`class_weight` needs classes"):
        th.select(X, SIGNAL, k=2, method=method, class_weight="balanced")
    with pytest.raises(th.SettingsError, match="`class_weight` needs rows of one class"):
        th.select(X, rare, k=2, method=method, class_weight="balanced", task="numbers")


def test_a_stream_of_features() -> None:
    stream = th.FeatureStream(X)
    assert str(th.select(stream, SIGNAL, k=2, method="os").loss) == "squared"
    assert th.select(th.FeatureStream(X), THREE, k=2, method="os").classes == [0.0, 1.0, 2.0]


# ── files ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", ["sorted", "last row"])
@pytest.mark.parametrize("method", ["mission", "fgm"])
def test_a_class_that_comes_late(order: str, method: str, tmp_path: Path) -> None:
    rows = np.argsort(THREE, kind="stable")
    if order == "last row":
        rows = rows[: np.sum(THREE < 2) + 1]
    path = write_libsvm(tmp_path / "rows.svm", X[rows], THREE[rows])
    answers = [th.select(path, k=3, method=method, batch_rows=batch_rows) for batch_rows in (7, 8192)]
    assert answers[0].classes == [0.0, 1.0, 2.0]
    same(*answers)
    loss = "softmax" if method == "mission" else "squared_hinge"
    same(answers[0], th.select(path, k=3, method=method, loss=loss))


def test_a_third_label_with_held_out_rows(tmp_path: Path) -> None:
    path = write_libsvm(tmp_path / "rows.svm", X, THREE)
    found = th.select(path, k=3, holdout=0.2)
    same(found, th.select(path, k=3, holdout=0.2, loss="softmax"))
    assert found.provenance["test"]["accuracy"] > 0.5


@pytest.mark.parametrize(("y", "loss"), [(THREE, "softmax"), (SIGNAL, "squared")])
def test_a_fit_is_resumed_with_the_guess_of_its_checkpoint(y: Any, loss: str, tmp_path: Path) -> None:
    path, checkpoint = write_libsvm(tmp_path / "rows.svm", X, y), tmp_path / "run.ckpt"
    whole = th.select(path, k=3, passes=2)
    assert str(whole.loss) == loss
    steps = 0

    def interrupt(progress: th.Progress) -> None:
        nonlocal steps
        steps += not progress.phase and progress.rows > N + N // 2
        if steps:
            raise KeyboardInterrupt

    options = {"k": 3, "passes": 2, "checkpoint": checkpoint, "batch_rows": 100}
    with pytest.raises(KeyboardInterrupt):
        th.select(path, progress=interrupt, **options)
    assert checkpoint.exists()
    phases = set()
    same(th.select(path, progress=lambda progress: phases.add(progress.phase), **options), whole)
    assert "reading labels" not in phases
    assert not checkpoint.exists()


def test_the_checkpoint_of_two_classes_gives_way(tmp_path: Path) -> None:
    y = np.append(SIGNAL[:-1] > 0, 2.0).astype(float)
    path, checkpoint = write_libsvm(tmp_path / "rows.svm", X, y), tmp_path / "run.ckpt"
    once: dict[str, Any] = {"k": 3, "shuffle": False, "passes": 1, "refit": False}
    options = {**once, "checkpoint": checkpoint, "batch_rows": 100}

    def interrupt(progress: th.Progress) -> None:
        if progress.rows > N // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        th.select(path, progress=interrupt, **options)
    assert checkpoint.exists()
    same(th.select(path, **options), th.select(path, **once, loss="softmax"))


# ── data that can be read only once ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["two", "text", "thirty"])
@pytest.mark.parametrize("method", ["mission", "fgm"])
def test_a_pipe_is_decided_by_its_first_rows(kind: str, method: str) -> None:
    y, classes = LABELS[kind]
    answers = [th.select(Once(as_source(X, y)), k=2, method=method, batch_rows=rows) for rows in (7, 8192)]
    same(*answers)
    assert len(answers[0].classes or []) == (classes or 0)


def test_a_third_label_late_in_a_pipe() -> None:
    y = (SIGNAL > 0).astype(float)
    y[ROWS - 1] = 2.0
    assert th.select(Once(as_source(X, y)), k=2).classes == [0.0, 1.0, 2.0]
    y[ROWS - 1 : ROWS + 1] = 0.0, 2.0
    for rows in (7, 8192):
        with pytest.raises(th.DataError, match=r"the label 2 is a third one .*`classes`.*`task=\"numbers\"`"):
            th.select(Once(as_source(X, y)), k=2, batch_rows=rows, shuffle=False)
    assert th.select(Once(as_source(X, y)), k=2, classes=[0, 1, 2]).classes == [0.0, 1.0, 2.0]
    assert str(th.select(Once(as_source(X, y)), k=2, task="numbers").loss) == "squared"
    y[:3], y[ROWS] = (0, 1, 2), 3.0
    with pytest.raises(th.DataError, match=r"none of the known classes.*`classes`"):
        th.select(Once(as_source(X, y)), k=2)
    late = np.where(np.arange(N) < ROWS, SIGNAL > 0, SIGNAL)
    with pytest.raises(th.DataError, match=r"`task=\"numbers\"`"):
        th.select(Once(as_source(X, late)), k=2, method="fgm")


def test_balanced_weights_need_data_that_can_be_read_again() -> None:
    with pytest.raises(th.SettingsError, match="can be read only once"):
        th.select(Once(as_source(X, THREE)), k=2, class_weight="balanced")


# ── the command line and the estimators ──────────────────────────────────────────────────────────


def run(*args: object) -> Any:
    return CliRunner().invoke(make_app(), ["select", *map(str, args)])


def test_the_command_line_names_the_classes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, out = write_libsvm(tmp_path / "rows.svm", X, THREE), tmp_path / "out.thr"
    with caplog.at_level(logging.INFO):
        shown = run(path, "-k", 3, "-o", out)
    assert shown.exit_code == 0, shown.output
    assert "3 classes: 0, 1, 2; for numbers pass" in caplog.text
    same(th.load(out), th.select(path, k=3))
    numbers = run(path, "-k", 3, "--task", "numbers", "-o", out)
    assert numbers.exit_code == 0, numbers.output
    assert th.load(out).classes is None


def test_a_real_pipe(tmp_path: Path) -> None:
    path, pipe = write_libsvm(tmp_path / "rows.svm", X, SIGNAL), tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
    writer.start()
    found = th.select(pipe, k=2, format="libsvm", shuffle=False)
    writer.join()
    same(found, th.select(path, k=2, loss="squared", shuffle=False, passes=1, refit=False))


@pytest.mark.parametrize(
    "estimator", [th.MissionClassifier, th.BudgetedClassifier, th.FGMClassifier, th.SubstitutionClassifier]
)
def test_estimators_and_the_command_line_agree(estimator: Any, tmp_path: Path) -> None:
    path = write_libsvm(tmp_path / "rows.svm", X, THREE)
    model = estimator(k=3).fit(str(path))
    method = {"MissionClassifier": "mission", "BudgetedClassifier": "b-arda", "FGMClassifier": "fgm"}
    out = tmp_path / "out.thr"
    shown = run(path, "-k", 3, "--method", method.get(estimator.__name__, "os"), "-o", out)
    assert shown.exit_code == 0, shown.output
    same(model.selection_, th.load(out))


# ── imbalanced classes ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_show_an_imbalance(classes: int, tmp_path: Path) -> None:
    rare = np.digitize(SIGNAL, [1.4, 9.0][: classes - 1])
    rare[:3] = classes - 1
    shown = run(write_libsvm(tmp_path / "rare.svm", X, rare), "-k", 3, "--holdout", 0.3)
    line = next(line for line in shown.output.splitlines() if line.startswith("held out"))
    assert "balanced accuracy" in line
    assert "largest class 0.8" in line
    assert ("average precision" in line) == (classes == 2)
    even = np.digitize(SIGNAL, [0.0, 0.8][: classes - 1])
    out = tmp_path / "out.thr"
    shown = run(write_libsvm(tmp_path / "even.svm", X, even), "-k", 3, "--holdout", 0.3, "-o", out)
    line = next(line for line in shown.output.splitlines() if line.startswith("held out"))
    assert "balanced" not in line
    assert "average precision" not in line
    scores = th.load(out).provenance["test"]
    assert {"balanced_accuracy", "largest_class"} <= scores.keys()
    assert ("average_precision" in scores) == (classes == 2)
