"""Warnings about labels and about features that decide the label alone: each rule, and just below its threshold."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference.selection.leaks import split_errors as slow_errors
from tests.selection.makers import assert_same
from thresher.core.losses import get_loss
from thresher.core.memory import Watch
from thresher.selection.label_warnings import label_warnings
from thresher.selection.leaks import find_line, find_split, leak_warnings, split_errors
from thresher.sources.base import Wrapped
from thresher.sources.registry import as_source

N = 400
RNG = np.random.default_rng(5)
Y = np.repeat([-1.0, 1.0], [N - 100, 100])
NOISE = RNG.normal(size=(6, N)).astype(np.float32)


def splits(*features, y=Y):
    return find_split(np.array([*features, *NOISE], np.float32), np.asarray(y, float))


def lines(*features, y):
    return find_line(np.array([*features, *NOISE], np.float32), np.asarray(y, float))


def flipped(y, rows: int):
    """The labels as a feature of 0 and 1, wrong in some rows of the smaller class."""
    feature = (np.asarray(y) > 0).astype(np.float32)
    feature[np.flatnonzero(y > 0)[:rows]] = 0
    return feature


# ── features that decide the label alone ─────────────────────────────────────────────────────────


@examples(40)
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2)), min_size=2, max_size=30))
def test_thresholds_as_in_the_slow_form(rows) -> None:
    feature = np.array([value for value, _ in rows], np.float32)
    codes = np.array([code for _, code in rows], np.int64)
    expected = [slow_errors(feature.tolist(), codes == c) for c in range(3)]
    assert split_errors(feature, codes, [0, 1, 2]) == expected


def test_a_leak_is_wrong_in_at_most_a_fiftieth_of_the_smaller_class() -> None:
    for wrong, found in ((0, True), (2, True), (3, False)):
        for feature in (flipped(Y, wrong), -7 * flipped(Y, wrong) + 3):
            split = splits(feature)
            assert (split is not None) == found
            if split is not None:
                assert (split.feature, split.label) == (0, 1)
                assert split.wrong(np.asarray(feature, np.float32), Y) == wrong


def test_a_second_feature_that_nearly_decides_makes_it_ordinary() -> None:
    assert splits(flipped(Y, 0), flipped(Y, 5)) is not None
    assert splits(flipped(Y, 0), flipped(Y, 4)) is None
    assert splits(flipped(Y, 2), flipped(Y, 10)) is not None
    assert splits(flipped(Y, 2), flipped(Y, 9)) is None
    # The other value of a yes-no column is the same feature.
    assert splits(flipped(Y, 0), 1 - flipped(Y, 0)) is not None


def test_fifty_rows_of_each_class() -> None:
    for rows, found in ((50, True), (49, False)):
        y = np.repeat([-1.0, 1.0], [N - rows, rows])
        assert (splits(flipped(y, 0), y=y) is not None) == found


def test_a_class_of_several() -> None:
    y = np.repeat([0.0, 1.0, 2.0], [200, 140, 60])
    split = splits(y == 1, y=y)
    assert split is not None
    assert split.label == 1
    assert splits((y == 2) & (np.arange(N) < N - 1), y=y) is not None
    assert splits((y == 2) & (np.arange(N) < N - 2), y=y) is None


def test_a_number_that_gives_the_target() -> None:
    y = RNG.normal(size=N)
    assert lines(3 * y + 1, y=y) is not None
    assert lines(y + 0.05 * NOISE[0], y=y) is None  # correlation 0.9988
    assert lines(y, y + 0.30 * NOISE[0], y=y) is None  # the next one 0.96
    assert lines(y, y + 0.40 * NOISE[0], y=y) is not None  # the next one 0.93


def test_ordinary_separable_data_is_silent() -> None:
    X = RNG.normal(size=(2000, 20))
    y = X[:, :5].sum(axis=1) > 0
    selection = th.select(X, y, k=8)
    assert "warnings" not in selection.provenance
    assert "warnings" not in th.select(X, X[:, :5].sum(axis=1), k=8, loss="squared").provenance


@pytest.fixture
def leaky(tmp_path):
    """A LIBSVM file whose feature 7 is the label."""
    lines = []
    for _ in range(1500):
        label = int(RNG.random() < 0.3)
        values = " ".join(f"{j}:{RNG.normal():.3f}" for j in (1, 2, 3))
        lines.append(f"{label} {values}{' 7:1' if label else ''}\n")
    path = tmp_path / "rows.svm"
    path.write_text("".join(lines))
    return path


def test_a_leak_is_logged_and_kept_for_any_batch_size(leaky, tmp_path, caplog) -> None:
    first = th.select(leaky, k=3)
    (sentence,) = first.provenance["warnings"]
    assert sentence.startswith(f"{leaky}: the feature '7' decides the label alone (wrong in 0 of 1,500 rows, the next ")
    assert sentence.endswith(" of 1,500). Remove it from the data, unless it is known before the label.")
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [sentence]
    assert_same(first, th.select(leaky, k=3, batch_rows=7))
    first.save(tmp_path / "s.thr")
    assert th.load(tmp_path / "s.thr").provenance["warnings"] == [sentence]


def test_the_first_rows_of_a_file_may_be_special(tmp_path) -> None:
    path = tmp_path / "rows.svm"
    label = RNG.random(5000) < 0.4
    for special, found in ((4096, False), (5000, True)):
        with open(path, "w") as file:
            for row, y in enumerate(label):
                leak = y if row < special else row % 2
                file.write(f"{int(y)} 1:{RNG.normal():.2f} 2:{RNG.normal():.2f}{' 7:1' if leak else ''}\n")
        selection = th.select(path, k=3)
        assert "7" in selection.names
        assert ("warnings" in selection.provenance) == found


def test_one_feature_is_enough_if_the_data_has_others() -> None:
    label = RNG.random(400) < 0.4
    X = np.column_stack([label, RNG.normal(size=(400, 3))])
    assert len(th.select(X, label, k=3, method="fgm", preset="fixed")) == 1
    (sentence,) = th.select(X, label, k=3, method="fgm", preset="fixed").provenance["warnings"]
    assert "'x0' decides the label alone (wrong in 0 of 400 rows)" in sentence
    assert "warnings" not in th.select(X, label, k=1, method="fgm").provenance
    assert "warnings" not in th.select(X[:, :1], label, k=3).provenance


def test_a_number_that_gives_the_target_is_warned_of() -> None:
    X = RNG.normal(size=(6000, 4))
    (sentence,) = th.select(X, 2 * X[:, 1] + 0.01 * X[:, 2], k=3, loss="squared").provenance["warnings"]
    assert "the feature 'x1' gives the target alone (correlation 1.0000, the next feature 0.0" in sentence


def test_rows_in_memory_may_be_sorted_by_class() -> None:
    y = np.repeat([0, 1], 5000)
    X = np.column_stack([RNG.normal(size=(10_000, 3)), y])
    (sentence,) = th.select(X, y, k=4).provenance["warnings"]
    assert "'x3' decides the label alone" in sentence


def test_how_to_leave_the_feature_out_depends_on_the_data(tmp_path) -> None:
    label = RNG.random(600) < 0.4
    kind = np.where(label, RNG.choice(["a", "b"], 600), "c")  # not one-to-one, so only the answer shows the leak
    rows = [f"{int(y)},{k},{RNG.normal():.3f}\n" for y, k in zip(label, kind, strict=True)]
    (tmp_path / "t.csv").write_text("y,kind,x\n" + "".join(rows))
    (sentence,) = th.select(tmp_path / "t.csv", target="y", k=4).provenance["warnings"]
    assert "'kind=c' decides the label alone" in sentence
    assert "Ignore its column (`ignored=['kind']`)" in sentence
    words = [f"{int(y)},{'refunded' if y else ''} {RNG.choice(['red', 'blue', 'big'])} box\n" for y in label]
    (tmp_path / "w.csv").write_text("y,t\n" + "".join(words))
    (sentence,) = th.select(tmp_path / "w.csv", target="y", text="t", k=4).provenance["warnings"]
    assert "'refunded' decides" in sentence
    assert "(`stop`)" in sentence


def test_features_without_a_name_of_their_own_are_not_leaks(leaky) -> None:
    hashed = th.select(leaky, k=3, method="hashing", memory="4MB")
    assert not list(leak_warnings(hashed, as_source(leaky), Watch()))


# ── labels ───────────────────────────────────────────────────────────────────────────────────────


def labels_of(y, loss, *, online=True):
    return list(label_warnings(as_source(np.ones((len(y), 1)), y), get_loss(loss), online=online))


def test_few_whole_numbers_may_be_classes() -> None:
    stars = np.arange(300) % 5
    (found,) = labels_of(stars, "squared")
    assert found.endswith(
        "the target has only the 5 values 0, 1, 2, 3 and 4 (first 300 rows), which the squared loss takes as numbers. "
        "If they are classes, choose another loss (`loss='softmax'`)."
    )
    assert "`loss='squared_hinge'`" in labels_of(stars, "squared", online=False)[0]
    assert labels_of(np.arange(300) % 20, "huber")
    assert not labels_of(np.arange(300) % 21, "squared")
    assert not labels_of(np.arange(300) % 2, "squared")
    assert not labels_of(stars / 2, "squared")
    assert not labels_of(stars[:99], "squared")
    assert not labels_of(stars, "softmax")


def test_many_numbers_may_be_quantities() -> None:
    (found,) = labels_of(np.arange(300) / 4, "softmax")
    assert "the labels are 300 different numbers (first 300 rows), such as 0, 0.25 and 0.5" in found
    assert found.endswith("choose another loss (`loss='squared'`).")
    assert labels_of(np.arange(300) % 10 + 0.5, "softmax")
    assert not labels_of(np.arange(300) % 9 + 0.5, "softmax")
    assert labels_of(np.arange(300) * 11, "softmax")
    assert not labels_of(np.arange(300) * 10, "softmax")
    assert not labels_of(np.arange(300) % 150 * 99, "softmax")
    prices = np.arange(300) * 250
    assert labels_of(prices, "squared_hinge", online=False)
    assert not labels_of(prices, "logistic")  # a third label is an error there
    assert not labels_of(np.array([str(i) for i in range(300)], object), "softmax")


def test_labels_are_warned_of_before_the_fit(caplog) -> None:
    X = RNG.normal(size=(300, 3))
    stars = np.arange(300) % 5
    selection = th.select(X, stars, k=2, loss="squared")
    (sentence,) = selection.provenance["warnings"]
    assert "takes as numbers" in sentence
    assert sentence in caplog.text
    assert "warnings" not in th.select(X, stars, k=2, loss="softmax").provenance
    quarters = np.arange(300) % 12 / 4
    assert "warnings" in th.select(X, quarters, k=2, loss="softmax").provenance
    assert "warnings" not in th.select(X, quarters, k=2, loss="softmax", classes=quarters[:12]).provenance


def test_a_pipe_is_not_read_for_warnings(leaky) -> None:
    class Pipe(Wrapped):
        def __init__(self, source) -> None:
            super().__init__(source)
            self.rewindable = False

        def _with(self, source):
            return Pipe(source)

        def _read(self, *arguments):
            raise AssertionError("read")

    pipe = Pipe(as_source(leaky))
    assert not list(leak_warnings(th.select(leaky, k=3), pipe, Watch()))
    assert not list(label_warnings(pipe, get_loss("squared"), online=True))
