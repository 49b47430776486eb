"""``k="auto"``: the rule, the folds, the same answer as with the number, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.cli.test_commands import run
from tests.streams import planted, write_vw
from thresher.choose_k import Curve, Point, one_standard_error
from thresher.core.losses import get_loss
from thresher.refit import Columns, Model, choose_refit, held_out_loss, row_losses
from thresher.sources.registry import as_source
from thresher.sources.transforms.holdout import HeldOut, Split

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 40))
Y = (X[:, :4].sum(axis=1) + 0.3 * RNG.normal(size=700) > 0).astype(int)
CLASSES = np.digitize(X[:, :2].sum(axis=1), [-1.0, 1.0])


def chosen(found: th.Selection) -> int:
    assert found.k_curve is not None
    return int(found.k_curve["chosen"])


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 2)), min_size=1, max_size=8))
def test_the_rule_takes_the_fewest_within_one_standard_error(numbers: list[tuple[float, float]]) -> None:
    points = tuple(Point(k + 1, *of) for k, of in enumerate(numbers))
    k = one_standard_error(points)
    least = min(points, key=lambda point: point.loss)
    assert points[k - 1].loss <= least.loss + least.standard_error
    assert all(point.loss > least.loss + least.standard_error for point in points[: k - 1])
    curve = Curve(points, 99, 10, 1)
    assert curve.to_dict()["chosen"] == k
    json.dumps(curve.to_dict())


@pytest.mark.parametrize("method", ["mission", "b-arda", "iht", "l1-arda", "fgm"])
def test_the_answer_is_that_of_the_number(method: str) -> None:
    more = {} if method == "fgm" else {"passes": 2}
    auto = th.select(X, Y, k="auto", method=method, **more)
    plain = th.select(X, Y, k=chosen(auto), method=method, **more)
    np.testing.assert_array_equal(auto.keys, plain.keys)
    np.testing.assert_array_equal(auto.weights, plain.weights)
    np.testing.assert_array_equal(auto.intercept, plain.intercept)
    assert auto.settings == plain.settings
    assert 4 <= chosen(auto) <= 10
    assert {"x0", "x1", "x2", "x3"} <= set(auto.names)


def test_several_classes_and_numbers() -> None:
    auto = th.select(X, CLASSES, k="auto", passes=2)
    assert chosen(auto) == 2
    assert set(auto.names) == {"x0", "x1"}
    numbers = th.select(X, 3 * X[:, 5] - 2 * X[:, 6] + 0.1 * RNG.normal(size=700), k="auto", method="fgm")
    assert numbers.names == ["x5", "x6"]


def test_the_curve_does_not_depend_on_the_batches_and_is_saved(tmp_path: Path) -> None:
    found = [th.select(X, Y, k="auto", passes=1, k_max=20, batch_rows=rows) for rows in (17, 700)]
    assert found[0].k_curve == found[1].k_curve
    assert found[0].k_curve is not None
    assert [point["k"] for point in found[0].k_curve["points"]] == [1, 2, 5, 10, 20]
    assert found[0].k_curve["rows"] == 700  # each row is held out once
    assert found[0].k_curve["folds"] == 5
    found[0].save(tmp_path / "auto.thr")
    assert th.load(tmp_path / "auto.thr").k_curve == found[0].k_curve
    shown = run("inspect", tmp_path / "auto.thr").output
    assert f"{chosen(found[0])} of at most 20, by the loss of 700 held-out rows, in 5 parts" in shown
    assert shown.count("±") == 5
    assert "chosen: the " in shown
    plain = th.select(X, Y, k=4, passes=1)
    assert plain.k_curve is None


def test_estimators_choose_the_same() -> None:
    for model, method in (
        (th.MissionClassifier(k="auto", k_max=20, passes=1), "mission"),
        (th.FGMClassifier(k="auto", k_max=20), "fgm"),
    ):
        more = {"passes": 1} if method == "mission" else {}
        found = th.select(X, Y, k="auto", k_max=20, method=method, **more)
        selection = model.fit(X, Y).selection_
        np.testing.assert_array_equal(selection.weights, found.weights)
        assert selection.k_curve == found.k_curve
    with pytest.raises(th.SettingsError, match="pass a number as `k`, or use fit"):
        th.BudgetedClassifier(k="auto").partial_fit(X, Y, classes=[0, 1])


def test_the_command_line(tmp_path: Path) -> None:
    rows, labels = planted(rows=600)
    path = write_vw(tmp_path / "rows.vw", rows, labels)
    shown = run("select", path, "-k", "auto", "--k-max", 50, "--passes", 1, "-o", tmp_path / "out.thr")
    assert shown.exit_code == 0, shown.output
    found = th.load(tmp_path / "out.thr")
    assert len(found) <= chosen(found) <= 50
    assert run("plan", path, "-k", "auto", "--k-max", 50).exit_code == 0
    for arguments, message in (
        (("-k", "all"), '-k must be an integer of at least 1 or "auto", got'),
        (("-k", 5, "--k-max", 50), "--k-max is the most that -k auto may choose"),
        (("-k", "auto", "--k-max", 0), "--k-max must be an integer of at least 1"),
        (("-k", "auto", "--method", "os"), "os has no -k auto"),
        (("-k", "auto", "--method", "hashing"), "hashing selects no features"),
        (("-k", "auto", "--method", "b-arda", "--groups", "source"), "groups"),
    ):
        shown = run("select", path, *arguments)
        assert shown.exit_code == 2, shown.output
        assert message in shown.output


def test_what_has_no_nested_selections_is_refused() -> None:
    with pytest.raises(th.SettingsError, match="leave out `per_class`"):
        th.select(X, CLASSES, k="auto", per_class=True)
    with pytest.raises(th.SettingsError, match="the linear `family`"):
        th.select(X, Y, k="auto", method="fgm", family="polynomial:2")
    with pytest.raises(th.SettingsError, match="there are too few"):
        th.select(X[:12], Y[:12], k="auto")


def test_products_are_ranked_and_refitted() -> None:
    small = (RNG.random((500, 12)) < 0.4).astype(np.float32)
    labels = (small[:, 0] * small[:, 1] > 0).astype(int)
    found = th.select(small, labels, k="auto", interactions=2, passes=2, k_max=20)
    assert found.names[0] == "x0 × x1"
    assert chosen(found) <= 5


def test_little_memory_ranks_fewer_features(tmp_path: Path) -> None:
    rows, labels = planted(rows=300)
    path = write_vw(tmp_path / "rows.vw", rows, labels)  # the number of possible features is not known
    found = th.select(path, k="auto", memory="4MB", passes=1)
    assert found.k_curve is not None
    assert found.k_curve["k_max"] == (4 << 20) // (8 * 512)


def test_folds_are_disjoint_and_hold_every_row_once() -> None:
    source = as_source(X, Y)
    parts = []
    for fold in range(5):
        made = [HeldOut(source, 0.2, held=held, seed=3, split=Split.FOLDS, start=fold / 5) for held in (True, False)]
        held, rest = (
            [row.tobytes() for batch, _ in one.batches() for row in batch.values.reshape(-1, 40)] for one in made
        )
        assert len(held) + len(rest) == len(X)
        assert not set(held) & set(rest)
        parts += held
        assert (
            made[0].fingerprint() != HeldOut(source, 0.2, held=True, seed=3, split=Split.FOLDS, start=0.9).fingerprint()
        )
    assert len(set(parts)) == len(parts) == len(X)


def test_the_losses_of_rows_have_the_mean_that_passes_are_compared_by() -> None:
    margins, weight = RNG.normal(size=(300, 3)), RNG.random(300)
    y = RNG.integers(0, 3, 300).astype(float)
    softmax, logistic = get_loss("softmax"), get_loss("logistic")
    losses, _ = row_losses(softmax, margins, y, weight, False)
    assert np.average(losses, weights=weight) == pytest.approx(held_out_loss(softmax, margins, y, weight), rel=1e-6)
    sign = np.where(y > 0, 1.0, -1.0)
    losses, _ = row_losses(logistic, margins[:, 0], sign, weight, False)
    assert np.average(losses, weights=weight) == pytest.approx(
        held_out_loss(logistic, margins[:, 0], sign, weight), rel=1e-6
    )


def test_the_first_columns() -> None:
    dense = np.where(RNG.random((30, 6)) < 0.5, RNG.normal(size=(30, 6)), 0.0).astype(np.float32)
    rows, columns = np.nonzero(dense)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=30))])
    y = np.where(dense[:, 0] > 0, 1.0, -1.0)
    whole = Columns(indptr, columns.astype(np.uint32), dense[rows, columns], y, np.ones(30), 6)
    part = whole.first(2)
    weights = np.array([1.5, -2.0])
    np.testing.assert_allclose(part.margins(weights, np.zeros(1)), dense[:, :2] @ weights, rtol=1e-6)
    assert whole.first(6) is whole
    assert choose_refit(part, part, Model(get_loss("logistic"), 1, False, True)) is not None
