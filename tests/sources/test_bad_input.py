"""Bad input: an error that says where and what to do, or a counted skip after which all good rows are there."""

from __future__ import annotations

import bz2
import gzip
import logging
import lzma
import zlib

import pytest
import zstandard

from tests.sources.reading import exactly, read, rows_of
from thresher.core.memory import ReadLimits
from thresher.errors import DataError, SettingsError
from thresher.sources.base import Prefetched
from thresher.sources.registry import scan
from thresher.sources.text.line_formats import LineSource, scan_libsvm, scan_vw
from thresher.sources.transforms.holdout import HeldOut
from thresher.sources.transforms.weights import Weighted

# What is wrong, the bad line, its column, the text shown from there, and what the message says.
BAD_LIBSVM = [
    ("bad number", b"1 2:3 4:x5", 9, "'x5'", "not a number"),
    ("bad number", b"1 2:3e 4:5", 5, "'3e 4:5'", "not a number"),
    ("text after", b"1 2:3.5.5", 8, "'.5'", "unexpected text"),
    ("missing colon", b"1 2:3 45", 7, "'45'", "no ':'"),
    ("missing value", b"1 2:", 5, "'1 2:'", "not a number"),
    ("nan", b"1 2:nan", 5, "'nan'", "nan and inf are refused"),
    ("infinity", b"1 7:1 2:-inf", 9, "'-inf'", "nan and inf are refused"),
    ("too large", b"1 2:1e39", 5, "'1e39'", "too large"),
    ("index", b"1 18446744073709551616:1", 3, "'18446744073709551616:1'", "2^64 - 1"),
    ("negative index", b"1 -3:1", 3, "'-3:1'", "index:value"),
    ("label", b"one 2:3", 1, "'one 2:3'", "label is not a number"),
    ("nan label", b"nan 2:3", 1, "'nan 2:3'", "label is not a number"),
    ("no label", b"2:3 4:5", 1, "'2:3 4:5'", "label is missing"),
    ("labels", b"1,2 3:4", 2, "',2 3:4'", "multilabel=True"),
    ("qid", b"1 qid:x 3:4", 3, "'qid:x 3:4'", "qid"),
    ("NUL", b"1 2:3 \0 4:5", 7, r"'\x00 4:5'", "index:value"),
    ("bytes", b"1 2:3 \xff\xfe", 7, r"'\\xff\\xfe'", "index:value"),
    ("long", b"1 " + b"2:3 " * 2000 + b"oops" * 20, 8003, "'" + "oops" * 10 + "'…", "index:value"),
]
BAD_VW = [
    ("bad number", b"1 |a b:x5", 8, "'x5'", "not a number"),
    ("text after", b"1 |a b:1:2", 9, "':2'", "unexpected text"),
    ("no bar", b"1 2 3", 6, "'1 2 3'", "no '|'"),
    ("nan", b"1 |a b:nan", 8, "'nan'", "nan and inf are refused"),
    ("too large", b"1 |a b:1e39", 7, "':1e39'", "too large"),
    ("scale", b"1 |a:x b", 6, "'x b'", "scale"),
    ("label", b"one |a b", 1, "'one |a b'", "label is not a number"),
    ("no label", b"|a b", 1, "'|a b'", "label is missing"),
    ("importance", b"1 -2 |a b", 1, "'1 -2 |a b'", "negative"),
    ("no name", b"1 |a :2", 6, "':2'", "without a name"),
    ("NUL", b"1 |a b\0c", 7, r"'\x00c'", "unexpected"),
]
BAD_LINES = [("libsvm", *case) for case in BAD_LIBSVM] + [("vw", *case) for case in BAD_VW]
SCAN = {"libsvm": scan_libsvm, "vw": scan_vw}
GOOD = {"libsvm": b"1 2:3\n", "vw": b"1 |a b:3\n"}


@pytest.fixture
def told(caplog):
    """The warnings logged so far."""
    caplog.set_level(logging.WARNING, logger="thresher")
    return lambda: [record.getMessage() for record in caplog.records]


def skipping(source: LineSource, rows: int = 8192):
    """All rows, and the bad lines counted on the way."""
    batches = list(source.batches(rows))
    return [row for batch, _ in batches for row in rows_of(batch)], batches[-1][1].skipped if batches else 0


# Lines


