"""FASTA and FASTQ files read back; what they are called; and what is wrong with them."""

from __future__ import annotations

import bz2
import gzip
import logging
import lzma
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.native.sources.test_kmers import forms, texts
from tests.reference.sources import kmers as twin
from tests.sources.reading import exactly, read, rows_of
from thresher.core.memory import ReadLimits
from thresher.errors import DataError, SettingsError, SpaceError
from thresher.sources.base import Prefetched
from thresher.sources.registry import as_source, is_file_source, scan
from thresher.sources.sequences.fasta import scan_fasta

OFTEN = examples(80, HealthCheck.function_scoped_fixture)


def options_of(form: twin.Form) -> dict:
    fields = form._asdict()
    return {"kmer": fields.pop("lengths"), **fields}


def skipping(source, rows: int = 8192):
    """All rows, and the bad records counted on the way."""
    batches = list(source.batches(rows))
    return [row for batch, _ in batches for row in rows_of(batch)], batches[-1][1].skipped if batches else 0


@OFTEN
@given(text=texts(), form=forms(), rows=st.integers(1, 9), block=st.integers(1, 150), data=st.data())
def test_files_read_back(tmp_path, text, form, rows, block, data):
    """Any file, in blocks of any size, compressed in any way, gone on with from any cursor, in any shards."""
    path = tmp_path / "sample.fa"
    change = data.draw(st.sampled_from([bytes, gzip.compress, lzma.compress, bz2.compress, blocked_gzip]))
    path.write_bytes(change(text))
    source = scan_fasta(path, on_error="skip", **options_of(form)).limited(ReadLimits(block=block))
    good, bad = twin.records(text)
    whole = [record for record in good if len(record.letters) >= min(form.lengths)]
    batches = list(source.batches(rows))
    got = [row for batch, _ in batches for row in rows_of(batch)]
    assert len(got) == len(whole)
    for row, record in zip(got, whole, strict=True):
        keys, values, _ = twin.row(record.letters, form)
        assert list(row.keys) == keys
        np.testing.assert_allclose(row.values, values, rtol=1e-6)
        assert row.y == "sample"
    assert source.drop_count.dropped == sum(twin.row(record.letters, form)[2] for record in whole)
    # A file without a byte counts as one that is bad.
    skipped = len(bad) + len(good) - len(whole) + (text == b"")
    assert (batches[-1][1].skipped if batches else 0) == skipped
    if batches:
        cursor = data.draw(st.sampled_from([cursor for _, cursor in batches]))
        assert exactly(read(source, start=cursor)) == exactly(got[cursor.row :])
    by_shards = [row for shard in source.shards(3) for row in read(shard)]
    assert exactly(by_shards) == exactly(got)


def blocked_gzip(text: bytes) -> bytes:
    """As bgzip writes it: members of a few bytes that say how long they are, and an empty one at the end."""
    out = b""
    for at in [*range(0, len(text), 40), len(text)]:
        piece = text[at : at + 40]
        packer = zlib.compressobj(wbits=-15)
        packed = packer.compress(piece) + packer.flush()
        size = (len(packed) + 25).to_bytes(2, "little")
        head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + size
        out += head + packed + zlib.crc32(piece).to_bytes(4, "little") + len(piece).to_bytes(4, "little")
    return out


# Classes


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("E. coli K12.fa", "E. coli K12"),
        ("GCF_000005845.2_ASM584v2_genomic.fna.gz", "GCF_000005845.2_ASM584v2_genomic"),
        ("reads.FASTQ.BZ2", "reads"),
        ("reads.fq.xz", "reads"),
        ("plain", "plain"),
        (".fa", ".fa"),
        ("a.fa.fa", "a.fa"),
        ("notes.txt", "notes.txt"),
    ],
)
def test_the_file_is_the_class(tmp_path, name, label):
    (tmp_path / name).write_bytes(b">a\nACGT\n>b\nACGT\n")
    (batch,) = [batch for batch, _ in scan_fasta(tmp_path / name, kmer=3).batches()]
    assert batch.y.dtype == object
    assert batch.y.tolist() == [label, label]


def test_renaming_a_file_is_another_data_set(tmp_path):
    for name in ("a.fa", "b.fa"):
        (tmp_path / name).write_bytes(b">a\nACGT\n")
    first, second = (scan_fasta(tmp_path / name, kmer=3).fingerprint() for name in ("a.fa", "b.fa"))
    assert first != second


def test_a_table_gives_the_classes(tmp_path):
    (tmp_path / "a.fa").write_bytes(b">r1 x\nACGT\n>r2\nAAAA\n")
    (tmp_path / "table.tsv").write_text("r2\tone\nr1\tother\n")
    source = scan_fasta(tmp_path / "a.fa", kmer=3, labels=tmp_path / "table.tsv")
    assert [row.y for row in read(source)] == ["other", "one"]
    before = source.fingerprint()
    (tmp_path / "table.tsv").write_text("r2\tone\nr1\tthis\n")
    assert scan_fasta(tmp_path / "a.fa", kmer=3, labels=tmp_path / "table.tsv").fingerprint() != before


