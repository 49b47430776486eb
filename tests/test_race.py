"""`method="auto"`: methods race on a sample, and the best one learns all rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import thresher as th
from thresher.cli.main import make_app
from thresher.errors import DataError, SettingsError
from thresher.race import CONTENDERS, cost
from thresher.sources.registry import as_source
from thresher.sources.transforms.sample import take_sample

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(600, 30)).astype(np.float32)
Y = X[:, 3] - X[:, 9] + 0.3 * RANDOM.normal(size=600) > 0


def test_the_best_of_a_sample_learns_all_rows() -> None:
    found = th.select(X, Y, k=4, method="auto")
    race = found.provenance["race"]
    methods = [entry["method"] for entry in race["methods"]]
    assert methods == [*CONTENDERS, "sparse-rf"]
    costs = {entry["method"]: cost(entry["scores"])[1] for entry in race["methods"]}
    assert race["chosen"] == min(CONTENDERS, key=costs.__getitem__) == found.settings["method"]
    assert {"x3", "x9"} <= set(found.names)
    alone = th.select(X, Y, k=4, method=race["chosen"])
    assert alone.weights.tobytes() == found.weights.tobytes()


def test_the_choice_is_the_same_each_time() -> None:
    one, other = (th.select(X, Y, k=4, method="auto", random_state=1).provenance["race"] for _ in range(2))
    assert one["chosen"] == other["chosen"]
    assert [e["scores"] for e in one["methods"]] == [e["scores"] for e in other["methods"]]


def test_test_rows_are_no_part_of_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    from thresher import race

    seen: list[int] = []
    monkeypatch.setattr(race, "take_sample", lambda source, seed, **how: _noted(seen, source, seed, **how))
    found = th.select(X, Y, k=4, method="auto", holdout=0.2)
    tested = found.provenance["test"]["rows"]
    assert seen == [600 - tested]
    assert found.provenance["race"]["rows"] == 600 - tested


def _noted(seen: list[int], source: Any, seed: int, **how: int) -> Any:
    sample = take_sample(source, seed, **how)
    seen.append(len(sample.order))
    return sample


def test_a_sample_is_bounded_and_mixed(tmp_path: Path) -> None:
    path = tmp_path / "sorted.svm"
    path.write_text("".join(f"{1 if i < 20_000 else -1} {i + 1}:1 7:2\n" for i in range(40_000)))
    source = as_source(path)
    few_rows = take_sample(source, 0, rows=1000, values=1 << 20)
    assert 400 < len(few_rows.order) <= 1000
    few_values = take_sample(source, 0, rows=1000, values=500)
    assert 200 < few_values.batch.nnz <= 500
    share = float((few_rows.batch.y == 1).mean())
    assert 0.3 < share < 0.7
    assert np.array_equal(take_sample(source, 0, rows=1000, values=1 << 20).batch.keys, few_rows.batch.keys)


def test_numbers_and_several_classes() -> None:
    numbers = th.select(X, X[:, 3] - X[:, 9] + 0.1 * RANDOM.normal(size=600), k=4, method="auto")
    assert all("rmse" in entry["scores"] for entry in numbers.provenance["race"]["methods"])
    several = th.select(X, np.digitize(X[:, 3], [-0.5, 0.5]), k=4, method="auto")
    assert several.classes is not None
    assert len(several.classes) == 3


def test_the_command_shows_the_race(tmp_path: Path) -> None:
    rows = "".join(
        f"{1 if y else -1} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x)) + "\n"
        for x, y in zip(X, Y, strict=True)
    )
    (tmp_path / "rows.svm").write_text(rows)
    command = ["select", str(tmp_path / "rows.svm"), "-k", "4", "--method", "auto", "-o", str(tmp_path / "found.thr")]
    run = CliRunner().invoke(make_app(), command)
    assert run.exit_code == 0, run.output
    assert "was the best on" in run.stdout
    for method in CONTENDERS:
        assert f"{method:<9} log loss" in run.stdout
    assert th.load(tmp_path / "found.thr").provenance["race"]["rows"] == 600


def test_what_cannot_race(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="leave out `passes`"):
        th.select(X, Y, k=4, method="auto", passes=2)
    with pytest.raises(SettingsError, match="name a method"):
        th.MissionClassifier(method="auto").fit(X, Y)
    one = np.zeros(600)
    with pytest.raises(DataError, match="no method can learn"):
        th.select(X, one, k=4, method="auto")
