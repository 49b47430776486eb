"""Budgeted methods at the command line: a budget of features, of groups, of memory, and mistakes on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_commands import run
from tests.streams import planted, write_libsvm

X, Y = planted(rows=600, width=60, support=(3, 4, 20))


@pytest.fixture
def svm(tmp_path: Path) -> Path:
    return write_libsvm(tmp_path / "rows.svm", X, Y)


def test_a_budget_of_features(svm: Path) -> None:
    shown = run("select", svm, "-k", 3, "--method", "b-arda", "--lam", 0.001)
    assert shown.exit_code == 0, shown.output
    assert "3 of 3 requested, 3 of 3 named" in shown.output


def test_a_budget_of_groups(svm: Path, tmp_path: Path) -> None:
    groups = tmp_path / "groups.txt"
    groups.write_text("".join(f"{j} {j + 1}\n" for j in range(0, 60, 2)))
    shown = run("select", svm, "-k", 2, "--method", "b-arda", "--groups", groups)
    assert shown.exit_code == 0, shown.output
    assert "4 in 2 of 2 groups requested" in shown.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "b-ardo"), "unknown method 'b-ardo'"),
        (("--method", "b-arda", "--step", "0.1"), "b-arda has no --step: pass --eta"),
        (("--method", "mission", "--eta", "0.1"), "mission has no --eta and --lam: pass --step and --l2"),
        (("--method", "ofs", "--groups", "source"), "ofs has no --groups: choose b-arda or b-amd"),
        (("--method", "b-arda", "--groups", "source"), "this data has none"),
        (("--method", "b-arda", "--groups", "nowhere.txt"), "nowhere.txt"),
    ],
    ids=str,
)
def test_error_messages(svm: Path, options: tuple[str, ...], message: str) -> None:
    shown = run("select", svm, "-k", 3, *options)
    assert shown.exit_code in (1, 2)
    assert message in shown.output.replace("\n", " ")
