"""Where commands write: refused before any work, complete or not at all, whatever the encoding of the terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import thresher as th
from tests.cli.test_commands import program, run
from tests.streams import planted, write_vw

X, Y = planted(rows=300)


@pytest.fixture
def vw(tmp_path: Path) -> Path:
    return write_vw(tmp_path / "rows.vw", X, Y)


@pytest.fixture
def thr(vw: Path, tmp_path: Path) -> Path:
    th.select(vw, k=5).save(tmp_path / "rows.thr")
    return tmp_path / "rows.thr"


def test_a_place_that_cannot_be_written_is_refused_before_the_data_is_read(tmp_path: Path, thr: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for command in (
        ("select", "no-such.vw", "-k", 5, "-o", folder),
        ("select", "no-such.vw", "-k", 5, "-o", tmp_path / "no" / "out.thr"),
        ("convert", "no-such.vw", "-o", folder, "--to", "vw"),
        ("predict", thr, "no-such.vw", "-o", folder),
    ):
        shown = run(*command)
        assert shown.exit_code == 2, shown.output
        assert "name a file in it" in shown.output or "there is no folder" in shown.output


def test_a_checkpoint_that_is_a_folder_is_refused(tmp_path: Path, vw: Path) -> None:
    shown = run("select", vw, "-k", 5, "--checkpoint", tmp_path)
    assert shown.exit_code == 2
    assert f"{tmp_path} is a folder: name a file in it" in shown.output


def test_predictions_go_to_a_file_when_they_are_complete(tmp_path: Path, vw: Path, thr: Path) -> None:
    out = tmp_path / "predictions.txt"
    out.write_text("old")
    broken = tmp_path / "broken.vw"
    broken.write_text(vw.read_text() + "1 | a:b:c\n")
    assert run("predict", thr, broken, "-o", out).exit_code == 1
    assert out.read_text() == "old"
    assert run("predict", thr, vw, "-o", out).exit_code == 0
    assert out.read_text() == run("predict", thr, vw).output
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "latin-1:strict"])
def test_printing_never_fails(tmp_path: Path, encoding: str) -> None:
    data = tmp_path / "rows.vw"
    data.write_text("".join(f"{1 if i % 2 else -1} | {'слово' if i % 2 else 'été'} w{i}\n" for i in range(60)), "utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    shown = program("select", data, "-k", 25, "-o", tmp_path / "out.thr", env=environment, encoding="latin-1")
    assert shown.returncode == 0, shown.stderr
    assert "Traceback" not in shown.stderr
    assert r"\u0441\u043b\u043e\u0432\u043e" in shown.stdout
    table = program("inspect", tmp_path / "out.thr", "--format", "tsv", env=environment, encoding="latin-1")
    assert table.returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("what", ["inspect", "--version", "--help"])
def test_a_full_disk_behind_standard_output(thr: Path, what: str) -> None:
    command = [sys.executable, "-c", "from thresher.cli.main import main; main()", what]
    command += [str(thr)] if what == "inspect" else []
    with open("/dev/full", "w") as full:
        shown = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert shown.returncode == 1
    assert shown.stderr == "thresher: standard output: No space left on device\n"


def test_the_answer_is_shown_even_if_it_cannot_be_saved(vw: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    shown = run("select", vw, "-k", 5, "-o", "/dev/full")
    assert shown.exit_code == 1
    assert "column-77" in shown.output
    assert "/dev/full: cannot be written (No space left on device)" in shown.output


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_a_closed_standard_output(vw: Path, tmp_path: Path) -> None:
    command = f"from thresher.cli.main import main; main()' select '{vw}' -k 5 -o '{tmp_path / 'a.thr'}' >&- 2>&-"
    assert subprocess.run(["/bin/sh", "-c", f"'{sys.executable}' -c '{command}"], check=False).returncode == 0
    assert len(th.load(tmp_path / "a.thr").names) == 5


def test_data_is_not_replaced_by_the_answer(vw: Path, thr: Path) -> None:
    before = vw.read_bytes(), thr.read_bytes()
    for command in (("select", vw, "-k", 5), ("convert", vw), ("predict", thr, vw)):
        shown = run(*command, "-o", vw)
        assert shown.exit_code == 2, shown.output
        assert "would replace a file that is read" in shown.output
    assert run("predict", thr, vw, "-o", thr).exit_code == 2
    assert (vw.read_bytes(), thr.read_bytes()) == before
