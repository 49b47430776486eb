"""Where k-mers are: from their keys, or found in files."""

import pytest
from typer.testing import CliRunner

import thresher as th
from tests.selection.makers import make
from tests.selection.report.samples import SEQUENCES, kmers
from thresher.cli.main import make_app
from thresher.errors import SpaceError
from thresher.selection.export.bed import bed_lines
from thresher.selection.report import genome, report
from thresher.selection.report.genome import located, positions_in_keys
from thresher.selection.report.page import report_data


def places(view):
    return list(zip(view["sequence"], view["position"], view["name"], strict=True))


def test_places_are_those_of_locate(tmp_path):
    model, _ = kmers(tmp_path, {"AACGT": 1.0, "ACG": -2.0, "GGG": 0.5}, kmer=(3, 5), canonical=True)
    (view,) = located(model, tmp_path)
    lines = [line.split("\t") for line in bed_lines(model, tmp_path)]
    assert sorted(places(view)) == sorted((id, int(at), name) for id, at, _, name, *_ in lines)
    assert view["weight"] == sorted(view["weight"], reverse=True)
    assert view["note"] == f"{len(lines)} occurrences of 3 k-mers."


def test_what_is_held_does_not_grow(tmp_path, monkeypatch):
    monkeypatch.setattr(genome, "MOST", 5)
    monkeypatch.setattr(genome, "OF_ONE", 3)
    monkeypatch.setattr(genome, "COLOURS", 1)
    (tmp_path / "g.fa").write_text("".join(f">r{i}\nTTTTTTTTTTTTACG\n" for i in range(50)))
    space = th.scan_fasta(tmp_path / "g.fa", kmer=3).space
    model = make([3.0, 1.0, 2.0], keys=[63, 6, 0], names=["TTT", "ACG", "AAA"], space=space)
    (view,) = located(model, tmp_path / "g.fa")
    # The first three of TTT, then the first of ACG, whose weight is smaller.
    assert [(at, name) for _, at, name in places(view)] == [*((at, "TTT") for at in range(3)), *[(12, "ACG")] * 2]
    assert set(view["sequence"]) == {"r0", "r1"}
    assert view["note"] == "The strongest 5 of 550 occurrences of 2 k-mers; 1 does not occur."


def test_positional_kmers_know_their_places(tmp_path):
    model, _ = kmers(tmp_path, {"1:CGT": 1.0, "9:CGT": -3.0}, kmer=3, positional=True)
    (view,) = positions_in_keys(model)
    assert list(zip(view["position"], view["weight"], view["name"], strict=True)) == [(9, 3, "9:CGT"), (1, 1, "1:CGT")]
    assert [view["kind"] for view in report_data(model)["views"]] == ["genome"]
    assert list(positions_in_keys(kmers(tmp_path, {"CGT": 1.0}, kmer=3)[0])) == []


def test_the_command(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(report, "check_library", lambda: None)
    monkeypatch.setattr(report, "prepare_library", lambda: None)
    monkeypatch.setattr(report, "write_report", lambda path, data: written.append(data))
    model, _ = kmers(tmp_path, {"ACGTT": 1.0}, kmer=5)
    model.save(tmp_path / "m.thr")
    fasta = [str(tmp_path / f"{name}.fa") for name in SEQUENCES]
    words = ["report", str(tmp_path / "m.thr"), *fasta, "--genome", fasta[0], "-o", str(tmp_path / "r.html")]
    made = CliRunner().invoke(make_app(), words)
    assert made.exit_code == 0, made.output
    kinds = [view["kind"] for view in written[0]["views"]]
    assert kinds.index("genome") < kinds.index("confusion")
    refused = CliRunner().invoke(make_app(), ["report", str(tmp_path / "m.thr"), "--genome", fasta[0], "-o", fasta[0]])
    assert refused.exit_code == 2
    assert "would replace" in refused.output
    with pytest.raises(SpaceError, match="do not occur in sequences"):
        make([1.0]).report(path=tmp_path / "r.html", genome=fasta)
