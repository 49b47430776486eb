"""The commands and Python of the documentation run, and its links lead to files."""

from __future__ import annotations

import re
import shlex
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import thresher as th
from thresher.cli.main import make_app

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


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


def test_the_python_of_the_page_on_trust_runs() -> None:
    names: dict[str, Any] = {}
    for code in blocks(ROOT / "docs" / "trust.md", "python"):
        exec(code, names)
    assert len(names["selection"]) >= 18


def test_the_python_of_the_page_on_clusters_runs() -> None:
    """That of workers that share the features; the rows of the other example are many."""
    names: dict[str, Any] = {"np": np, "th": th, "rng": np.random.default_rng(0)}
    exec(blocks(ROOT / "docs" / "cluster.md", "python")[-1], names)
    assert names["found"].provenance["found_by"][0]["dead"] == []


def test_the_readme_s_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(ROOT / "README.md", "python")
    names: dict[str, object] = {}
    exec(code, names)
    assert set(names["selection"].names) == {"x7", "x31"}  # type: ignore[attr-defined]
    assert (tmp_path / "model.tsv").exists()


def test_the_readme_s_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text()
    shown = re.findall(r"^\$ thresher (.*)$", "\n".join(blocks(ROOT / "README.md", "console")), re.MULTILINE)
    of_users = re.findall(r"^\|.*\| `thresher (.*?)`", text, re.MULTILINE)
    assert len(of_users) == 5
    for command in [*shown, "demo --genomes genomes", "demo --tables tables", *of_users]:
        words = [match for word in shlex.split(command.partition(" > ")[0]) for match in sorted(glob(word)) or [word]]
        done = CliRunner().invoke(make_app(), words)
        assert done.exit_code == 0, f"{command}: {done.output}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text()):
        to = page.parent / target if target else page
        assert to.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(to), f"{page.name} links to {target}#{anchor}"


#: Where the paths of the pages for developers start.
STARTS = ["", "src/thresher", "native"]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_paths_for_developers_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    named = re.findall(r"`([\w.-]+/[\w./-]*|[\w-]+\.(?:py|pyi|hpp|cpp|md|toml|cff))`", text)
    # The example of an option lists its files at the start of lines.
    named += re.findall(r"^  ((?:src|native|tests)/\S+)  ", "\n".join(blocks(ROOT / page, "diff")), re.MULTILINE)
    assert len(named) > 10
    missing = [path for path in named if not any((ROOT / start / path).exists() for start in STARTS)]
    # A file that every room has is named without its folder.
    assert [path for path in missing if "/" in path or not any((ROOT / "src").rglob(path))] == []