def test_a_record_without_a_label(tmp_path):
    (tmp_path / "a.fa").write_bytes(b">r1\nACGT\n>r2\nAAAA\n>r3\nACCC\n")
    (tmp_path / "table.tsv").write_text("r1\tone\nr3\tother\n")
    options = {"kmer": 3, "labels": tmp_path / "table.tsv"}
    with pytest.raises(DataError, match=r"a\.fa: line 3, column 1: record 'r2' has no label in the label table"):
        read(scan_fasta(tmp_path / "a.fa", **options))
    got, skipped = skipping(scan_fasta(tmp_path / "a.fa", on_error="skip", **options))
    assert ([row.y for row in got], skipped) == (["one", "other"], 1)
    got = read(scan_fasta(tmp_path / "a.fa", **options), want_labels=False)
    assert [row.y for row in got][::2] == ["one", "other"]
    assert np.isnan(got[1].y)


# Formats


@pytest.mark.parametrize(
    "name", ["a.fa", "a.fasta", "a.fna.gz", "a.fq", "a.fastq.zst", "a.ffn.xz", "a.fas", "a", "a.txt"]
)
def test_formats_are_guessed(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b">a\nACGT\n")
    assert scan(path, kmer=3).format == "fasta"
    path.write_bytes(b"@a\nACGT\n+\nIIII\n")
    source = scan(path, kmer=3)
    assert source.format == "fasta"
    assert is_file_source(source)
    assert len(read(source)) == 1


def test_options_are_for_sequences_only(tmp_path):
    (tmp_path / "a.svm").write_bytes(b"1 2:3\n")
    with pytest.raises(SettingsError, match="`kmer`: not an option for libsvm files, only for fasta"):
        scan(tmp_path / "a.svm", kmer=3)
    with pytest.raises(SettingsError, match="kmer: for files"):
        as_source(np.eye(2), [0, 1], kmer=3)
    for data in (tmp_path / "a.svm", np.eye(2)):
        with pytest.raises(TypeError, match="kmers"):
            as_source(data, kmers=3)
        with pytest.raises(TypeError, match="passess"):
            th.select(data, k=1, passess=3)
    (tmp_path / "a.fa").write_bytes(b">a\nACGT\n")
    with pytest.raises(SettingsError, match="multilabel"):
        scan(tmp_path / "a.fa", multilabel=True)
    with pytest.raises(SettingsError, match="pass `fragments`"):
        scan(tmp_path / "a.fa", coverage=3)
    with pytest.raises(SettingsError, match="on_error"):
        scan(tmp_path / "a.fa", on_error="ignore")


# Bad input

BAD = [
    ("no header", b"ACGT\n>a\nACGT\n", 1, 1, "starts with '>'", 1),
    ("empty", b">a\n>b\nACGT\n", 1, 1, "record 'a' is empty", 1),
    ("short", b">a\nACGT\n>b\nAC\n", 3, 1, "'b' has 2 letters, fewer than a k-mer of 3: choose a smaller", 1),
    ("byte", b">a\nACGT\nAC\0T\n>b\nACGT\n", 3, 3, "unexpected byte 0x00", 1),
    ("quality", b"@a\nACGT\n+\nIII\n@b\nACGT\n+\nIIII\n", 4, 1, "has 3 letters, its sequence 4", 1),
    ("half a record", b"@a\nACGT\n+\nIIII\n@b\nACGT\n", 5, 1, "the file ends within record 'b'", 1),
    ("not a sequence", b"%PDF-1.4\n1 0 obj\n", 1, 1, "starts with '>'", 0),
]


@pytest.mark.parametrize(("what", "text", "line", "column", "told", "good"), BAD, ids=[case[0] for case in BAD])
def test_bad_records(tmp_path, caplog, what, text, line, column, told, good):
    caplog.set_level(logging.WARNING, logger="thresher")
    path = tmp_path / "rows.fa"
    path.write_bytes(text)
    for block in (1, 7, 1000):
        limits = ReadLimits(block=block)
        with pytest.raises(DataError) as caught:
            read(scan_fasta(path, kmer=3).limited(limits))
        assert f"{path}: line {line}, column {column}: " in str(caught.value)
        assert told in str(caught.value)
        assert 'such records with `on_error="skip"`' in str(caught.value)
        got, skipped = skipping(scan_fasta(path, kmer=3, on_error="skip").limited(limits))
        assert (len(got), skipped) == (good, 1)
    assert any(f"line {line}, column {column}: " in record.getMessage() for record in caplog.records)


