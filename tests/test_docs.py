"""The commands and Python of the documentation run, and its links lead to files."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from thresher.cli.main import make_app

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def test_every_command_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^\$ thresher (.*)$", "\n".join(blocks(ROOT / "docs" / "guide.md", "console")), re.MULTILINE)
    assert len(commands) >= 8
    for command in commands:
        shown = CliRunner().invoke(make_app(), shlex.split(command))
        assert shown.exit_code == 0, f"{command}: {shown.output}"


def test_the_python_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for made in ("demo --rows 2000 --keep stream.vw", "demo --genomes genomes", "demo --tables tables"):
        assert CliRunner().invoke(make_app(), shlex.split(made)).exit_code == 0
    names: dict[str, Any] = {}
    for code in blocks(ROOT / "docs" / "guide.md", "python"):
        exec(code, names)
    assert set(names["model"].get_feature_names_out()) == {"x7", "x31"}
    assert names["search"].best_params_ == {"missionclassifier__k": 2}
    assert set(names["stream"].get_feature_names_out()) == {"x7", "x31"}


def test_the_readme_s_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(ROOT / "README.md", "python")
    names: dict[str, object] = {}
    exec(code, names)
    assert set(names["selection"].names) == {"x7", "x31"}  # type: ignore[attr-defined]
    assert (tmp_path / "model.tsv").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
