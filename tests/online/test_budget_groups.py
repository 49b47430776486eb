"""Groups of features in budgeted methods: listed, from the source, resumed, and rejected settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.online.test_engine import ROWS, assert_same, learned, whole_batch
from tests.streams import planted
from thresher.errors import SettingsError
from thresher.online.engine import OnlineEngine, OnlineSettings

METHODS: tuple[dict[str, Any], ...] = (
    {"method": "b-arda"},
    {"method": "b-arda", "eta": 0.3, "lam": 0.01},
    {"method": "b-amd", "eta": 0.3},
    {"method": "b-amd", "lam": 0.01},
)


def grouped_rows(rows: int = 2000, groups: int = 20) -> tuple[Any, Any]:
    """Groups of four columns; the target depends on all columns of groups 3 and 11."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 4 * groups)).astype(np.float32)
    y = np.where(x[:, 12:16].sum(axis=1) - x[:, 44:48].sum(axis=1) > 0, 1, -1)
    return x, y


def test_groups_are_kept_whole() -> None:
    x, y = grouped_rows()
    groups = np.arange(80) // 4
    found = th.select(x, y, k=2, method="b-arda", groups=groups)
    assert sorted(found.keys.tolist()) == [*range(12, 16), *range(44, 48)]
    assert sorted(found.provenance["groups"]) == [3, 11]
    classifier = th.BudgetedClassifier(k=2, groups=th.Groups(groups)).fit(x, y)
    np.testing.assert_array_equal(classifier.coef_[0], found.weights)
    assert classifier.score(x, y) > 0.9
    assert all(len(kept) <= 2 for kept in classifier.history_.kept)
    regressor = th.BudgetedRegressor(k=1, groups=groups, passes=3).fit(x, x[:, 12:16].sum(axis=1))
    assert sorted(regressor.selection_.keys.tolist()) == [12, 13, 14, 15]


def test_mirror_descent_drops_whole_groups() -> None:
    x, y = grouped_rows()
    found = th.select(x, y, k=6, method="b-amd", groups=np.arange(80) // 4, passes=2)
    assert {3, 11} <= set(found.provenance["groups"])
    assert len(found.provenance["groups"]) == 6
    assert set((found.keys // np.uint64(4)).tolist()) == set(found.provenance["groups"])


@pytest.mark.parametrize("case", METHODS, ids=str)
def test_batches_and_a_resume_make_no_difference(case: dict[str, Any]) -> None:
    keys = np.unique(whole_batch({}).keys)
    groups = th.Groups([keys[i::20] for i in range(20)])
    case = {**case, "groups": groups}
    whole = learned([0, ROWS], **case)
    assert_same(learned([0, 3, 77, ROWS], **case), whole)
    half = learned([0, 101], **case)
    again = OnlineEngine.from_state(half.settings, half.state())
    assert_same(again, half)
    learned([101, ROWS], again)
    assert_same(again, whole)
    assert 0 < whole.count() <= 7


def test_namespaces_of_a_file_are_groups(tmp_path: Path) -> None:
    x, y = planted(rows=1500, width=40, support=(3, 4))
    path = tmp_path / "rows.vw"
    lines = []
    for row, label in zip(np.asarray(x.todense()), y, strict=True):
        spaces = {s: [f"c{j}:{row[j]:.4f}" for j in range(5 * s, 5 * s + 5) if row[j]] for s in range(8)}
        lines.append(
            f"{label:g} |x one " + " ".join(f"|s{s} {' '.join(words)}" for s, words in spaces.items() if words)
        )
    path.write_text("\n".join(lines) + "\n")
    found = th.select(path, k=1, method="b-arda", groups="source")
    assert found.provenance["groups"] == ["s0^"]
    assert {f"s0^c{j}" for j in (3, 4)} <= set(found.names) <= {f"s0^c{j}" for j in range(5)}
    found.save(tmp_path / "found.thr")
    np.testing.assert_array_equal(th.load(tmp_path / "found.thr").weights, found.weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "ofs"}, "b-arda or b-amd"),
        ({"method": "b-arda", "per_class": True}, "all classes together"),
        ({"method": "b-arda", "sketch": (1, 8)}, "leave out `sketch`"),
        ({"method": "b-arda", "groups": "columns"}, "groups must be"),
        ({"method": "b-arda", "groups": th.Groups([[1, 2], [2]], overlap=True)}, "must not overlap"),
    ],
)
def test_invalid_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        OnlineSettings(k=1, **{"groups": th.Groups([[1, 2]]), **options})


def test_groups_that_do_not_fit_the_data(tmp_path: Path) -> None:
    x, y = grouped_rows(50)
    for options, message in (
        ({"groups": np.arange(81) // 4}, "the data has columns 0 to 79"),
        ({"groups": [[0], [1]], "k": 3}, "`k=3` exceeds the number of groups, 2"),
        ({"groups": "source"}, "this data has none"),
        ({"groups": [[0]], "interactions": 2}, "leave out `interactions`"),
        ({"groups": [[0]], "method": "fgm"}, "fgm has no setting `groups`"),
    ):
        with pytest.raises(SettingsError, match=message):
            th.select(x, y, **{"k": 1, "method": "b-arda", **options})
    path = tmp_path / "groups.txt"
    path.write_text("# two\n0 1\n2, three\n")
    with pytest.raises(SettingsError, match=r"line 3: 'three' is not a column"):
        th.select(x, y, k=1, method="b-arda", groups=path)
    named = tmp_path / "rows.vw"
    named.write_text("1 | a b\n-1 | c\n")
    with pytest.raises(SettingsError, match="features of this data have names"):
        th.select(named, k=1, method="b-arda", groups=[[0]])
