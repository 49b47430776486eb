"""The cache, other formats and many files, as a user meets them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import thresher as th
from tests.cli.test_commands import program, run
from tests.streams import planted, write_vw

X, Y = planted(rows=800)


@pytest.fixture
def vw(tmp_path: Path) -> Path:
    return write_vw(tmp_path / "rows.vw", X, Y)


def test_select_with_a_cache(vw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr("sys.platform", "linux")
    answers = set()
    for how in (
        [],
        ["--cache"],
        ["--cache"],
        ["--cache-dir", tmp_path / "own"],
        ["--cache", "--cache-dir", tmp_path / "own"],
    ):
        shown = run("select", vw, "-k", 10, "--passes", 3, "-o", tmp_path / "out.thr", *how)
        assert shown.exit_code == 0, shown.output
        answers.add((tmp_path / "out.thr").read_bytes())
    assert len(answers) == 1
    for folder in (tmp_path / "user" / "thresher", tmp_path / "own"):
        assert len(list(folder.glob("*.thc"))) == 1
    shown = run("select", vw, "-k", 10, "--cache-dir", tmp_path / "small", "--cache-size", "5KB")
    assert shown.exit_code == 2
    assert "more than the 5.0 KB" in shown.output


def test_standard_input_several_times(vw: Path, tmp_path: Path) -> None:
    options = ("--format", "vw", "-k", "5", "--passes", "3", "--holdout", "0.2", "--no-shuffle")
    piped = program("select", "-", *options, "--cache-dir", tmp_path / "cache", input=vw.read_text())
    assert piped.returncode == 0, piped.stderr
    assert "<stdin>" in piped.stdout
    plain = program("select", vw, *options)
    scores = [re.findall(r"^held out.*$", shown.stdout, re.MULTILINE) for shown in (piped, plain)]
    assert scores[0] == scores[1] != []
    without = program("select", "-", *options, input=vw.read_text())
    assert without.returncode == 2
    assert "--cache" in without.stderr


def test_convert_to_everything(vw: Path, tmp_path: Path) -> None:
    expected = th.select(vw, k=10, shuffle=False)  # shuffled, the blocks of a file decide the order
    shown = run("convert", vw, tmp_path / "rows.thc")
    assert shown.exit_code == 0
    assert shown.output == f"800 rows written to {tmp_path / 'rows.thc'}\n"
    assert th.select(tmp_path / "rows.thc", k=10, shuffle=False).weights.tolist() == expected.weights.tolist()
    assert run("convert", tmp_path / "rows.thc", tmp_path / "again.vw").exit_code == 0
    assert th.select(tmp_path / "again.vw", k=10, shuffle=False).names == expected.names
    assert run("convert", vw, tmp_path / "rows.parquet").exit_code == 0
    assert pq.read_metadata(tmp_path / "rows.parquet").num_rows == 800
    shown = run("convert", vw, vw, "-o", tmp_path / "rows", "--to", "libsvm")
    assert "have their 64-bit keys as indices" in shown.output
    assert "1600 rows" in shown.output


def test_mistakes_in_converting(vw: Path, tmp_path: Path) -> None:
    for arguments, message in (
        ([vw], "an input and an output are required"),
        ([vw, tmp_path / "no" / "rows.svm"], "there is no folder"),
        ([vw, tmp_path / "rows.xyz"], "one of libsvm, vw, parquet, cache"),
    ):
        shown = run("convert", *arguments)
        assert shown.exit_code == 2
        assert message in shown.output
    (tmp_path / "half.thc").write_bytes(b"ARROW1")
    shown = run("select", tmp_path / "half.thc", "-k", 5)
    assert shown.exit_code == 1
    assert "not a complete file of parsed rows" in shown.output


def test_bad_lines_of_many_files(vw: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.vw"
    other.write_text(vw.read_text() + "bad\n" * 2)
    vw.write_text(vw.read_text() + "bad\n" * 3)
    shown = run("select", vw, other, "-k", 5, "--on-error", "skip")
    assert shown.exit_code == 0
    assert f"5 malformed lines skipped: 3 of {vw}, 2 of {other}" in shown.output.replace("\n", "")


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="there is no SIGBUS")
def test_a_mapped_file_that_is_cut_short_ends_the_command_with_a_message(tmp_path: Path) -> None:
    script = (
        "import mmap, sys; from thresher import _native; _native.report_bus_errors()\n"
        "with open(sys.argv[1], 'w+b') as file:\n"
        "    file.truncate(8192); mapped = mmap.mmap(file.fileno(), 0); file.truncate(0); mapped[5000]"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "rows.thc")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("thresher: a file was cut short while it was mapped")
