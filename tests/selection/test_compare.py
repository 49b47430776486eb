"""Comparison of selections: against sets and SciPy, for classes, terms and names, and as text."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

import thresher as th
from tests.cli.test_commands import run
from tests.selection.makers import make
from thresher.core.feature_space import FeatureSpace
from thresher.core.terms import Expansion, Term
from thresher.report.comparison import comparison_lines
from thresher.selection.compare import nested_sizes

CLASSES = ("a", "b", "c")


@st.composite
def selections(draw):
    """Two or three selections over few keys, in an order of their own, with weights of any sign."""
    made = []
    for _ in range(draw(st.integers(2, 3))):
        keys = draw(st.lists(st.integers(0, 14), unique=True, max_size=12))
        signs = draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=len(keys), max_size=len(keys)))
        weights = np.array(signs) * np.arange(len(keys), 0, -1)
        made.append(make(weights, keys=keys, names=[f"n{key}" for key in keys]))
    return made


@given(selections())
def test_it_agrees_with_sets_and_scipy(made) -> None:
    found = th.compare(*made)
    keys = [one.keys.tolist() for one in made]
    weights = [dict(zip(k, one.weights.tolist(), strict=True)) for k, one in zip(keys, made, strict=True)]
    labels = "ABC"[: len(made)]
    every = set().union(*keys)
    assert sorted(found.keys.tolist()) == sorted(every)
    assert set(found.common) == {f"n{key}" for key in set.intersection(*map(set, keys))}
    for at, label in enumerate(labels):
        others = set().union(*(k for i, k in enumerate(keys) if i != at))
        assert set(found.only[label]) == {f"n{key}" for key in set(keys[at]) - others}
    assert [found.ranks[:, i][found.ranks[:, i] > 0].min() for i in range(len(every))] == sorted(
        min(k.index(key) + 1 for k in keys if key in k) for key in every
    )
    for pair in found.pairs:
        i, j = map(labels.index, pair.labels)
        a, b = keys[i], keys[j]
        common = [key for key in a if key in b]
        assert pair.common == len(common)
        assert pair.only == (len(a) - len(common), len(b) - len(common))
        assert pair.jaccard == (len(common) / len({*a, *b}) if a or b else 1.0)
        for k, jaccard in pair.jaccard_by_k.items():
            assert jaccard == len({*a[:k]} & {*b[:k]}) / len({*a[:k]} | {*b[:k]})
        assert list(pair.jaccard_by_k) == nested_sizes(min(len(a), len(b)))
        if len(common) < 2:
            assert pair.rank_correlation is None
        else:
            slow = spearmanr([a.index(key) for key in common], [b.index(key) for key in common]).statistic
            assert pair.rank_correlation == pytest.approx(slow)
        assert pair.sign_changes == sum(weights[i][key] * weights[j][key] < 0 for key in common)
    json.dumps(found.to_dict(), allow_nan=False)
    assert all(len(line) <= 80 for line in comparison_lines(found, 10))


def test_the_sizes_of_nested_selections() -> None:
    assert nested_sizes(0) == []
    assert nested_sizes(1) == [1]
    assert nested_sizes(5) == [1, 2, 5]
    assert nested_sizes(130) == [1, 2, 5, 10, 20, 50, 100, 130]


def test_a_comparison_says_what_it_found() -> None:
    a, b = make([3.0, 2.0, 1.0], keys=[1, 2, 3]), make([3.0, -2.0], keys=[2, 1])
    found = th.compare(a, b)
    shown = "<Comparison of A (3 features), B (2 features): 2 common, Jaccard 0.667, rank correlation -1.000, "
    assert repr(found) == f"{shown}1 sign changes>"
    assert found.sign_changes == ["f0"]
    np.testing.assert_array_equal(found.ranks, [[1, 2, 3], [2, 1, 0]])
    assert "mean Jaccard" in repr(th.compare(a, b, a))


def test_with_several_classes_signs_are_those_of_the_classes_that_both_have() -> None:
    weights = np.array([[4.0, 1.0], [-3.0, 1.0], [0.0, 1.0]])
    a = make(weights, intercept=np.zeros(3), loss="softmax", classes=CLASSES)
    flipped = weights * [[1.0], [1.0], [-1.0]]
    b = make(flipped, intercept=np.zeros(3), loss="softmax", classes=("a", "b", "d"))
    assert th.compare(a, b).pairs[0].sign_changes == 0  # class c is not in b
    same = replace(b, classes=list(CLASSES))
    assert th.compare(a, same).sign_changes == ["f1"]  # a weight of zero has no sign
    np.testing.assert_allclose(th.compare(a, b).weights[0], [5.0, np.sqrt(3.0)])
    other = replace(b, classes=["x", "y", "z"])
    assert th.compare(a, other).pairs[0].sign_changes is None


def test_signs_are_not_compared_between_different_predictions() -> None:
    a, numbers = make([1.0]), make([-1.0], loss="squared")
    assert th.compare(a, make([-1.0], classes=(0.0, 2.0))).sign_changes is None
    assert th.compare(a, numbers).sign_changes is None
    assert th.compare(numbers, make([1.0], loss="squared")).sign_changes == ["f0"]
    assert "sign" not in repr(th.compare(a, numbers))


def test_a_name_that_one_selection_does_not_know_comes_from_another() -> None:
    a, b = make([2.0, 1.0], keys=[7, 9], names=["#7", "#9"]), make([1.0], keys=[7], names=["seven"])
    assert th.compare(a, b).names == ["seven", "#9"]


def test_terms_are_the_same_if_their_parts_are() -> None:
    def expanded(*terms: Term) -> FeatureSpace:
        return FeatureSpace("column", 10).expanded(Expansion(terms))

    a = make([2.0, 1.0], keys=[3, 12], space=expanded(Term(12, (1, 2))), names=["x3", "x1 × x2"])
    b = make([2.0, 1.0], keys=[11, 12], space=expanded(Term(11, (1, 2)), Term(12, (1, 3))), names=["p", "q"])
    assert th.compare(a, b).common == ["x1 × x2"]
    plain = make([1.0], keys=[3], space=FeatureSpace("column", 10), names=["x3"])
    assert th.compare(a, plain).common == ["x3"]


def test_other_features_are_refused() -> None:
    a = make([1.0], space=FeatureSpace("column", 5))
    with pytest.raises(th.SpaceError, match=r"features of A are columns by position .* those of C are hashed names"):
        th.compare(a, a, make([1.0]))
    with pytest.raises(th.SpaceError, match="Compare selections from the same kind of data"):
        th.compare(a, make([1.0], space=FeatureSpace("column", 6)))
    with pytest.raises(th.SettingsError, match="at most 26"):
        th.compare(*[a] * 27)


def test_the_command(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 40))
    y = (X[:, :3].sum(axis=1) > 0).astype(int)
    paths = [tmp_path / "one.thr", tmp_path / "two.thr"]
    for path, rows in zip(paths, (slice(0, 300), slice(300, 600)), strict=True):
        th.select(X[rows], y[rows], k=6, passes=2, refit=False).save(path)
    shown = run("compare", *paths, "--top", 4)
    assert shown.exit_code == 0, shown.output
    assert "rank correlation" in shown.output
    assert "6 features by mission, 600 rows" in shown.output
    assert shown.output.rstrip().splitlines()[-1].startswith("… and ")
    assert max(map(len, shown.output.splitlines())) <= 80
    whole = json.loads(run("compare", *paths, *paths, "--format", "json").output)
    assert len(whole["pairs"]) == 6
    assert {"x0", "x1", "x2"} <= {feature["name"] for feature in whole["features"] if all(feature["ranks"])}
    out = tmp_path / "out.txt"
    assert run("compare", *paths, "--top", 4, "-o", out).exit_code == 0
    assert out.read_text() == shown.output


def test_many_selections_fit_eighty_columns(capsys) -> None:
    made = [make([3.0, 2.0, 1.0], names=["x" * 200, "y", "z"]) for _ in range(26)]
    lines = list(comparison_lines(th.compare(*made), 3))
    assert max(map(len, lines)) <= 80
    assert any("pairs more" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("a.thr",), "two or more"), (("a.thr", "b.thr", "--format", "xml"), "table or json")],
)
def test_mistakes(arguments, message) -> None:
    shown = run("compare", *arguments)
    assert shown.exit_code == 2
    assert message in shown.output


def test_top_must_not_be_negative(tmp_path) -> None:
    shown = run("compare", tmp_path / "a.thr", tmp_path / "b.thr", "--top", -1)
    assert shown.exit_code == 2
    assert "--top must be at least 0" in shown.output
