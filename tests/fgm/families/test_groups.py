"""Groups and trees of features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.fgm.families.helpers import same_model
from tests.reference.fgm import working_set as reference
from thresher import _native
from thresher.columns.in_memory import InMemoryColumns
from thresher.fgm.families.parse import as_family_spec

POOL = _native.ThreadPool(2)


def built(groups: th.Groups, x: Any, power: float = 1.0) -> Any:
    """The family of these groups over the columns of ``x``."""
    spec = as_family_spec(groups)
    assert spec is not None
    columns = InMemoryColumns(_native.DenseColumns64(np.ascontiguousarray(x)), POOL, power=power)
    return spec.build(columns)


def test_group_scores_are_sums_of_squares() -> None:
    rng = np.random.default_rng(0)
    x, residual = rng.normal(size=(50, 12)), rng.normal(size=50)
    x = x.astype(np.float32).astype(np.float64)
    for groups in ([[0, 1, 2], [5], [7, 8], [3, 4, 6]], [[0, 1], [1, 2, 3], [3]]):
        single = reference.scores(x, residual, power=0.0)
        expected = np.array([single[group].sum() for group in groups])
        for by_size in (False, True):
            family = built(th.Groups(groups, overlap=True, by_size=by_size), x, power=0.0)
            scores = expected / [len(group) for group in groups] if by_size else expected
            (found,) = family.top(residual[None, :], 2)
            assert found.ids.tolist() == reference.best(scores, 2)
            assert np.allclose(found.scores, np.sort(scores)[::-1][:2])


def test_a_group_is_selected_as_a_whole() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 90))
    y = np.sign(x[:, 9:12].sum(axis=1) - x[:, 30:33].sum(axis=1))
    numbers = np.arange(90) // 3
    found = th.select(x, y, k=2, method="fgm", preset="fixed", family=th.Groups(numbers))
    assert sorted(found.keys.tolist()) == [9, 10, 11, 30, 31, 32]
    lists = th.Groups([list(range(3 * g, 3 * g + 3)) for g in range(30)])
    again = th.select(x, y, k=2, method="fgm", preset="fixed", family=lists)
    assert found.weights.tolist() == again.weights.tolist()


def test_an_overlapping_feature_has_the_sum_of_its_weights() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 5)).astype(np.float32)
    y = np.sign(x[:, 0] + x[:, 1] + x[:, 2])
    settings = {"k": 2, "B": 2, "method": "fgm", "preset": "fixed", "scale": None, "inner_tol": 1e-12}
    found = th.select(x, y, family=th.Groups([[0, 1], [1, 2]], overlap=True), **settings)
    # The same as repeating the middle one of three columns.
    twice = th.select(x[:, [0, 1, 1, 2]], y, family=th.Groups([[0, 1], [2, 3]]), **settings)
    theirs = dict(zip(twice.keys.tolist(), twice.weights, strict=True))
    mine = dict(zip(found.keys.tolist(), found.weights, strict=True))
    assert np.allclose([mine[0], mine[1], mine[2]], [theirs[0], theirs[1] + theirs[2], theirs[3]], atol=1e-6)


@st.composite
def trees(draw: Any) -> tuple[int, list[list[int]]]:
    """A random tree of groups: the set of all columns, split recursively."""
    size = draw(st.integers(2, 30))
    groups, waiting = [], [list(range(size))]
    while waiting:
        part = waiting.pop()
        if draw(st.booleans()) or not groups:
            groups.append(part)
        if len(part) > 1:
            cut = draw(st.integers(1, len(part) - 1))
            waiting += [part[:cut], part[cut:]]
    return size, [list(group) for group in draw(st.permutations(groups))]


@examples(80)
@given(trees(), st.integers(1, 6), st.integers(0, 100))
def test_a_tree_s_analysis_is_the_exhaustive_one(tree: Any, limit: int, seed: int) -> None:
    size, groups = tree
    rng = np.random.default_rng(seed)
    x, residuals = rng.normal(size=(20, size)), rng.normal(size=(1, 20))
    family = built(th.Tree(groups), x)
    (found,) = family.top(residuals, limit)
    (exhaustive,) = built(th.Groups(groups, overlap=True), x).top(residuals, limit)
    assert np.allclose(found.scores, exhaustive.scores, rtol=1e-12)
    assert found.ids.tolist() == exhaustive.ids.tolist()
    assert family.visited <= len(groups)


def test_a_tree_s_analysis_prunes_most_of_it() -> None:
    leaves = 256
    groups = [list(range(a, a + w)) for w in (64, 16, 4, 1) for a in range(0, leaves, w)]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, leaves))
    family = built(th.Tree(groups), x)
    family.top((x[:, 7] * 5.0 + 0.1 * rng.normal(size=300))[None, :], 3)
    assert family.visited < len(groups) / 4


def test_groups_are_checked_against_the_data_first() -> None:
    x, y = np.zeros((4, 3)), np.array([0, 1, 0, 1])
    with pytest.raises(th.SettingsError, match="group 1 contains column 3, but the data has columns 0 to 2"):
        th.select(x, y, k=1, method="fgm", preset="fixed", family=th.Groups([[0], [3]]))
    with pytest.raises(th.SettingsError, match="`k=3` exceeds the number of groups, 2"):
        th.select(x, y, k=3, method="fgm", preset="fixed", family=th.Groups([[0], [1]]))


@pytest.mark.parametrize("make", [th.Groups, th.Tree])
def test_out_of_core_equals_in_memory_bitwise(make: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    lines = []
    for i in range(400):
        keys = np.unique(rng.integers(0, 300, 40))
        row = " ".join(f"{key}:{1 + key % 4}" for key in keys)
        lines.append(f"{i % 3 if set(range(40, 44)) & set(keys.tolist()) else 0} {row}")
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(lines) + "\n")
    given = {"k": 3, "B": 1, "method": "fgm", "preset": "fixed", "family": make(np.arange(300).reshape(-1, 4).tolist())}
    whole = th.select(path, class_weight={1: 2.0}, **given)
    again = th.select(path, class_weight={1: 2.0}, memory="600KB", batch_rows=17, n_jobs=1, **given)
    assert (
        again.provenance["plan"]["columns"] != whole.provenance["plan"]["columns"]
    )  # out of core: the memory available
    assert same_model(again, whole)
