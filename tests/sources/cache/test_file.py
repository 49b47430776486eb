"""Batches to Arrow record batches and back, files of them, and what is said of damaged ones."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources import file_makers  # noqa: F401 - registers the kinds used here
from tests.sources.reading import exactly, read, rows_of
from tests.sources.rows import KINDS, example_rows
from thresher.core.batch import Batch, Cursor, Names
from thresher.errors import DataError, FileFormatError, UnreadableError
from thresher.sources.cache.codec import Digest, decode, encode
from thresher.sources.cache.file import StoredFile, split_block
from thresher.sources.cache.source import scan_cache
from thresher.sources.registry import as_source
from thresher.sources.text.line_formats import scan_vw
from thresher.writers.registry import write_source

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Any batch: with and without values, names, weights, queries and lines; labels of every kind."""
    counts = draw(st.lists(st.integers(0, 4), max_size=6))
    n, nnz = len(counts), sum(counts)

    def column(entries: st.SearchStrategy, size: int, dtype: object) -> st.SearchStrategy:
        whole = st.lists(entries, min_size=size, max_size=size)
        return st.one_of(st.none(), whole.map(lambda them: np.array(them, dtype)))

    keys = np.array(draw(st.lists(st.integers(0, 2**64 - 1), min_size=nnz, max_size=nnz)), np.uint64)
    names = draw(st.one_of(st.none(), st.lists(st.binary(max_size=9), min_size=nnz, max_size=nnz)))
    label_counts = draw(st.one_of(st.none(), st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    several = None if label_counts is None else np.concatenate([[0], np.cumsum(label_counts)]).astype(np.int64)
    size = n if several is None else int(several[-1])
    words = st.one_of(st.text(max_size=4), st.just(float("nan")))
    y = draw(st.one_of(column(st.floats(allow_infinity=False), size, np.float64), column(words, size, object)))
    if several is not None and y is None:
        several = None
    return Batch(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        keys,
        draw(column(FLOATS, nnz, np.float32)),
        y,
        several,
        draw(column(FLOATS.map(abs), n, np.float32)),
        None if names is None else Names.of_bytes(names),
        draw(column(st.integers(-1, 9), n, np.int64)),
        draw(column(st.integers(0, 2**62), n, np.int64)),
    )


@given(batches(), st.integers(0, 2**62))
def test_there_and_back(batch: Batch, offset: int) -> None:
    cursor = Cursor(part=2, offset=offset, row=9, past=3, inner=Cursor(line=4), read=7, skipped=1)
    block = decode(encode(batch, cursor))
    assert exactly(rows_of(block.batch)) == exactly(rows_of(batch))
    assert block.cursor.to_dict() == cursor.to_dict()
    lines = (block.batch.line, batch.line)
    assert (lines[0] is None) == (lines[1] is None)
    if batch.line is not None:
        assert block.batch.line.tolist() == batch.line.tolist()


@given(batches(), st.integers(1, 4), st.integers(1, 6), st.integers(0, 5))
def test_blocks_are_cut_anywhere(batch: Batch, rows: int, features: int, first: int) -> None:
    block = decode(encode(batch, Cursor()))
    first = min(first, len(batch))
    parts = list(split_block(block, first, rows, features, None, True))
    joined = [row for part, _ in parts for row in rows_of(part)]
    assert exactly(joined) == exactly(rows_of(batch)[first:])
    assert all(len(part) <= rows and (part.nnz <= features or len(part) == 1) for part, _ in parts)
    assert not parts or parts[-1][1] == len(batch)


@given(batches(), st.data())
def test_a_digest_is_of_the_rows_and_not_of_their_batches(batch: Batch, data: st.DataObject) -> None:
    def digest(parts: list[Batch]) -> str:
        hashed = Digest()
        for part in parts:
            hashed.add(part)
        return hashed.hexdigest()

    at = data.draw(st.integers(0, len(batch)))
    assert digest([batch]) == digest([batch.take(slice(0, at)), batch.take(slice(at, None))])
    if batch.nnz:
        keys = batch.keys.copy()
        keys[0] ^= np.uint64(1)
        other = Batch(batch.indptr, keys, batch.values, batch.y, batch.y_indptr, batch.weight)
        assert digest([other]) != digest([batch])


def test_arrays_are_views_of_the_file(tmp_path: Path) -> None:
    write_source(KINDS["vw-plain"].make(tmp_path, example_rows()), tmp_path / "rows.thc")
    for batch, _ in scan_cache(tmp_path / "rows.thc").batches(want_names=True):
        for array in (batch.indptr, batch.keys, batch.values, batch.names.words, batch.names.text):
            assert not array.flags.owndata
            assert not array.flags.writeable


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    write_source(KINDS["vw-plain"].make(tmp_path, example_rows()), tmp_path / "rows.thc")
    return tmp_path / "rows.thc"


def test_any_flipped_byte_is_noticed_or_harmless(stored: Path) -> None:
    """It is an error, or the rows are as they were (padding, or what only the metadata's layout says)."""
    whole, expected = bytearray(stored.read_bytes()), exactly(read(scan_cache(stored), want_names=True))
    noticed = 0
    for at in range(0, len(whole), 13):
        whole[at] ^= 0x55
        stored.write_bytes(whole)
        whole[at] ^= 0x55
        try:
            got = exactly(read(scan_cache(stored), want_names=True))
        except (FileFormatError, DataError):
            noticed += 1
        else:
            assert got == expected, at
    assert noticed > len(whole) // 39


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9, 0.999])
def test_a_file_that_was_cut_short(stored: Path, part: float) -> None:
    whole = stored.read_bytes()
    stored.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(FileFormatError, match=r"rows\.thc: (not a complete file|the file is empty)"):
        scan_cache(stored)


