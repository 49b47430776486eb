"""Tables that are damaged in ways that pyarrow, NumPy and JSON have errors of their own for."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thresher as th
from tests.sources.reading import read
from thresher.errors import DataError, UnreadableError
from thresher.sources.tables import arrow_readers
from thresher.sources.tables.jsonl import scan_jsonl
from thresher.substitution.arriving.file_readers import read_labels


def parquet_bytes(table: Any, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


TABLE = pa.table({"y": [0.0, 1.0] * 20, "a": [float(i) for i in range(40)], "b": [f"w{i}" for i in range(40)]})


def test_metadata_that_pyarrow_does_not_guard_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``column(i)`` ends the process for some wrong bits, so it must not be called."""
    (tmp_path / "t.parquet").write_bytes(parquet_bytes(TABLE, row_group_size=15))
    used: list[str] = []

    class Guarded:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            used.append(name)
            found = getattr(self.inner, name)
            return (lambda *args: Guarded(found(*args))) if callable(found) else found

    class File(pq.ParquetFile):  # type: ignore[misc]
        metadata = property(lambda self: Guarded(super().metadata))

    monkeypatch.setattr(pq, "ParquetFile", File)
    assert len(read(th.scan_parquet(tmp_path / "t.parquet", target="y"))) == 40
    assert set(used) == {"num_rows", "row_group", "total_byte_size"}


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(
        parquet_bytes(TABLE.rename_columns(["y", "aaaa", "b"]), store_schema=False).replace(b"aaaa", b"a\xffaa")
    )
    with pytest.raises(DataError, match=r"t\.parquet: the file is damaged or cut short \(.*utf-8"):
        read(th.scan_parquet(path, target="y"))
    with pytest.raises(DataError, match=r"t\.parquet: the file is damaged"):
        th.select(path, target="y", k=1, method="os")


def test_the_damaged_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    raw = bytearray(
        parquet_bytes(TABLE, row_group_size=20, compression="none", use_dictionary=False, column_encoding="PLAIN")
    )
    at = raw.rindex(np.arange(20.0, 40.0).tobytes())
    raw[at - 30 : at] = b"\xff" * 30  # the head of the page
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"t\.parquet: the file is damaged or cut short \(row group 1, column 'a': "):
        read(th.scan_parquet(path, target="y"))
    rest = th.scan_parquet(path, target="y", on_error="skip")
    assert len(read(rest)) == 20
    assert rest.skipped_files() == {str(path): 1}


def test_entries_of_a_dictionary_that_are_not_there(tmp_path: Path) -> None:
    codes = pa.array([0, 1, 0, 1], pa.int32())
    table = pa.table({"y": [0.0, 1.0, 0.0, 1.0], "c": pa.DictionaryArray.from_arrays(codes, ["u", "v"])})
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    raw = sink.getvalue().replace(codes.buffers()[1].to_pybytes()[:16], np.array([0, 1, 9, 1], np.int32).tobytes())
    assert raw != sink.getvalue()
    (tmp_path / "t.arrow").write_bytes(raw)
    with pytest.raises(DataError, match=r"t\.arrow: the file is damaged or cut short \(record batch 0: "):
        read(th.scan_parquet(tmp_path / "t.arrow", target="y"))


def test_every_failure_of_pyarrow_is_translated() -> None:
    for error in (
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        KeyError("x"),
        OverflowError(),
        pa.ArrowInvalid("odd"),
    ):
        with pytest.raises(DataError, match=r"rows: the file is damaged"), arrow_readers.arrow_errors("rows"):
            raise error
    with pytest.raises(UnreadableError, match="gone"), arrow_readers.arrow_errors("rows"):
        raise UnreadableError("gone")


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────

LONG = b"y,a,b\n1,2,x\n0,3,\xff,more\n0,4,\xc3\xa9\n1,5\n"


def test_a_row_of_the_wrong_length_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(LONG)
    with pytest.raises(DataError, match=r"t\.csv: line 3, column 1: the row has 4 fields, but the table has 3 columns"):
        read(th.scan_csv(path, target="y"))
    skipping = th.scan_csv(path, target="y", on_error="skip")
    assert [(row.y, row.names) for row in read(skipping, want_names=True)] == [(1.0, ("a", "b=x")), (0.0, ("a", "b=é"))]
    assert skipping.skipped_files() == {str(path): 2}


