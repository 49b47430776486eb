"""Fragments held out by regions: no fragment to learn from overlaps one to test on."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.online.test_select import _StopAt, saved_bytes
from tests.reference.sources import kmers as twin
from tests.sources.reading import exactly, read
from thresher.sources.base import Source
from thresher.sources.sequences.fasta import scan_fasta
from thresher.sources.transforms.holdout import Split, hold_out

LENGTH = 20


def write(path: Path, lengths: list[int]) -> Path:
    rng = np.random.default_rng(len(lengths))
    letters = ["".join(rng.choice(list("ACGT"), n)) for n in lengths]
    path.write_text("".join(f">r{i}\n{text}\n" for i, text in enumerate(letters)))
    return path


def places(source: Source, lengths: list[int], seed: int, rows: int = 8192) -> list[tuple[int, int]]:
    """The record and the first letter of each fragment."""
    numbers = [int(n) - 1 for batch, _ in source.batches(rows) if batch.line is not None for n in batch.line]
    return [twin.fragment(number, seed, lengths, LENGTH) for number in numbers]


def overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] == other[0] and abs(one[1] - other[1]) < LENGTH


@examples(25)
@given(
    lengths=st.lists(st.integers(LENGTH, 1500), min_size=1, max_size=4),
    fraction=st.sampled_from([0.05, 0.2, 0.5, 0.9]),
    seed=st.integers(0, 2**40),
    rows=st.integers(1, 50),
)
def test_no_training_fragment_overlaps_a_test_fragment(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], fraction: float, seed: int, rows: int
) -> None:
    """Also of a nested split, and with any batch size."""
    source = scan_fasta(write(tmp_path_factory.mktemp("g") / "g.fa", lengths), kmer=4, fragments=LENGTH, seed=seed)
    training, test = hold_out(source, fraction, seed=seed)
    fitted, validation = hold_out(training, 0.3, seed=seed, split=Split.VALIDATION)
    found = {side: places(side, lengths, seed) for side in (training, test, fitted, validation)}
    for one, other in ((training, test), (fitted, validation)):
        assert not any(overlap(a, b) for a, b in product(found[one], found[other]))
    for side, all_places in found.items():
        assert places(side, lengths, seed, rows) == all_places
    assert set(found[fitted]) | set(found[validation]) <= set(found[training])


def test_every_long_record_has_both_sides(tmp_path: Path) -> None:
    """The shares are near the fraction, and few fragments are on neither side."""
    lengths = [20_000, 400, 5000]
    source = scan_fasta(write(tmp_path / "g.fa", lengths), kmer=4, fragments=LENGTH, coverage=4)
    training, test = (places(side, lengths, 0) for side in hold_out(source, 0.2))
    n = source.total_rows
    assert n is not None
    assert 0.14 * n < len(test) < 0.22 * n
    assert 0.7 * n < len(training) < 0.84 * n
    assert {record for record, _ in test} == {record for record, _ in training} == {0, 1, 2}
    again = hold_out(source, 0.2, seed=1)[1]
    assert places(again, lengths, 0) != test


def test_short_records_are_on_one_side(tmp_path: Path) -> None:
    lengths = [100] * 200
    source = scan_fasta(write(tmp_path / "g.fa", lengths), kmer=4, fragments=LENGTH, coverage=3)
    training, test = ({record for record, _ in places(side, lengths, 0)} for side in hold_out(source, 0.2))
    assert not training & test
    assert len(training | test) == 200
    assert 20 < len(test) < 60


def test_a_record_stays_on_its_side_in_another_order_of_files(tmp_path: Path) -> None:
    """The regions follow from names, so the same letters are held out."""
    files = [write(tmp_path / f"{name}.fa", [3000, 100, 100]) for name in "ab"]
    sides = []
    for order in (files, files[::-1]):
        test = hold_out(scan_fasta(order, kmer=4, fragments=LENGTH, coverage=20), 0.2)[1]
        rows = {(row.y, row.keys) for row in read(test)}
        sides.append(rows)
    assert len(sides[0] & sides[1]) > 0.5 * len(sides[0])


def test_select_holds_out_regions(tmp_path: Path) -> None:
    """And says so; same bits for any batch size and after an interrupt."""
    files = [write(tmp_path / "a.fa", [9000]), write(tmp_path / "b.fa", [9000, 300])]
    how: dict[str, Any] = {"k": 30, "kmer": 5, "fragments": 50, "coverage": 3, "holdout": 0.2}
    how |= {"passes": 1, "refit": False}
    found = th.select(files, **how)
    held = found.provenance["holdout"]
    assert held["by"] == "regions"
    assert held["rows"] == "20 % of the letters, in regions that no training fragment overlaps"
    assert found.provenance["test"]["rows"] + found.provenance["rows"] < round(18_300 * 3 / 50)
    whole = saved_bytes(found, tmp_path / "s")
    assert saved_bytes(th.select(files, **how, batch_rows=17), tmp_path / "s") == whole
    with pytest.raises(th.Interrupted):
        th.select(files, **how, batch_rows=100, checkpoint=tmp_path / "c", progress=_StopAt(3))
    assert saved_bytes(th.select(files, **how, checkpoint=tmp_path / "c"), tmp_path / "s") == whole


def test_shuffled_and_split_fragments_stay_on_their_side(tmp_path: Path) -> None:
    source = scan_fasta(write(tmp_path / "g.fa", [4000]), kmer=4, fragments=LENGTH, coverage=2)
    for side in hold_out(source, 0.3):
        whole = sorted(exactly(read(side)))
        assert sorted(exactly(read(side.shuffled(1, rows=50, features=10**6)))) == whole
        assert sorted(exactly(row for shard in side.shards(3) for row in read(shard))) == whole
