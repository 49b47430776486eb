"""Stand-in data of the MISSION paper's experiments: what is made up, what is read, what is left out without it."""

from __future__ import annotations

import importlib
import lzma
from pathlib import Path

import pytest

from benchmarks.papers.mission import clicks, table4, table5


def test_made_up_clicks_are_rare_and_can_be_predicted(tmp_path: Path) -> None:
    best = clicks.write(tmp_path / "log.vw", 5000, seed=3)
    lines = (tmp_path / "log.vw").read_text().splitlines()
    assert len(lines) == 5000
    assert all(len(line.split("|")[1].split()) == clicks.COLUMNS for line in lines)
    assert 0.02 < sum(line.startswith("1 ") for line in lines) / 5000 < 0.07
    assert 0.7 < best < 0.95
    clicks.write(tmp_path / "again.vw", 5000, seed=3)
    assert (tmp_path / "again.vw").read_text().splitlines() == lines


def test_a_line_of_the_criteo_log_becomes_tokens() -> None:
    fields = ["1", "-1", "", "2", "20", *[""] * 9, "68fd1e64", *[""] * 24, "ab"]
    assert table4.as_tokens("\t".join(fields) + "\n") == "1 | I1=is-1 I3=is2 I4=5 C1=68fd1e64 C26=ab\n"
    assert table4.as_tokens("0\t" + "\t" * 38 + "\n") == "-1 | \n"


def test_sites_are_the_letters_around_them(tmp_path: Path) -> None:
    letters = "C" * table5.SITE + "AG" + "T" * 199
    with lzma.open(tmp_path / "sites.tsv.xz", "wt") as out:
        out.write(f"-1\t{letters}\n1\t{letters}\n")
    batches = [batch for batch, _ in table5.sites(str(tmp_path / "sites.tsv.xz"), tmp_path, "train").batches()]
    assert [list(batch.y) for batch in batches] == [[-1.0, 1.0]]
    assert batches[0].nnz == 2 * table5.ENTRIES


@pytest.mark.parametrize("name", ["figure4", "figure5", "figure6", "table5"])
def test_without_data_a_part_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("THRESHER_GENOMES", "THRESHER_SPLICE"):
        monkeypatch.delenv(variable, raising=False)
    assert "Not run" in importlib.import_module(f"benchmarks.papers.mission.{name}").run()