@pytest.mark.parametrize("rows", [1, 2, 8192])
def test_rows_around_it_stay_what_they_are(tmp_path: Path, rows: int) -> None:
    good = [b'%d,"%d\n",w%d\n' % (i % 2, i, i) for i in range(30)]
    bad = {3: b"1,\xff\n", 4: b'0,"\xfe\n",x,y\n', 17: b"\xff,\xff,\xff,\xff\n", 30: b"\xff\n"}
    lines = [text for i in range(31) for text in (bad.get(i, b""), *good[i : i + 1])]
    (tmp_path / "t.csv").write_bytes(b"y,a,b\n" + b"".join(lines))
    (tmp_path / "good.csv").write_bytes(b"y,a,b\n" + b"".join(good))
    found = read(th.scan_csv(tmp_path / "t.csv", target="y", on_error="skip"), rows, want_names=True)
    assert found == read(th.scan_csv(tmp_path / "good.csv", target="y"), want_names=True)


# ── JSON lines ───────────────────────────────────────────────────────────────────────────────────


def test_a_member_with_half_a_character_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = ['{"y": 1, "a": 2}', '{"y": 0, "\\ud800": 1}', '{"y": 0, "a": 3, "\\ud83c\\udf3e": 1}']
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"t\.jsonl: line 2, column 1: the name of a member holds half a character"):
        read(scan_jsonl(path, target="y"))
    found = read(scan_jsonl(path, target="y", on_error="skip"), want_names=True)
    assert [row.names for row in found] == [("a",), ("a", "\U0001f33e")]
    path.write_text('{"\\ud800": 1}\n')
    with pytest.raises(DataError, match=r"t\.jsonl"):
        read(scan_jsonl(path, target="y"))


def test_half_a_character_that_is_not_escaped(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        b'{"y": 1, "a": 2}\n{"y": 0, "\xed\xa0\x80": 1}\n{"y": 0, "a": "\xed\xa0\x80"}\n{"y": 0, "a": 3}\n'
    )
    with pytest.raises(DataError, match=r"t\.jsonl: line 2.* the line is not UTF-8 from its byte 11 on"):
        read(scan_jsonl(path, target="y"))
    assert len(read(scan_jsonl(path, target="y", on_error="skip"))) == 2


def test_a_whole_number_beyond_all_floats(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"y": 1, "a": 10**400}) + "\n" + json.dumps({"y": 0, "a": 1}) + "\n")
    with pytest.raises(DataError, match=r"t\.jsonl: line 1, .*'a'"):
        read(scan_jsonl(path, target="y"))
    assert len(read(scan_jsonl(path, target="y", on_error="skip"))) == 1


# ── .npy ─────────────────────────────────────────────────────────────────────────────────────────


def npy(array: Any) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array, allow_pickle=True)
    return sink.getvalue()


WHOLE = npy(np.arange(12.0).reshape(4, 3))
BAD_ARRAYS = {
    "empty": b"",
    "cut in its magic": WHOLE[:4],
    "cut in its header": WHOLE[:40],
    "cut in its data": WHOLE[:-8],
    "an unknown version": b"\x93NUMPY\x09\x00" + WHOLE[8:],
    "a header that is not Python": WHOLE.replace(b"{'descr'", b"{((descr"),
    "a header without a shape": WHOLE.replace(b"'shape'", b"'shabe'"),
    "a shape beyond the file": WHOLE.replace(b"(4, 3), }  ", b"(4, 3000), }"[:11]),
    "a type that is not one": WHOLE.replace(b"'<f8'", b"'<zz'"),
    "objects": npy(np.array([{}, []], dtype=object)),
    "an archive": b"PK\x03\x04" + bytes(60),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_damaged_npy_files(tmp_path: Path, case: str) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(BAD_ARRAYS[case])
    with pytest.raises(DataError, match=r"x\.npy: not a \.npy file of numbers"):
        th.FeatureStream(path)
    with pytest.raises(DataError, match=r"x\.npy: not a \.npy file of numbers"):
        read_labels(path)
    with pytest.raises(DataError, match=r"the column x is no column of numbers"):
        th.select(th.FeatureStream(tmp_path), [0.0, 1.0], k=1, method="os")


def test_npy_files_of_other_types(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    for array in (np.array([["a", "b"]]), np.array([[1j, 2]]), np.zeros((2, 2), [("a", "f4")])):
        path.write_bytes(npy(array))
        with pytest.raises(DataError, match=r"x\.npy: an array of .*, not of numbers"):
            th.FeatureStream(path)
    path.write_bytes(npy(np.array(["a", "b"])))
    assert read_labels(path).tolist() == ["a", "b"]
