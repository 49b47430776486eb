"""Tables and texts on the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from thresher.demo import write_tables


def program(*words: object, input: str | None = None) -> subprocess.CompletedProcess[str]:
    code = "import sys; from thresher.cli.main import main; sys.argv[0] = 'thresher'; main()"
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, input=input)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    write_tables(str(folder), rows=1200)
    return folder


def test_a_plain_table(tables: Path, tmp_path: Path) -> None:
    shown = program("select", tables / "people.csv", "--target", "y", "-k", 20, "-o", tmp_path / "p.thr")
    assert shown.returncode == 0, shown.stderr
    assert "inferred from its first 1200 rows" in shown.stderr
    assert "numeric      age, income" in shown.stderr
    assert "categorical  city" in shown.stderr
    assert "city=city-07" in shown.stdout
    predicted = program("predict", tmp_path / "p.thr", tables / "people.csv")
    assert predicted.returncode == 0, predicted.stderr
    assert len(predicted.stdout.split()) == 1200
    bare = "".join(line.partition(",")[2] + "\n" for line in (tables / "people.csv").read_text().splitlines())
    (tmp_path / "bare.csv").write_text(bare)
    assert program("predict", tmp_path / "p.thr", tmp_path / "bare.csv").stdout == predicted.stdout
    piped = program("predict", tmp_path / "p.thr", "-", "--format", "csv", input=bare)
    assert piped.stdout == predicted.stdout, piped.stderr


def test_warnings_follow_the_guess(tables: Path, tmp_path: Path) -> None:
    lines = (tables / "people.csv").read_text().splitlines()
    rows = [f"{i},{line}" for i, line in enumerate(lines[1:])]
    (tmp_path / "ids.csv").write_text("\n".join([f"id,{lines[0]}", *rows]) + "\n")
    shown = program("select", tmp_path / "ids.csv", "--target", "y", "-k", 5)
    guess, warning = (
        shown.stderr.index("inferred from its first 1200 rows"),
        shown.stderr.index("looks like an identifier"),
    )
    assert guess < warning
    shown = program("select", tmp_path / "ids.csv", "--target", "y", "-k", 5, "--ignored", "id")
    assert "inferred" in shown.stderr
    assert "identifier" not in shown.stderr
    twice = program("select", tmp_path / "ids.csv", "--target", "y", "-k", 5, "--ignored", "id", "--ignored", "1")
    assert twice.returncode == 0, twice.stderr
    assert "identifier" not in twice.stderr  # the last one does not replace the first


def test_a_ready_schema(tables: Path) -> None:
    shown = program("select", tables / "clicks.tsv.zst", "--schema", "criteo", "-k", 500, "--top", 3)
    assert shown.returncode == 0, shown.stderr
    assert "C1=9e3779b1" in shown.stdout
    assert "guessed" not in shown.stderr
    planned = program("plan", tables / "clicks.tsv.zst", "--schema", "criteo", "-k", 500)
    assert planned.returncode == 0, planned.stderr


def test_texts(tables: Path, tmp_path: Path) -> None:
    where = (tables / "reviews.jsonl", "--text", "body", "--target", "stars")
    shown = program("select", *where, "-k", 200, "--words", "1-2", "--holdout", 0.2, "-o", tmp_path / "r.thr")
    assert shown.returncode == 0, shown.stderr
    assert "rather grand" in shown.stdout
    predicted = program("predict", tmp_path / "r.thr", tables / "reviews.jsonl")
    assert set(predicted.stdout.split()) == {"1", "5"}
    chars = program(
        "select", *where, "-k", 50, "--chars", 3, "--within-words", "--as-written", "--unit", "--counts", "log"
    )
    assert chars.returncode == 0, chars.stderr


def test_columns_by_position(tables: Path, tmp_path: Path) -> None:
    rows = (tables / "people.csv").read_text().split("\n", 1)[1].replace(",", ";")
    (tmp_path / "bare.txt").write_text(rows)
    said = ("--target", 0, "--no-header", "--delimiter", ";", "--numeric", "1", "--ignored", "2", "--format", "csv")
    shown = program("select", tmp_path / "bare.txt", *said, "-k", 5, "--bins", "quantile:4", "--missing", "feature")
    assert shown.returncode == 0, shown.stderr
    assert "x1=[" in shown.stdout


def test_bad_tables(tables: Path, tmp_path: Path) -> None:
    missing = program("select", tables / "people.csv", "--target", "yy", "-k", 5)
    assert missing.returncode == 1
    assert "there is no column 'yy' for the target: did you mean 'y'?" in missing.stderr
    nothing = program("select", tables / "people.csv", "-k", 5)
    assert nothing.returncode == 1
    assert "Pass --target" in nothing.stderr
    other = program("select", tables / "people.csv", "--target", "y", "--kmer", 3, "-k", 5)
    assert other.returncode == 2
    assert "--kmer: not an option for csv files, only for fasta" in other.stderr
    (tmp_path / "bad.csv").write_text((tables / "people.csv").read_text() + "1,2\n")
    stopped = program("select", tmp_path / "bad.csv", "--target", "y", "-k", 5)
    assert stopped.returncode == 1
    assert "line 1202, column 1: the row has 2 fields, but the table has 4 columns" in stopped.stderr
    skipped = program("select", tmp_path / "bad.csv", "--target", "y", "-k", 5, "--on-error", "skip")
    assert skipped.returncode == 0, skipped.stderr
    assert "1 malformed lines skipped" in skipped.stdout


def test_converting_a_table(tables: Path, tmp_path: Path) -> None:
    shown = program("convert", tables / "people.csv", "--target", "y", "-o", tmp_path / "people.vw")
    assert shown.returncode == 0, shown.stderr
    assert "city=city-" in (tmp_path / "people.vw").read_text()


def test_help_shows_the_examples() -> None:
    shown = program("select", "--help").stdout
    for words in ("--schema criteo", "--text body", "--target y"):
        assert words in " ".join(shown.split())
