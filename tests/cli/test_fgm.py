"""`thresher select --method fgm`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import thresher as th
from tests.streams import planted, write_libsvm, write_vw
from thresher.cli.main import make_app

X, Y = planted(rows=1500)


def run(*args: object) -> Result:
    return CliRunner().invoke(make_app(), [str(arg) for arg in args])


@pytest.mark.parametrize("write", [write_vw, write_libsvm])
def test_the_command_line_is_select(write: object, tmp_path: Path) -> None:
    path = write(tmp_path / ("rows.vw" if write is write_vw else "rows.svm"), X, Y)  # type: ignore[operator]
    out = tmp_path / "out.thr"
    shown = run("select", path, "-k", 12, "--method", "fgm", "--B", 3, "--test", path, "-o", out)
    assert shown.exit_code == 0, shown.output
    for message in ("12 of 12", "accuracy", "no limit set", "rows", "out.thr"):
        assert message in shown.output
    found = th.select(path, k=12, B=3, method="fgm")
    saved = th.load(out)
    assert saved.weights.tolist() == found.weights.tolist()
    assert saved.names == found.names
    assert run("predict", out, path).exit_code == 0
    assert run("inspect", out).exit_code == 0


def test_its_options_and_its_mistakes(tmp_path: Path) -> None:
    path = write_libsvm(tmp_path / "rows.svm", X, Y)
    options = ["--C", 1, "--scale", "none", "--tol", 0.001, "--inner-tol", 1e-5, "--max-iter", 2, "--refit-C", 5]
    assert run("select", path, "-k", 6, "--method", "fgm", "--validation", path, *options).exit_code == 0
    assert run("select", path, "-k", 6, "--method", "fgm", "--memory", "1MB", "--jobs", 1).exit_code == 0
    for wrong in (["--C", 0], ["--B", 0], ["--scale", "unit"], ["--step", 0.5], ["--loss", "softmax"]):
        assert run("select", path, "-k", 6, "--method", "fgm", *wrong).exit_code == 2
    assert run("select", path, "-k", 6, "--B", 3).exit_code == 2


def test_families_by_name(tmp_path: Path) -> None:
    path = write_libsvm(tmp_path / "rows.svm", X, Y)
    out = tmp_path / "out.thr"
    for family in ("polynomial:2", "linear + hik:10", "linear:columns=0-4 * linear:columns=3|7"):
        shown = run("select", path, "-k", 4, "--method", "fgm", "--family", family, "--test", path, "-o", out)
        assert shown.exit_code == 0, shown.output
        assert ("pruned" in shown.output) == ("hik" not in family)
        saved = th.load(out)
        assert saved.names == th.select(path, k=4, method="fgm", family=family).names
        lines = run("predict", out, path).output.split()
        assert len(lines) == len(Y)
        assert run("inspect", out, "--format", "json").exit_code == 0
    wrong = run("select", path, "-k", 4, "--method", "fgm", "--family", "polynomial:x")
    assert wrong.exit_code == 2
    assert "degree" in wrong.output


def test_groups_and_trees_in_a_file(tmp_path: Path) -> None:
    path = write_libsvm(tmp_path / "rows.svm", X, Y)
    groups = tmp_path / "groups.txt"
    groups.write_text("# two by two\n" + "".join(f"{g} {g + 1}\n" for g in range(0, 12, 2)))
    out = tmp_path / "out.thr"
    for kind, structure in (("groups", th.Groups), ("tree", th.Tree)):
        shown = run("select", path, "-k", 2, "--method", "fgm", "--family", f"{kind}:{groups}", "-o", out)
        assert shown.exit_code == 0, shown.output
        assert "in the 2 groups" in shown.output
        pairs = [[g, g + 1] for g in range(0, 12, 2)]
        assert th.load(out).names == th.select(path, k=2, method="fgm", family=structure(pairs)).names
    groups.write_text("0, 1\n1, two\n")
    for family, message in (
        (f"groups:{groups}", "line 2: 'two'"),
        ("groups", "groups is missing"),
        ("tree:none", "none:"),
    ):
        wrong = run("select", path, "-k", 1, "--method", "fgm", "--family", family)
        assert wrong.exit_code == 2
        assert message in wrong.output
    groups.write_text("0 1\n1 2\n")
    wrong = run("select", path, "-k", 1, "--method", "fgm", "--family", f"groups:{groups}")
    assert wrong.exit_code == 2
    assert "overlap" in wrong.output
    assert run("select", path, "-k", 1, "--method", "fgm", "--family", f"groups:{groups},overlap=true").exit_code == 0


def test_plan_knows_it(tmp_path: Path) -> None:
    path = write_libsvm(tmp_path / "rows.svm", X, Y)
    shown = run("plan", path, "-k", 20, "--method", "fgm", "--memory", "8MB", "--B", 4)
    assert shown.exit_code == 0, shown.output
    for message in ("products", "5 blocks", "columns", "selected", "8.0 MB"):
        assert message in shown.output
    assert "there is no memory limit" in " ".join(run("plan", path, "-k", 20, "--method", "fgm").output.split())
    for wrong in (["--method", "fgm", "--sketch", "3x64"], ["--B", 4], ["--method", "fgm", "--B", 0]):
        assert run("plan", path, "-k", 20, *wrong).exit_code == 2
