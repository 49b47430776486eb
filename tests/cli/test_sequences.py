"""Selecting and locating k-mers, as a user does."""

from __future__ import annotations

import gzip
import random
import re
from pathlib import Path

import numpy as np
import pytest

import thresher as th
from tests.cli.test_commands import program, run
from tests.reference.sources import kmers as twin

MOTIF = {"one": "ACGGTCATGCAA", "two": "TTCGACCATAGG"}


def genome(seed: int, length: int = 6000, motif: str = "") -> str:
    """Random letters with a motif every 150 of them."""
    rng = random.Random(seed)
    letters = rng.choices("ACGT", k=length)
    for at in range(50, length - 50, 150) if motif else ():
        letters[at : at + len(motif)] = motif
    return "".join(letters)


@pytest.fixture
def genomes(tmp_path: Path) -> list[Path]:
    paths = []
    for seed, (name, motif) in enumerate(MOTIF.items()):
        paths.append(tmp_path / f"{name}.fa.gz")
        paths[-1].write_bytes(gzip.compress(f">{name}\n{genome(seed, motif=motif)}\n".encode()))
    return paths


def test_select_with_fragments(genomes: list[Path], tmp_path: Path) -> None:
    """The motifs are found by name; the command line is `th.select`."""
    out, own = tmp_path / "out.thr", tmp_path / "own.thr"
    options = ["--kmer", 12, "--fragments", 200, "--coverage", 6, "-k", 60, "--passes", 5, "--seed", 3]
    shown = run("select", *genomes, *options, "-o", out)
    assert shown.exit_code == 0, shown.output
    assert "a positive weight is evidence for two, against one" in shown.output
    th.select(genomes, kmer=12, fragments=200, coverage=6.0, k=60, passes=5, random_state=3).save(own)
    assert out.read_bytes() == own.read_bytes()
    assert set(MOTIF.values()) <= set(th.load(out).names[:10])
    assert run("plan", *genomes, "-k", 10, "--fragments", 200).output.count("to sample fragments from") == 1