@pytest.mark.parametrize(
    ("format", "what", "line", "column", "shown", "message"), BAD_LINES, ids=[f"{c[0]}-{c[1]}" for c in BAD_LINES]
)
@pytest.mark.parametrize("where", ["first", "middle", "last", "only"])
def test_a_bad_line(tmp_path, told, format, what, line, column, shown, message, where):
    good = GOOD[format]
    before = {"first": 0, "middle": 3, "last": 3, "only": 0}[where]
    after = {"first": 2, "middle": 2, "last": 0, "only": 0}[where]
    path = tmp_path / "rows"
    path.write_bytes(good * before + line + b"\n" * (where != "last") + good * after)
    with pytest.raises(DataError) as caught:
        read(SCAN[format](path))
    text = str(caught.value)
    assert f"{path}: line {before + 1}, column {column}: " in text
    assert shown in text
    assert message in text
    assert 'on_error="skip"' in text
    assert len(text) < 300 + len(str(path))
    for rows in (1, 2, 100):
        got, skipped = skipping(SCAN[format](path, on_error="skip"), rows)
        assert skipped == 1
        assert len(got) == before + after
    assert any(f"line {before + 1}, column {column}: " in warning for warning in told())


def test_rows_before_the_bad_line_come_first(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b"1 2:3\n" * 5 + b"oops\n" + b"1 2:3\n")
    for rows in (1, 2, 3, 100):
        got = 0
        with pytest.raises(DataError, match="line 6"):
            for batch, _ in scan_libsvm(path).batches(rows):
                got += len(batch)
        assert got == 5


def test_many_bad_lines_are_all_counted_but_few_are_told(tmp_path, told):
    path = tmp_path / "rows"
    path.write_bytes(b"1 2:3\noops\n" * 300)
    for rows in (1, 7, 1000):
        got, skipped = skipping(scan_libsvm(path, on_error="skip"), rows)
        assert (len(got), skipped) == (300, 300)
    assert len(told()) == 3 * 5


@pytest.mark.parametrize("change", ["read-ahead", "weighted", "shuffled", "held-out"])
def test_the_count_passes_through_combinators(tmp_path, change):
    path = tmp_path / "rows"
    path.write_bytes(b"oops\n" + b"".join(b"1 2:%d\n" % i for i in range(40)) + b"oops\noops\n")
    source = scan_libsvm([path, path], on_error="skip")
    changed = {
        "read-ahead": Prefetched(source),
        "weighted": Weighted(source, {1: 2}),
        "shuffled": source.shuffled(0, rows=16, features=100),
        "held-out": HeldOut(source, 0.1, held=True),
    }[change]
    for rows in (1, 1000):
        *_, (_, last) = changed.batches(rows)
        assert last.skipped == 6
        assert list(changed.batches(rows, start=last)) == []


def test_on_error_is_checked(tmp_path):
    with pytest.raises(SettingsError, match="on_error"):
        scan_libsvm(tmp_path / "rows", on_error="ignore")


@pytest.mark.parametrize("n", [2, 3, 7])
def test_shards_tell_the_line_of_the_file(tmp_path, n):
    path = tmp_path / "rows"
    lines = [b"1 2:3"] * 40
    for number in (0, 13, 39):
        bad = [*lines]
        bad[number] = b"1 x"
        path.write_bytes(b"\n".join(bad) + b"\n")
        with pytest.raises(DataError, match=rf"line {number + 1}, column 3"):
            for shard in scan_libsvm(path).shards(n):
                read(shard)


def test_an_error_passes_through_reading_ahead(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b"1 2:3\n" * 50 + b"1 x\n")
    with pytest.raises(DataError) as plain:
        read(scan_libsvm(path))
    with pytest.raises(DataError) as ahead:
        read(Prefetched(scan_libsvm(path)), 1)
    assert type(ahead.value) is DataError
    assert str(ahead.value) == str(plain.value)


# Lines over the cap


@pytest.mark.parametrize("block", [1, 16, 49, 50, 51, 52, 64, 1000])
@pytest.mark.parametrize("ending", [b"\n", b""])
@pytest.mark.parametrize("where", ["first", "middle", "last", "only"])
def test_a_line_over_the_cap(tmp_path, told, block, ending, where):
    """With a cap of 50, a line of 50 bytes passes and one of 51 does not, wherever it and the blocks lie."""
    cap = 50
    path = tmp_path / "rows"
    for length, good in ((49, True), (50, True), (51, False), (52, False), (100, False), (1500, False)):
        line = b"1 2:3".ljust(length, b" ")
        before = [] if where in ("first", "only") else [b"1 4:5", b"1 6:7"]
        after = [] if where in ("last", "only") else [b"1 8:9", b"1 10:11"]
        path.write_bytes(b"\n".join([*before, line, *after]) + ending)
        limits = ReadLimits(block=block, line_cap=cap)
        source = scan_libsvm(path, on_error="skip").limited(limits)
        got, skipped = skipping(source)
        kept = len(before) + len(after) + good
        assert (len(got), skipped) == (kept, 0 if good else 1)
        by_shard = [row for shard in source.shards(3) for row in read(shard)]
        assert exactly(by_shard) == exactly(got)
        if not good:
            size = length + bool(after or ending)
            what = rf"line {len(before) + 1}, column 51: .*longer than 50 .*has {size}: .*1.0 MB.*'1 2:3"
            with pytest.raises(DataError, match=what):
                for shard in scan_libsvm(path).limited(limits).shards(2):
                    read(shard)
    assert not any("empty" in warning for warning in told())