def test_rows_before_a_bad_record_come_first(tmp_path):
    path = tmp_path / "rows.fa"
    path.write_bytes(b">a\nACGT\n" * 5 + b">b\n>c\nACGT\n")
    for rows in (1, 2, 100):
        got = 0
        with pytest.raises(DataError, match="line 11"):
            for batch, _ in Prefetched(scan_fasta(path, kmer=3)).batches(rows):
                got += len(batch)
        assert got == 5


def test_shards_tell_the_line_of_the_file(tmp_path):
    path = tmp_path / "rows.fa"
    for number in (0, 7, 19):
        records = [b">r\nACGT\nAC\n"] * 20
        records[number] = b">r\nACGT\nA?\n"
        path.write_bytes(b"".join(records))
        for n in (1, 2, 5):
            with pytest.raises(DataError, match=rf"line {3 * number + 3}, column 2: unexpected '\?'"):
                for shard in scan_fasta(path, kmer=3).shards(n):
                    read(shard)


def test_a_record_over_the_cap(tmp_path):
    path = tmp_path / "rows.fa"
    path.write_bytes(b">a\n" + b"ACGT\n" * 20_000 + b">b\nACGTA\n")
    small = ReadLimits(window=1 << 20)
    with pytest.raises(DataError, match=r"'a' has more than 65536 letters.*give more memory, or draw fragments"):
        read(scan_fasta(path, kmer=3).limited(small))
    got, skipped = skipping(scan_fasta(path, kmer=3, on_error="skip").limited(small))
    assert (len(got), skipped) == (1, 1)
    assert len(read(scan_fasta(path, kmer=3))) == 2


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_a_file_cut_short(tmp_path, compress):
    """The records before the damage come out whole, the one in it does not."""
    rng = np.random.default_rng(1)
    records = [b">r%d\n" % i + bytes(rng.choice(list(b"ACGT"), 60).tolist()) + b"\n" for i in range(5000)]
    data = compress(b"".join(records))
    path = tmp_path / "rows.fa"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match="cut short"):
        read(scan_fasta(path))
    counts = set()
    for block in (1000, 1 << 20):
        got, skipped = skipping(scan_fasta(path, on_error="skip").limited(ReadLimits(block=block)))
        counts.add((len(got), skipped))
        whole = read(scan_fasta(_written(tmp_path / "whole.fa", b"".join(records[: len(got)]))))
        assert [row.keys for row in got] == [row.keys for row in whole]
    ((n, skipped),) = counts
    assert 0 < n < 5000
    assert skipped == 1


def _written(path, text: bytes):
    path.write_bytes(text)
    return path


def test_empty_files(tmp_path):
    path = tmp_path / "rows.fa"
    for content in (b"", gzip.compress(b"")):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"rows\.fa: the file is empty\. Check"):
            read(scan(path))
        assert skipping(scan(path, on_error="skip")) == ([], 1)
    path.write_bytes(b"\n \r\n\n")
    assert read(scan(path)) == []


def test_what_was_left_out_is_told_once(tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="thresher")
    path = _written(tmp_path / "rows.fa", b">a\nACGTNACGT\n")
    source = scan_fasta(path, kmer=3)
    for _ in range(2):
        read(source)
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [f"{path}: dropped 3 k-mers with letters other than A, C, G and T"]


# A model of sequences


def test_a_model_reads_as_it_was_made(tmp_path):
    """`predict` takes k and the rest from the model, and refuses data of another kind."""
    rng = np.random.default_rng(0)
    for name, motif in (("one.fa", b"ACGTTGCAAC"), ("two.fa", b"TTGACCATGA")):
        records = []
        for i in range(150):
            letters = rng.choice(list(b"ACGT"), 60)
            letters[20:30] = list(motif)
            records.append(b">%d\n" % i + bytes(letters.tolist()) + b"\n")
        (tmp_path / name).write_bytes(b"".join(records))
    paths = [tmp_path / "one.fa", tmp_path / "two.fa"]
    model = th.select(paths, k=20, kmer=(4, 7), canonical=True, counts="count", unit=True, passes=4)
    assert model.classes == ["one", "two"]
    model.save(tmp_path / "model.thr")
    model = th.load(tmp_path / "model.thr")
    assert {len(name) for name in model.names} <= {4, 7}
    predicted = model.predict(paths)
    assert np.mean(predicted == np.repeat(["one", "two"], 150)) > 0.9
    np.testing.assert_array_equal(model.predict(scan_fasta(paths, **model.space.kmers.reading())), predicted)
    assert model.transform(paths).shape == (300, 20)
    with pytest.raises(SpaceError, match="canonical 4- and 7-mers"):
        model.predict(paths, kmer=5)
    (tmp_path / "rows.svm").write_bytes(b"1 2:3\n")
    with pytest.raises(SpaceError, match="indices as written"):
        model.predict(tmp_path / "rows.svm")
    with pytest.raises(SpaceError, match="columns by position"):
        model.predict(np.eye(3))
