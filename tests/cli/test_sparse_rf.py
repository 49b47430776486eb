"""Sparse Random Features on the command line: select, predict, inspect."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from thresher.cli.main import make_app

RNG = np.random.default_rng(0)
RUNNER = CliRunner()


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    x = RNG.uniform(-1, 1, size=(400, 2))
    labels = np.where((x**2).sum(axis=1) < 0.6, 1, -1)
    path = tmp_path / "rows.svm"
    lines = [f"{label} 1:{a:.4f} 2:{b:.4f}" for (a, b), label in zip(x, labels, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_select_predict_inspect(rows: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.thr"
    options = ["--method", "sparse-rf", "--kernel", "gaussian", "--gamma", "1", "--lam", "1", "--max-iter", "5"]
    done = RUNNER.invoke(
        make_app(), ["select", str(rows), *options, "--draws", "30", "--test", str(rows), "-o", str(model)]
    )
    assert done.exit_code == 0, done.output
    assert "cos(" in done.output
    assert "None" not in done.output
    predicted = RUNNER.invoke(make_app(), ["predict", str(model), str(rows)])
    labels = [line.split()[0] for line in rows.read_text().splitlines()]
    assert np.mean([a == b for a, b in zip(predicted.stdout.split(), labels, strict=True)]) > 0.95
    shown = RUNNER.invoke(make_app(), ["inspect", str(model), "--format", "json"])
    assert json.loads(shown.stdout)["space"]["kernel"] == "gaussian"
    fewer = RUNNER.invoke(make_app(), ["select", str(rows), *options, "-k", "7", "-o", str(model)])
    assert fewer.exit_code == 0, fewer.output
    table = RUNNER.invoke(make_app(), ["inspect", str(model), "--format", "tsv"])
    assert 1 < len(table.stdout.splitlines()) <= 8


def test_where_the_memory_would_go(rows: Path) -> None:
    planned = RUNNER.invoke(make_app(), ["plan", str(rows), "--method", "sparse-rf"])
    assert planned.exit_code == 0, planned.output
    assert "4 bytes for each row and random feature" in planned.output
    planned = RUNNER.invoke(
        make_app(), ["plan", str(rows), "--method", "sparse-rf", "--draws", "20", "--memory", "8MB"]
    )
    assert planned.exit_code == 0, planned.output
    for part in ("rows", "making", "products", "inputs", "columns", "20 at a time", "8.0 MB"):
        assert part in planned.output
    for bad in (["--method", "sparse-rf", "--B", "3"], ["--method", "fgm", "-k", "3", "--draws", "3"], []):
        assert RUNNER.invoke(make_app(), ["plan", str(rows), *bad]).exit_code == 2


def test_a_path_with_a_validation(rows: Path) -> None:
    path = ["--lam", "30,3,0.3", "--validation", str(rows), "--max-iter", "2"]
    done = RUNNER.invoke(make_app(), ["select", str(rows), "--method", "sparse-rf", *path])
    assert done.exit_code == 0, done.output
    for bad in (["--lam", "a"], ["--gamma", "0"], ["--kernel", "x"], ["--lam", "3,1"], ["--draws", "0"]):
        assert RUNNER.invoke(make_app(), ["select", str(rows), "--method", "sparse-rf", *bad]).exit_code == 2
