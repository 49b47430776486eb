"""The stand-ins of a selection: their names, the file, tables and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import thresher as th
from tests.cli.test_commands import run
from thresher.selection.export.tables import as_json, tsv_lines


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of words: `good` and `great` are always together, `fine` mostly; twelve `copy_…` are one column."""
    path = tmp_path_factory.mktemp("words") / "rows.vw"
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(600):
        good, other = rng.random() < 0.2, rng.random() < 0.15
        row = [f"w{at}" for at in rng.choice(200, 8, replace=False)]
        row += ["good", "great"] if good else []
        row += ["fine"] if good and rng.random() < 0.95 else []
        row += [f"copy_{at}" for at in range(12)] if other else []
        lines.append(f"{1 if good or other else -1} | {' '.join(row)}\n")
    path.write_text("".join(lines))
    return path


def test_names_and_cosines(words: Path, tmp_path: Path) -> None:
    selection = th.select(words, k=4, passes=1)
    assert selection.stand_ins is None
    found = selection.find_stand_ins(words, threshold=0.95)
    assert found.stand_ins is not None
    twins = {name for name, _ in found.stand_ins.get("good", []) + found.stand_ins.get("great", [])}
    assert twins & {"good", "great"}
    copies = [name for name in found.names if name.startswith("copy_")]
    assert copies
    for name in copies:
        assert len(found.stand_ins[name]) == 10
        assert found.provenance["stand_ins"]["more"][name] == 1
        assert all(other.startswith("copy_") and cosine == 1.0 for other, cosine in found.stand_ins[name])
    found.save(tmp_path / "a.thr")
    loaded = th.load(tmp_path / "a.thr")
    assert loaded.stand_ins == found.stand_ins
    features = {feature["name"]: feature["stand_ins"] for feature in json.loads(as_json(loaded))["features"]}
    assert features[copies[0]] == found.stand_ins[copies[0]]
    header, *lines = tsv_lines(loaded)
    assert "stand_ins" in header.split("\t")
    assert any("… and 1 more" in line for line in lines)
    assert selection.find_stand_ins(words, 0.95).stand_ins == found.stand_ins


def test_the_commands(words: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.thr"
    shown = run("select", words, "-k", "6", "--passes", "1", "--stand-ins", "0.9", "--collapse", "-o", out).stdout
    assert "absolute cosine of at least 0.9" in shown
    assert "now stand-ins of stronger ones" in shown
    assert "stand-ins" in run("inspect", out).stdout
    first, *lines = run("stand-ins", out, words, "--threshold", "0.95", "-o", tmp_path / "b.thr").stdout.splitlines()
    assert first == "feature\tstand_in\tcosine"
    assert any(line.startswith("copy_") and line.endswith("\t1.0") for line in lines)
    assert th.load(tmp_path / "b.thr").provenance["stand_ins"]["threshold"] == 0.95
    assert "three readings" in run("plan", words, "-k", "6", "--stand-ins", "0.9").stdout


@pytest.mark.parametrize("wrong", [0.2, 1.5, "0.9"])
def test_thresholds_are_checked(words: Path, wrong: object) -> None:
    with pytest.raises(th.ThresherError, match=r"stand_ins must be the least absolute cosine, from 0\.5 to 1, got"):
        th.select(words, k=2, stand_ins=wrong)
    selection = th.select(words, k=2, passes=1)
    with pytest.raises(th.ThresherError, match=r"^threshold must be the least"):
        selection.find_stand_ins(words, wrong)


def test_without_features_there_are_none() -> None:
    X = np.ones((50, 3))
    empty = th.select(X, np.arange(50) % 2, k=2, method="fgm")
    assert not len(empty)
    assert empty.find_stand_ins(X).stand_ins == {}
