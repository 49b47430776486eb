"""Sequences of amino acids."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

import thresher as th
from thresher.core.kmers import AMINO_ACIDS, Kmers
from thresher.errors import DataError, SettingsError

MOTIF = "WCHKW"


@pytest.fixture
def proteins(tmp_path: Path) -> Path:
    """Two families of proteins; one has a motif."""
    rng = np.random.default_rng(0)
    letters = [chr(letter) for letter in AMINO_ACIDS]
    for name in ("with", "without"):
        records = []
        for i in range(60):
            word = "".join(rng.choice(letters, 80))
            records.append(f">{name}{i} of many\n{word[:40]}{MOTIF if name == 'with' else ''}\n{word[40:]}\n")
        (tmp_path / f"{name}.faa").write_text("".join(records))
    return tmp_path


def test_motifs(proteins: Path) -> None:
    model = th.select(str(proteins / "*.faa"), alphabet="protein", kmer=5, k=3)
    assert MOTIF in model.names
    model.save(proteins / "m.thr")
    loaded = th.load(proteins / "m.thr")
    assert loaded.space == model.space
    assert "5-mers of amino acids" in str(loaded.space)
    table = loaded.predictions(proteins / "with.faa", ids=["file", "line", "record"])
    assert table["record"][:2] == ["with0", "with1"]
    assert table["line"][:2] == [1, 4]
    assert np.mean(np.array(table["prediction"]) == "with") > 0.9
    assert set(th.select(str(proteins / "*.faa"), alphabet="protein", k=3).space.kmers.lengths) == {3}


def test_not_as_nucleotides(proteins: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Before, almost all k-mers were dropped, and the answer came from the rest."""
    with pytest.raises(DataError, match=r"with.faa: its first records look like proteins.*`alphabet='protein'`"):
        th.scan_fasta(str(proteins / "*.faa"))
    with pytest.raises(DataError, match="look like proteins"):
        th.scan(proteins / "with.faa", wildcards=True)
    dna = tmp_path / "dna.fa"
    dna.write_text(">a\nACGTNNRYACGT\n>b\nacgtnacguuuacg\n")
    th.scan_fasta(dna, kmer=4)
    caplog.set_level(logging.WARNING, "thresher")
    dna.write_text(">a\nACGTNNACGTU\n")
    th.scan_fasta(dna, alphabet="protein")
    assert "look like nucleotides" in caplog.text


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"canonical": True}, "no reverse complement"),
        ({"wildcards": True}, "codes for several nucleotides"),
        ({"fragments": 50}, "reads of genomes"),
        ({"kmer": 13}, "k-mers of proteins must have 1 to 12 letters, got 13"),
    ],
)
def test_refusals(proteins: Path, options: dict[str, object], why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        th.scan_fasta(proteins / "with.faa", alphabet="protein", **options)
    with pytest.raises(SettingsError, match='alphabet must be "dna" or "protein", got \'rna\''):
        th.scan_fasta(proteins / "with.faa", alphabet="rna")


def test_keys_are_letters() -> None:
    """Five bits a letter, as docs/format.md says; invertible up to twelve letters."""
    kmers = Kmers((12,), alphabet="protein")
    words = ["ACDEFGHIKLMN", "YYYYYYYYYYYY", "AAAAAAAAAAAA", "WVTSRQPNMLKI"]
    keys = [sum(AMINO_ACIDS.index(c.encode()) << 5 * (11 - i) for i, c in enumerate(word)) for word in words]
    assert kmers.decode(np.array(keys, np.uint64)) == words
    assert Kmers.from_dict(kmers.to_dict()) == kmers
    assert "alphabet" not in Kmers((12,)).to_dict()


def test_positions_of_kmers(proteins: Path) -> None:
    from thresher.selection.export.bed import bed_lines

    model = th.select(str(proteins / "*.faa"), alphabet="protein", kmer=5, k=3)
    lines = [line.split("\t") for line in bed_lines(model, proteins / "with.faa")]
    found = [line for line in lines if line[3] == MOTIF]
    assert len(found) >= 60
    assert found[0][:3] == ["with0", "40", "45"]
    assert {line[5].strip() for line in lines} == {"."}


def test_other_features_are_refused(proteins: Path, tmp_path: Path) -> None:
    model = th.select(str(proteins / "*.faa"), alphabet="protein", kmer=5, k=3)
    with pytest.raises(th.SpaceError, match="5-mers of amino acids"):
        model.predict(proteins / "with.faa", kmer=4)