@pytest.mark.parametrize("field", ["block", "line_cap", "window"])
def test_limits_are_checked(field):
    with pytest.raises(SettingsError):
        ReadLimits(**{field: 0})


# Compressed files

ROWS = 10_000
TEXT = b"".join(b"%d 1:%d 7:0.5 %d:%d.25\n" % (i % 2, i, i * 7919 % 100003, i * 31337 % 1009) for i in range(ROWS))


#: bzip2 and Zstandard in blocks small enough that a cut leaves some whole ones.
COMPRESS = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": lambda text: bz2.compress(text, 1),
    "zst": lambda text: zstandard.ZstdCompressor(write_checksum=True).compress(text),
}


def decodable(kind: str, data: bytes) -> bytes:
    """What the format's own library makes of data that was cut short."""
    maker = {
        "gz": lambda: zlib.decompressobj(wbits=31),
        "xz": lzma.LZMADecompressor,
        "bz2": bz2.BZ2Decompressor,
        "zst": lambda: zstandard.ZstdDecompressor().decompressobj(),
    }
    return maker[kind]().decompress(data)


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2", "zst"])
@pytest.mark.parametrize("kept", [0.1, 0.8, "last byte"])
def test_a_file_cut_short(tmp_path, told, kind, kept):
    data = COMPRESS[kind](TEXT)
    data = data[: -1 if kept == "last byte" else int(len(data) * kept)]
    path = tmp_path / "rows"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"rows: the .* data is cut short\. Fetch"):
        read(scan_libsvm(path))
    lines = decodable(kind, data).count(b"\n")
    assert lines > 0 or kept == 0.1
    assert lines < ROWS or kept == "last byte"
    for block in (1000, 1 << 20):
        limits = ReadLimits(block=block)
        got, skipped = skipping(scan_libsvm(path, on_error="skip").limited(limits))
        assert (len(got), skipped) == (lines, 1)
        assert [row.keys[-1] for row in got] == [i * 7919 % 100003 for i in range(lines)]
    assert any("cut short" in warning and "without the rest" in warning for warning in told())


def test_rows_after_a_file_cut_short_still_come(tmp_path):
    (tmp_path / "a1").write_bytes(gzip.compress(TEXT)[:2000])
    (tmp_path / "a2").write_bytes(TEXT)
    got, skipped = skipping(scan_libsvm(tmp_path, on_error="skip"))
    assert len(got) == ROWS + decodable("gz", gzip.compress(TEXT)[:2000]).count(b"\n")
    assert skipped == 1