def test_files_that_are_not_ours(tmp_path: Path, stored: Path) -> None:
    table = pa.table({"a": [1, 2]})
    with pa.OSFile(str(tmp_path / "other.thc"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "text.thc").write_text("1 2:3\n")
    for name in ("other.thc", "text.thc"):
        with pytest.raises(FileFormatError, match="not a complete file of parsed rows"):
            scan_cache(tmp_path / name)
    with pytest.raises(UnreadableError, match="no such file"):
        scan_cache(tmp_path / "nothing.thc")
    with pa.memory_map(str(stored)) as file:
        reader = pa.ipc.open_file(file)
        about = {"thresher": json.dumps({**json.loads(reader.schema.metadata[b"thresher"]), "version": 99})}
        records = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        with (
            pa.OSFile(str(tmp_path / "later.thc"), "wb") as out,
            pa.ipc.new_file(out, reader.schema.with_metadata(about)) as writer,
        ):
            for record in records:
                writer.write_batch(record)
    with pytest.raises(FileFormatError, match="it has format version 99"):
        scan_cache(tmp_path / "later.thc")


def test_files_of_different_kinds_are_not_mixed(tmp_path: Path, stored: Path) -> None:
    write_source(KINDS["libsvm-plain"].make(tmp_path, example_rows()), tmp_path / "other.thc")
    with pytest.raises(DataError, match="Read only files of one kind together"):
        scan_cache([stored, tmp_path / "other.thc"])


def test_no_page_stays_behind(tmp_path: Path) -> None:
    """Every block is let go: what was read last is all that is still mapped."""
    write_source(KINDS["vw-plain"].make(tmp_path, example_rows()), tmp_path / "rows.thc")
    file = StoredFile(str(tmp_path / "rows.thc"))
    released: list[int] = []
    file._release = released.append  # type: ignore[method-assign, assignment]
    assert sum(len(block.batch) for _, block in file.blocks()) == len(example_rows())
    assert released
    assert released[-1] <= file.size


def _in_pieces(file: StoredFile) -> list[str]:
    return [repr(row) for block in file.piece(0, file.summary.rows, True) for row in rows_of(block.batch)]


def test_a_file_that_changes_while_it_is_open(tmp_path: Path) -> None:
    """Blocks that are in use are views of the file: they ended the process, or held anything."""
    (tmp_path / "rows.vw").write_text("".join(f"{i % 2} | name-{i}:{i}\n" for i in range(3000)))
    path = tmp_path / "rows.thc"
    write_source(scan_vw(tmp_path / "rows.vw"), path)
    file = StoredFile(str(path))
    rows = _in_pieces(file)
    os.utime(path, (1, 1))  # as a process does that uses the same cache
    assert _in_pieces(file) == rows
    with open(path, "r+b") as changed:
        changed.seek(2000)
        changed.write(bytes(range(256)) * 40)
    with pytest.raises(FileFormatError, match=r"rows\.thc: block 0 is damaged"):
        _in_pieces(file)
    os.truncate(path, 1000)
    with pytest.raises(FileFormatError, match=r"rows\.thc: block 0 is damaged \(the file was cut short after"):
        _in_pieces(file)


def test_who_gets_a_source_opens_its_files_again(tmp_path: Path) -> None:
    """As workers on other machines do: open files cannot be sent to them."""
    rows = np.arange(60_000, dtype=np.float32).reshape(6000, 10) + 1
    write_source(as_source(rows, np.arange(6000) % 2), tmp_path / "rows.thc")
    source = scan_cache(tmp_path / "rows.thc")
    assert len(read(source)) == 6000  # the files are open now
    shuffled = source.shuffled(1, rows=50, features=500)
    sent = pickle.loads(pickle.dumps(shuffled))
    assert exactly(read(sent.nth_part(1, 2))) == exactly(read(shuffled.nth_part(1, 2)))
    assert shuffled.mixes
