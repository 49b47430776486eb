"""Fragments drawn from genomes."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference.sources import kmers as twin
from tests.sources.reading import exactly, read
from thresher.core.memory import ReadLimits
from thresher.errors import DataError, SettingsError
from thresher.sources.sequences.fasta import scan_fasta


def genome(seed: int, length: int) -> bytes:
    return bytes(np.random.default_rng(seed).choice(list(b"ACGT"), length).tolist())


@pytest.fixture
def genomes(tmp_path):
    """Two files: one of 3000 letters in two records, one of 1000."""
    first = genome(1, 3000)
    (tmp_path / "large.fa").write_bytes(b">a\n" + first[:1800] + b"\n>b\n" + first[1800:] + b"\n")
    (tmp_path / "small.fa").write_bytes(b">c\n" + genome(2, 1000) + b"\n")
    return [tmp_path / "large.fa", tmp_path / "small.fa"]


@examples(60, HealthCheck.function_scoped_fixture)
@given(
    sequences=st.lists(st.text("ACGTacgtNRX-", min_size=6, max_size=50), min_size=1, max_size=5),
    length=st.integers(3, 6),
    wildcards=st.booleans(),
    seed=st.integers(0, 2**40),
    coverage=st.floats(0.1, 4),
)
def test_fragments_are_those_of_the_twin(tmp_path, sequences, length, wildcards, seed, coverage):
    path = tmp_path / "g.fa"
    path.write_text("".join(f">{i}\n{letters}\n" for i, letters in enumerate(sequences)))
    drawn = {"fragments": length, "coverage": coverage, "seed": seed}
    source = scan_fasta(path, kmer=3, wildcards=wildcards, **drawn)
    lengths = [len(letters) for letters in sequences]
    assert source.total_rows == max(1, round(coverage * sum(lengths) / length))
    left_out = 0
    got = read(source)
    assert len(got) == source.total_rows
    for number, row in enumerate(got):
        record, at = twin.fragment(number, seed, lengths, length)
        letters = sequences[record][at : at + length].encode()
        keys, _, out = twin.row(letters, twin.Form((3,), wildcards=wildcards))
        assert list(row.keys) == keys
        left_out += out
    assert source.drop_count.dropped == left_out


def test_every_place_is_as_likely(genomes):
    """The number of fragments from each record, and from each tenth of it, is what chance makes it."""
    source = scan_fasta(genomes, kmer=8, fragments=50, coverage=500)
    n = source.total_rows
    assert n == 40_000
    held = source._loaded(want_labels=True).genomes
    drawn = [held.draw(number, 0) for number in range(n)]
    starts = [1800 - 49, 1200 - 49, 1000 - 49]
    for record, places in enumerate(starts):
        offsets = [offset for contig, offset in drawn if contig == record]
        share = places / sum(starts)
        assert abs(len(offsets) - n * share) < 4 * math.sqrt(n * share * (1 - share))
        tenths = np.histogram(offsets, 10, (0, places))[0]
        assert np.abs(tenths - len(offsets) / 10).max() < 4 * math.sqrt(len(offsets) / 10)


def test_classes_are_mixed(genomes):
    """In any stretch of the rows both files come up in proportion to their length."""
    labels = np.array([row.y for row in read(scan_fasta(genomes, kmer=8, fragments=50, coverage=100))])
    assert set(labels) == {"large", "small"}
    for stretch in np.array_split(labels == "large", 8):
        assert abs(stretch.mean() - 0.75) < 0.1


def test_the_seed_decides(genomes):
    one, same, other = (
        exactly(read(scan_fasta(genomes, kmer=8, fragments=50, coverage=2, seed=seed))) for seed in (1, 1, 2)
    )
    assert one == same != other


def test_another_order_of_the_same_fragments(genomes):
    source = scan_fasta(genomes, kmer=8, fragments=50, coverage=3)
    rows = exactly(read(source))
    orders = [exactly(read(source.shuffled(seed, rows=10, features=100))) for seed in range(3)]
    for order in orders:
        assert sorted(order) == sorted(rows)
    assert len({tuple(order) for order in (rows, *orders)}) == 4
    shuffled = source.shuffled(0, rows=10, features=100)
    by_shards = [row for shard in shuffled.shards(3) for row in read(shard)]
    assert exactly(by_shards) == orders[0]
    within = [row for shard in source.shards(3) for row in read(shard.shuffled(1, rows=10, features=100))]
    assert sorted(exactly(within)) == sorted(rows)


def test_genomes_are_read_once(genomes, monkeypatch):
    """However a source is limited, shuffled, divided and wrapped."""
    from thresher.sources.sequences import fragments

    loads = []
    load = fragments.FragmentSource._load
    monkeypatch.setattr(fragments.FragmentSource, "_load", lambda self, w: loads.append(w) or load(self, w))
    source = scan_fasta(genomes, kmer=8, fragments=50)
    th.select(source, k=5, passes=2, holdout=0.3)
    for shard in source.shuffled(3, rows=1, features=1).shards(2):
        read(shard.limited(ReadLimits(block=100)))
    assert len(loads) == 1


def test_letters_take_two_bits(tmp_path):
    (tmp_path / "g.fa").write_bytes(b">a\n" + genome(1, 400_000) + b"\n")
    plain, wild = (scan_fasta(tmp_path / "g.fa", fragments=200, wildcards=wildcards) for wildcards in (False, True))
    assert 100_000 <= plain.held_bytes < 112_000
    assert 200_000 <= wild.held_bytes < 220_000
    assert plain.limited(ReadLimits(window=112_000)).total_rows == 2000
    tight = scan_fasta(tmp_path / "g.fa", fragments=200).limited(ReadLimits(window=90_000))
    with pytest.raises(DataError, match=r"g\.fa: the sequences, at 2 bits .* more than the 0\.1 MB .* Raise `memory`"):
        read(tight)
    with pytest.raises(DataError, match="Raise `memory`"):
        read(plain.limited(ReadLimits(window=90_000)))  # though they are there already


def test_records_shorter_than_a_fragment(tmp_path, caplog):
    caplog.set_level(logging.WARNING, logger="thresher")
    path = tmp_path / "g.fa"
    path.write_bytes(b">a\n" + genome(1, 500) + b"\n>b\nACGTACGTACGTACGT\n>c\n" + genome(2, 300) + b"\n")
    with pytest.raises(DataError, match=r"line 3, column 1: record 'b' has 16 letters, fewer than a fragment of 100"):
        read(scan_fasta(path, fragments=100))
    source = scan_fasta(path, fragments=100, on_error="skip")
    assert source.total_rows == 8
    assert {cursor.skipped for _, cursor in source.batches(1)} == {1}
    assert any("record 'b'" in record.getMessage() for record in caplog.records)
    path.write_bytes(b">b\nACGT\n")
    with pytest.raises(DataError, match="no record has the 100 letters"):
        read(scan_fasta(path, fragments=100, on_error="skip"))


def test_records_without_a_label(genomes, tmp_path):
    table = tmp_path / "table.tsv"
    table.write_text("a\tone\nc\tother\n")
    with pytest.raises(DataError, match="record 'b' has no label"):
        read(scan_fasta(genomes, fragments=50, labels=table))
    source = scan_fasta(genomes, fragments=50, labels=table, on_error="skip")
    assert source.total_rows == round(2800 / 50)
    assert {row.y for row in read(source)} == {"one", "other"}
    unlabelled = read(source, want_labels=False)
    assert len(unlabelled) == 80
    assert any(row.y != row.y for row in unlabelled)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"fragments": 11}, "at least 12"),
        ({"fragments": 200.0}, "at least"),
        ({"fragments": 200, "coverage": 0}, "coverage must be"),
        ({"fragments": 200, "coverage": math.nan}, "coverage must be"),
        ({"fragments": 200, "seed": -1}, "seed must be"),
        ({"fragments": 200, "positional": True}, "positions in random fragments"),
        ({"fragments": 200, "coverage": 1e12}, "lower it"),
    ],
)
def test_settings(genomes, options, told):
    with pytest.raises(SettingsError, match=told):
        read(scan_fasta(genomes, **options))


def test_standard_input_is_refused():
    with pytest.raises(SettingsError, match="write standard input to a file"):
        scan_fasta("-", fragments=200)


def test_where_a_fragment_is_from(genomes):
    source = scan_fasta(genomes, kmer=8, fragments=50, seed=4)
    ((batch, cursor),) = source.batches()
    letters = {"a": genome(1, 3000)[:1800], "b": genome(1, 3000)[1800:], "c": genome(2, 1000)}
    for row in (0, 5, 40):
        where = source.where(cursor, batch, row)
        _, _, rest = where.partition("letter ")
        at, _, record = rest.partition(" of record ")
        found = letters[record.strip("')")][int(at) - 1 :][:50]
        keys = batch.keys[batch.indptr[row] : batch.indptr[row + 1]].tolist()
        assert keys == twin.row(found, twin.Form((8,)))[0]


def test_learning_and_testing_draw_different_fragments(genomes):
    """Scores on the same genomes are of other fragments, and the same ones every time."""
    settings = {"k": 50, "kmer": 8, "fragments": 50, "coverage": 4.0, "passes": 3}
    first = th.select(genomes, test=genomes, **settings)
    again = th.select(genomes, test=genomes, **settings)
    np.testing.assert_array_equal(first.weights, again.weights)
    assert first.provenance["test"] == again.provenance["test"]
    same = th.select(genomes, test=scan_fasta(genomes, kmer=8, fragments=50, coverage=4.0, seed=0), **settings)
    assert same.provenance["test"] != first.provenance["test"]
    with pytest.raises(SettingsError, match="leave out kmer, fragments"):
        th.select(scan_fasta(genomes), **settings)
    other = th.select(genomes, random_state=1, **settings)
    assert other.provenance["fingerprint"] != first.provenance["fingerprint"]
