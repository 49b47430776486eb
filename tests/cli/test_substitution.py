"""`thresher select --method os`, over rows and over columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import thresher as th
from tests.streams import planted, write_libsvm
from tests.substitution.test_substitution import data
from thresher.cli.main import make_app

X, Y = planted(rows=800)


def run(*args: object) -> Result:
    return CliRunner().invoke(make_app(), [str(arg) for arg in args])


def test_over_rows(tmp_path: Path) -> None:
    path, out = write_libsvm(tmp_path / "rows.svm", X, Y), tmp_path / "out.thr"
    own = ["--m", 4, "--c", 0.1, "--rate", 0.5, "--check", "--order", "random"]
    shown = run("select", path, "-k", 12, "--method", "os", "--scans", 2, "--test", path, "-o", out, *own)
    assert shown.exit_code == 0, shown.output
    assert "accuracy" in shown.output
    assert "features/s" in shown.output
    saved = th.load(out)
    given = {"m": 4.0, "c": 0.1, "rate": 0.5, "check": True, "order": "random"}
    same = th.select(path, k=12, method="os", scans=2, random_state=0, **given)
    assert saved.weights.tolist() == same.weights.tolist()
    assert run("predict", out, path).exit_code == 0
    assert run("inspect", out).exit_code == 0


def test_over_columns(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    x, y, _ = data(p=40)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "y.txt").write_text("\n".join(map(str, y)))
    parquet.write_table(pa.table({**{f"c{j}": x[:, j] for j in range(40)}, "y": y}), tmp_path / "t.parquet")
    shared = ["-k", 5, "--method", "os", "--loss", "squared", "-o", tmp_path / "out.thr"]
    assert run("select", tmp_path / "x.npy", "--labels-file", tmp_path / "y.txt", *shared).exit_code == 0
    by_position = th.load(tmp_path / "out.thr")
    shown = run("select", tmp_path / "t.parquet", "--target", "y", "--staleness", 0, "--workers", 1, *shared)
    assert shown.exit_code == 0, shown.output
    shown = run("select", tmp_path / "t.parquet", "--target", "y", *shared)
    assert [name.replace("c", "x") for name in th.load(tmp_path / "out.thr").names] == by_position.names
    assert run("predict", tmp_path / "out.thr", tmp_path / "t.parquet").exit_code == 0


def test_its_mistakes(tmp_path: Path) -> None:
    path = write_libsvm(tmp_path / "rows.svm", X, Y)
    for wrong in (["--scans", 0], ["--workers", 7], ["--loss", "hinge"], ["--B", 3], ["--step", 0.5]):
        assert run("select", path, "-k", 6, "--method", "os", *wrong).exit_code == 2
    assert run("select", path, "-k", 6, "--scans", 2).exit_code == 2
    np.save(tmp_path / "x.npy", np.ones((5, 3)))
    shown = run("select", tmp_path / "x.npy", "-k", 2, "--method", "os")
    assert shown.exit_code == 1
    assert "pass y" in shown.output