def test_a_wrong_checksum(tmp_path):
    """All rows of a gzip file are there, only its last eight bytes say otherwise."""
    data = bytearray(gzip.compress(TEXT))
    data[-6] ^= 1
    path = tmp_path / "rows"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"rows: the gzip data is damaged .*Fetch"):
        read(scan_libsvm(path))
    got, skipped = skipping(scan_libsvm(path, on_error="skip"))
    assert (len(got), skipped) == (ROWS, 1)


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2", "zst"])
def test_a_damaged_middle(tmp_path, kind):
    data = bytearray(COMPRESS[kind](TEXT))
    data[len(data) // 2 : len(data) // 2 + 8] = b"\xff" * 8
    path = tmp_path / "rows"
    path.write_bytes(data)
    with pytest.raises(DataError, match="rows"):
        read(scan_libsvm(path))
    counts = set()
    for block in (1000, 1 << 16, 1 << 20):
        got, skipped = skipping(scan_libsvm(path, on_error="skip").limited(ReadLimits(block=block)))
        assert skipped >= 1
        counts.add((len(got), skipped))
    assert len(counts) == 1  # whatever the block


def test_garbage_behind_a_member(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(gzip.compress(TEXT) + b"garbage")
    with pytest.raises(DataError, match="damaged"):
        read(scan_libsvm(path))
    assert skipping(scan_libsvm(path, on_error="skip")) == (read_plain(tmp_path), 1)


def read_plain(folder):
    (folder / "plain").write_bytes(TEXT)
    return read(scan_libsvm(folder / "plain"))


def _wide_zstd() -> bytes:
    parameters = zstandard.ZstdCompressionParameters(window_log=27)
    writer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return writer.compress(TEXT) + writer.flush()


def test_a_window_that_does_not_fit(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(_wide_zstd())
    small = ReadLimits(window=8 << 20)
    with pytest.raises(DataError, match=r"rows: the zstd window needs more than the 8 MB .* Raise `memory`"):
        read(scan_libsvm(path).limited(small))
    assert skipping(scan_libsvm(path, on_error="skip").limited(small)) == ([], 1)
    assert len(read(scan_libsvm(path))) == ROWS


def test_a_dictionary_of_xz_takes_what_is_decompressed(tmp_path):
    """``xz -9`` states 64 MB for a file of any size: only as much output as the limit allows needs no more memory."""
    path = tmp_path / "rows"
    small = ReadLimits(window=(1 << 20) + (1 << 18))

    def compress(text: bytes) -> bytes:
        return lzma.compress(text, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 64 << 20, "preset": 0}])

    path.write_bytes(compress(TEXT) + compress(TEXT))
    assert len(read(scan_libsvm(path).limited(small))) == 2 * ROWS
    path.write_bytes(compress(TEXT * (small.window // len(TEXT) + 8)))
    with pytest.raises(DataError, match=r"rows: the xz window needs more than the 1 MB .* Raise `memory`"):
        read(scan_libsvm(path).limited(small))
    rows, skipped = skipping(scan_libsvm(path, on_error="skip").limited(small))
    assert skipped == 1
    assert rows[:ROWS] == read_plain(tmp_path)


def test_a_block_of_bzip2_that_does_not_fit(tmp_path):
    """Its memory follows from the header: 400 kB per level."""
    path = tmp_path / "rows"
    path.write_bytes(bz2.compress(TEXT, 9))
    with pytest.raises(DataError, match=r"rows: the bzip2 window needs more than the 3 MB .* Raise `memory`"):
        read(scan_libsvm(path).limited(ReadLimits(window=3 << 20)))
    path.write_bytes(bz2.compress(TEXT, 7) + bz2.compress(TEXT, 1))
    assert len(read(scan_libsvm(path).limited(ReadLimits(window=3 << 20)))) == 2 * ROWS


# Files


def test_an_empty_file(tmp_path, told):
    path = tmp_path / "rows.svm"
    for content in (b"", gzip.compress(b""), lzma.compress(b""), zstandard.ZstdCompressor().compress(b"")):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"rows\.svm: the file is empty\. Check"):
            read(scan(path))
        assert skipping(scan(path, on_error="skip")) == ([], 1)
    assert len(told()) == 4


def test_a_file_of_blank_lines_holds_no_rows(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b"\n\n# nothing\n")
    assert read(scan_libsvm(path)) == []


def test_paths_without_files(tmp_path):
    missing = tmp_path / "missing.svm"
    with pytest.raises(DataError, match=r"missing\.svm: there is no such file\. Check the path"):
        read(scan(missing))
    with pytest.raises(DataError, match=r"missing\.svm: there is no such file"):
        read(scan(missing, on_error="skip"))
    with pytest.raises(DataError, match="there is no such file"):
        scan(missing).fingerprint()
    with pytest.raises(DataError, match=r"has no files\. Check"):
        scan(tmp_path)
    with pytest.raises(DataError, match=r"\*\.svm: no file matches\. Check"):
        scan(tmp_path / "*.svm")
    with pytest.raises(DataError, match="there are no files to read"):
        scan([])


def test_a_format_that_cannot_be_guessed(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes(b"hello world\n")
    with pytest.raises(DataError, match=r"rows\.txt: .*Pass `format`"):
        scan(path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"rows\.txt: the file is empty"):
        scan(path)
    path.write_bytes(gzip.compress(TEXT)[:15])
    with pytest.raises(DataError, match=r"rows\.txt: the gzip data is cut short"):
        scan(path)
    with pytest.raises(SettingsError, match="unknown format"):
        scan(path, format="csv?")
    with pytest.raises(SettingsError, match="standard input"):
        scan("-")
    with pytest.raises(SettingsError, match="multilabel"):
        scan(path, format="vw", multilabel=True)


@pytest.mark.parametrize("name", ["rows.svm", "rows.libsvm.gz", "rows.svmlight.zst", "rows.txt", "rows"])
def test_formats_are_guessed(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"# remark\n\n1 2:3\n")
    assert scan(path).format == "libsvm"
    other = tmp_path / name.replace("svmlight", "vw").replace("libsvm", "vw").replace("svm", "vw")
    other.write_bytes(b"1 |a b\n")
    assert scan(other).format == "vw"