def test_the_other_options(tmp_path: Path) -> None:
    windows = tmp_path / "windows.fa"
    labels = tmp_path / "labels.tsv"
    lines, table = [], []
    rng = random.Random(1)
    for i in range(400):
        letters = rng.choices("ACGTN", k=30)
        if i % 2:
            letters[17:21] = "GGTA"
        lines.append(f">w{i}\n{''.join(letters)}\n")
        table.append(f"w{i}\t{'site' if i % 2 else 'none'}\n")
    windows.write_text("".join(lines))
    labels.write_text("".join(table))
    options = ["--labels", labels, "--positional", "--kmer", "2,4", "--counts", "log", "--unit", "--passes", 5]
    shown = run("select", windows, *options, "-k", 8, "-o", tmp_path / "out.thr")
    assert shown.exit_code == 0, shown.output
    model = th.load(tmp_path / "out.thr")
    assert "17:GGTA" in model.names
    assert model.space.kmers.reading() == {
        "alphabet": "dna",
        "kmer": (2, 4), "canonical": False, "wildcards": False, "positional": True, "counts": "log", "unit": True,
    }  # fmt: skip
    predicted = run("predict", tmp_path / "out.thr", windows).output.split()
    assert np.mean([label == ("site" if i % 2 else "none") for i, label in enumerate(predicted)]) > 0.9
    assert run("convert", windows, "-o", tmp_path / "rows.vw", "--kmer", 3, "--wildcards").exit_code == 0
    assert re.match(r"windows \| ?[ACGTN]{3} ", (tmp_path / "rows.vw").read_text())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--kmer", "x"), 2, "--kmer must be an integer, or several as 8,12, got 'x'"),
        (("--kmer", "40"), 2, "1 to 31"),
        (("--coverage", "2"), 2, "pass --fragments"),
        (("--fragments", "7000"), 1, "fewer than a fragment of 7000"),
        (("--labels", "absent.tsv"), 1, "no such file"),
        (("--memory", "6MB", "--fragments", "200", "--sketch", "1x10000"), 1, "Raise --memory"),
    ],
)
def test_mistakes(genomes: list[Path], tmp_path: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    if "Raise" in message:
        genomes = [tmp_path / "large.fa"]
        genomes[0].write_text(">a\n" + "ACGT" * 4_000_000 + "\n")
    shown = program("select", *genomes, "-k", "5", *arguments)
    assert shown.returncode == code
    assert message in shown.stderr
    assert "Traceback" not in shown.stderr


def test_options_of_sequences_for_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 2:3\n0 3:4\n")
    shown = program("select", tmp_path / "a.svm", "-k", 2, "--kmer", 3)
    assert shown.returncode == 2
    assert "--kmer: not an option for libsvm files, only for fasta" in shown.stderr


def test_standard_input(genomes: list[Path], tmp_path: Path) -> None:
    text = gzip.decompress(genomes[0].read_bytes()).decode()
    table = tmp_path / "labels.tsv"
    table.write_text("one\t1\ntwo\t0\n")
    message = program("select", "-", "--format", "fasta", "-k", 5, input=text)
    assert message.returncode == 1
    assert "pass a table of labels" in message.stderr
    shown = program("select", "-", "--format", "fasta", "-k", 5, "--labels", table, "--loss", "squared", input=text)
    assert shown.returncode == 0, shown.stderr
    assert program("predict", _model(genomes, tmp_path), "-", "--format", "fastq", input=text).stdout.strip() == "one"


def _model(genomes: list[Path], folder: Path, **options: object) -> Path:
    th.select(genomes, k=60, fragments=200, coverage=6.0, passes=5, **options).save(folder / "model.thr")  # type: ignore[arg-type]
    return folder / "model.thr"


def test_the_demonstration(tmp_path: Path) -> None:
    shown = run("demo", "--genomes", tmp_path / "genomes")
    assert shown.exit_code == 0, shown.output
    found = re.search(r"Found (\d+) of the 20 planted", shown.output)
    assert found is not None
    assert int(found[1]) >= 16
    assert sorted(path.name for path in (tmp_path / "genomes").iterdir()) == ["alpha.fa.gz", "beta.fa.gz"]


# Locating


def places(selection: th.Selection, id: str, letters: str) -> set[tuple[str, str, str, str, str]]:
    """Where selected k-mers stand, by looking at every place."""
    kmers = selection.space.kmers
    found = set()
    for name in selection.names:
        turned = "".join(twin.COMPLEMENT[c] for c in reversed(name))
        for at in range(len(letters) - len(name) + 1):
            word = letters[at : at + len(name)]
            if kmers.canonical and word == name == turned:
                found.add((id, str(at), str(at + len(name)), name, "."))
            elif word == name:
                found.add((id, str(at), str(at + len(name)), name, "+"))
            elif kmers.canonical and word == turned:
                found.add((id, str(at), str(at + len(name)), name, "-"))
    return found


@pytest.mark.parametrize(
    "options",
    [
        {"kmer": 12},
        {"kmer": 12, "canonical": True},
        {"kmer": (3, 6), "canonical": True},
        {"kmer": 4, "wildcards": True},
    ],
    ids=str,
)
def test_locate(genomes: list[Path], tmp_path: Path, options: dict[str, object]) -> None:
    model = _model(genomes, tmp_path, **options)
    selection = th.load(model)
    one, two = (gzip.decompress(path.read_bytes()).decode().split("\n")[1] for path in genomes)
    shown = run("locate", model, *genomes)
    assert shown.exit_code == 0, shown.output
    lines = [line.split("\t") for line in shown.stdout.splitlines()]
    assert {(a, b, c, d, f) for a, b, c, d, _, f in lines} == places(selection, "one", one) | places(
        selection, "two", two
    )
    assert len(lines) == len({tuple(line) for line in lines})
    scores = {name: int(score) for _, _, _, name, score, _ in lines}
    assert all(0 <= score <= 1000 for score in scores.values())
    assert scores.get(selection.names[0], 1000) == 1000
    assert run("locate", model, *genomes, "-o", tmp_path / "out.bed").exit_code == 0
    assert (tmp_path / "out.bed").read_text() == shown.stdout
    if len(selection.space.kmers.lengths) == 1:
        of_one = [int(line[1]) for line in lines if line[0] == "one"]
        assert of_one == sorted(of_one)


def test_locate_in_windows(tmp_path: Path) -> None:
    """A positional k-mer is found at its place alone; records of several blocks and of several lines."""
    rng = random.Random(2)
    for name, motif in (("a", "GGG"), ("b", "TTT")):
        records = []
        for i in range(100):
            letters = rng.choices("ACGT", k=20)
            letters[5:8] = motif
            records.append(f">{name}{i}\n{''.join(letters[:9])}\n{''.join(letters[9:])}\n")
        (tmp_path / f"{name}.fa").write_text("".join(records))
    th.select([tmp_path / "a.fa", tmp_path / "b.fa"], k=2, kmer=3, positional=True, passes=3).save(tmp_path / "m.thr")
    lines = run("locate", tmp_path / "m.thr", tmp_path / "a.fa").stdout.splitlines()
    assert [line.split("\t")[:4] for line in lines] == [[f"a{i}", "5", "8", "5:GGG"] for i in range(100)]


def test_locate_stops_at_a_malformed_record_or_skips_it(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.fa").write_text(
            "".join(f">{name}{i}\n{'CGA' if name == 'a' else 'TTT'}\n" for i in range(9))
        )
    model = tmp_path / "m.thr"
    th.select([tmp_path / "a.fa", tmp_path / "b.fa"], k=2, kmer=3, passes=3).save(model)
    genome = tmp_path / "g.fa"
    genome.write_text("no header\n>good\nACGA\n>other\nCGA\n")
    stopped = program("locate", model, genome)
    assert stopped.returncode == 1
    assert "--on-error skip" in stopped.stderr
    skipped = program("locate", model, genome, "--on-error", "skip")
    assert skipped.returncode == 0, skipped.stderr
    assert [line.split("\t")[:4] for line in skipped.stdout.splitlines()] == [
        ["good", "1", "4", "CGA"],
        ["other", "0", "3", "CGA"],
    ]
    assert program("locate", model, genome, "--on-error", "both").returncode == 2


def test_locate_refuses_other_models(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 2:3\n0 3:4\n")
    th.select(tmp_path / "a.svm", k=2).save(tmp_path / "m.thr")
    shown = program("locate", tmp_path / "m.thr", tmp_path / "a.svm")
    assert shown.returncode == 1
    assert "do not occur in sequences" in shown.stderr
