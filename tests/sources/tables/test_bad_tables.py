"""Bad tables and texts: an error that says where and what to do, or a counted skip and all good rows."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thresher as th
from tests.sources.reading import exactly, joined, read
from thresher.core.memory import ReadLimits
from thresher.errors import DataError, SettingsError
from thresher.sources.registry import scan
from thresher.sources.tables.csv import scan_csv
from thresher.sources.tables.schema import Schema

GOOD = ["1,2.5,Oslo", "0,,Rome", '1,-3,"a, b"', "0,4,Bonn"]
# What is wrong, the bad row, its column, and what the message says.
BAD_ROWS = [
    ("a word for a number", "1,two,Oslo", 3, r"the value is not a number, in 'age', at 'two,Oslo'"),
    ("infinity", "1,inf,Oslo", 3, "the value is not a number, in 'age'"),
    ("too large", "1,1e39,Oslo", 3, "the value is infinite or too large, in 'age'"),
    ("no label", ",3,Oslo", 1, "the label is missing, in 'y'"),
    ("a word for a label", "yes,3,Oslo", 1, "the label is not a number, as those of the first rows are, in 'y'"),
    ("fewer fields", "1,3", 1, "the row has 2 fields, but the table has 3 columns"),
    ("more fields", "1,3,Oslo,5", 1, "the row has 4 fields, but the table has 3 columns"),
]


def csv_of(folder: Path, rows: list[str | bytes], name: str = "t.csv") -> Path:
    lines = [row if isinstance(row, bytes) else row.encode() for row in ["y,age,city", *rows]]
    (folder / name).write_bytes(b"\n".join(lines) + b"\n")
    return folder / name


def scanned(path: Path, **options):
    return scan_csv(path, target="y", numeric=["age"], categorical=["city"], **options)


@pytest.fixture
def told(caplog):
    """The warnings logged so far."""
    caplog.set_level(logging.WARNING, logger="thresher")
    return lambda: [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(("what", "bad", "column", "message"), BAD_ROWS, ids=[case[0] for case in BAD_ROWS])
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_bad_row_of_separated_text(tmp_path, told, what, bad, column, message, place):
    path = csv_of(tmp_path, [*GOOD[:place], bad, *GOOD[place:]])
    good = read(scanned(csv_of(tmp_path, GOOD, "good.csv")))
    with pytest.raises(DataError, match=rf"t\.csv: line {place + 2}, column {column}: {message}.*on_error="):
        read(scanned(path))
    before = []
    with pytest.raises(DataError):
        for batch in scanned(path).batches(2):
            before += joined([batch])
    assert exactly(before) == exactly(good[:place])
    for rows, block in ((1, 1 << 20), (3, 40), (100, 1 << 20)):
        batches = list(scanned(path, on_error="skip").limited(ReadLimits(block=block)).batches(rows))
        assert exactly(joined(batches)) == exactly(good)
        assert batches[-1][1].skipped == 1
    assert any(f"line {place + 2}, column {column}" in line for line in told())


def test_a_label_that_is_not_wanted_may_be_anything(tmp_path):
    path = csv_of(tmp_path, [*GOOD, "yes,3,Oslo", ",3,Oslo"])
    rows = read(scanned(path), want_labels=False)
    assert [row.y for row in rows[:4]] == [1.0, 0.0, 1.0, 0.0]
    assert np.isnan([row.y for row in rows[4:]]).all()


def test_text_that_is_not_utf8(tmp_path):
    path = csv_of(tmp_path, [GOOD[0], b"1,3,Troms\xf8", GOOD[1]])
    with pytest.raises(DataError, match=r"line 3, column 5: the text is not UTF-8, in 'city', at 'Troms\\\\xf8'"):
        read(scanned(path))
    assert len(read(scanned(path, on_error="skip"))) == 2


def test_a_quote_that_is_never_closed(tmp_path):
    path = csv_of(tmp_path, [*GOOD[:2], '1,3,"Oslo', *GOOD[2:]])
    with pytest.raises(DataError, match=r"line 4, column 1: a quote opens in this row and never closes"):
        read(scanned(csv_of(tmp_path, [*GOOD[:2], '1,3,"Oslo', "0,4,Bonn"])))
    # The next quote closes it: the row has too many fields, or too few, and is one.
    with pytest.raises(DataError, match="line 4"):
        read(scanned(path))
    path = csv_of(tmp_path, [*GOOD[:2], '1,3,"Oslo', "0,4,Bonn", "1,5,Rome"])
    for block in (16, 1 << 20):
        batches = list(scanned(path, on_error="skip").limited(ReadLimits(block=block)).batches())
        assert len(joined(batches)) == 4
        assert batches[-1][1].skipped == 1


def test_a_row_over_the_cap(tmp_path):
    path = csv_of(tmp_path, [GOOD[0], "1,3," + "x" * 500, GOOD[1]])
    limits = ReadLimits(block=64, line_cap=200)
    with pytest.raises(DataError, match=r"line 3, column 201: the line is longer than 200 bytes"):
        read(scanned(path).limited(limits))
    assert len(read(scanned(path, on_error="skip").limited(limits))) == 2


def test_bad_weights(tmp_path):
    for bad in ("-1", "", "x", "inf"):
        (tmp_path / "t.csv").write_text(f"y,w,a\n1,2,3\n0,{bad},4\n")
        source = scan_csv(tmp_path / "t.csv", target="y", weight="w", numeric=["a"])
        with pytest.raises(DataError, match=r"line 3, column 3: the weight is .*, in 'w'"):
            read(source)


def test_columns_that_are_not_there(tmp_path):
    path = csv_of(tmp_path, GOOD)
    with pytest.raises(
        DataError, match=r"t\.csv: there is no column 'agee' for the numeric columns: did you mean 'age'"
    ):
        scan_csv(path, target="y", numeric=["agee"])
    with pytest.raises(DataError, match=r"no column 'Y ' for the target: did you mean 'y'"):
        scan_csv(path, target="Y ")
    with pytest.raises(DataError, match=r"no column 3 for the target: positions go from 0 to 2"):
        scan_csv(path, target=3)
    with pytest.raises(DataError, match=r"'age' is named twice, for different uses"):
        scan_csv(path, target="y", numeric=["age"], categorical=[1])
    with pytest.raises(DataError, match=r"no column is left for features"):
        scan_csv(path, target="y", ignored=["age", "city"])
    with pytest.raises(DataError, match=r"no column is named for the labels. Pass `target`, .*'y', 'age', 'city'"):
        read(scan_csv(path))
    csv_of(tmp_path, GOOD, "other.csv").write_text("y,age,town\n1,2,Oslo\n")
    with pytest.raises(DataError, match=r"other\.csv: there is no column 'city': choose one of 'y', 'age', 'town'"):
        read(scan_csv([path, tmp_path / "other.csv"], target="y", numeric=["age"]))


def test_columns_of_one_name(tmp_path):
    (tmp_path / "t.csv").write_text("y,a,a\n1,2,3\n")
    with pytest.raises(DataError, match=r"t\.csv: two columns have the name 'a'"):
        scan_csv(tmp_path / "t.csv", target="y")


def test_empty_tables(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"")
    with pytest.raises(DataError, match=r"t\.csv: the file is empty"):
        scan_csv(tmp_path / "t.csv", target="y")
    (tmp_path / "t.csv").write_text("y,a\n")
    assert read(scan_csv(tmp_path / "t.csv", target="y")) == []


def test_schemas(tmp_path):
    path = csv_of(tmp_path, GOOD)
    good = {"target": "y", "numeric": ["age"], "missing": "feature"}
    (tmp_path / "schema.json").write_text(json.dumps(good))
    names = [
        name for row in read(scan_csv(path, schema=tmp_path / "schema.json"), want_names=True) for name in row.names
    ]
    assert names == ["age", "city=Oslo", "age=<missing>", "city=Rome", "age", "city=a, b", "age", "city=Bonn"]
    for content, message in (
        ("{", "not a schema in JSON"),
        ("[1]", "a schema is a JSON object"),
        ('{"tagret": "y"}', "a schema has no field 'tagret': did you mean 'target'"),
        ('{"target": "y", "numeric": "age"}', r"numeric must be a list, for example \['age'\]"),
        ('{"bins": "square"}', "bins must be log, quantile"),
        ('{"delimiter": ", "}', "delimiter must be one ASCII character"),
    ):
        (tmp_path / "schema.json").write_text(content)
        with pytest.raises(SettingsError, match=message):
            scan_csv(path, schema=tmp_path / "schema.json")
    with pytest.raises(SettingsError, match=r"no schema 'critteo': pass the path of a JSON file, or one of criteo"):
        scan_csv(path, schema="critteo")
    with pytest.raises(SettingsError, match="missing must be"):
        Schema(missing="drop")


def test_options_of_tables_for_other_files(tmp_path):
    (tmp_path / "a.svm").write_text("1 2:3\n")
    with pytest.raises(SettingsError, match="`bins`: not an option for libsvm files, only for parquet, jsonl, csv"):
        scan(tmp_path / "a.svm", bins="log")
    with pytest.raises(SettingsError, match="`target`: not an option for libsvm files"):
        scan(tmp_path / "a.svm", target="y")
    pq.write_table(pa.table({"y": [1]}), tmp_path / "a.parquet")
    with pytest.raises(SettingsError, match=r"`delimiter`: not an option for parquet files, only for csv"):
        scan(tmp_path / "a.parquet", delimiter=";")
    with pytest.raises(TypeError, match="unexpected keyword argument 'tagret'"):
        scan(tmp_path / "a.parquet", tagret="y")


# Parquet and Arrow


def parquet_of(folder: Path, n: int = 40) -> Path:
    table = pa.table(
        {"y": [i % 2 for i in range(n)], "a": [float(i) for i in range(n)], "c": [f"v{i}" for i in range(n)]}
    )
    pq.write_table(table, folder / "t.parquet", row_group_size=10, compression="none", use_dictionary=False)
    return folder / "t.parquet"


def test_parquet_that_is_cut_short(tmp_path, told):
    path = parquet_of(tmp_path)
    source = th.scan_parquet(path, target="y")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"t\.parquet: the file is damaged or cut short .* Fetch or write it again"):
        read(source)
    with pytest.raises(DataError, match=r"t\.parquet: the file is damaged or cut short"):
        th.scan_parquet(path, target="y")
    from dataclasses import replace

    batches = list(replace(source, on_error="skip").batches())
    assert [len(batch) for batch, _ in batches] == [0]
    assert batches[-1][1].skipped == 1
    assert any("Continued without the rest" in line for line in told())


def test_a_damaged_row_group(tmp_path):
    path = parquet_of(tmp_path)
    source = th.scan_parquet(path, target="y")
    content = bytearray(path.read_bytes())
    at = pq.ParquetFile(path).metadata.row_group(2).column(1).data_page_offset
    content[at : at + 12] = b"\xff" * 12
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"t\.parquet: the file is damaged or cut short \(row group 2"):
        read(source)


def test_bad_rows_of_parquet(tmp_path):
    table = pa.table({"y": [1, 0, None, 1], "a": [1.0, float("inf"), 2.0, None], "c": ["x", "y", "z", None]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    with pytest.raises(
        DataError, match=r"t\.parquet: row group 0, row 1 \(counted from 0\), column 'a': the value is inf"
    ):
        read(th.scan_parquet(tmp_path / "t.parquet", target="y"))
    batches = list(th.scan_parquet(tmp_path / "t.parquet", target="y", on_error="skip").batches(1, want_names=True))
    assert [row.names for row in joined(batches)] == [("a", "c=x"), ()]
    assert batches[-1][1].skipped == 2


def test_other_files_for_parquet(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"y,a\n1,2\n")
    with pytest.raises(DataError, match="damaged or cut short"):
        th.scan_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.parquet").write_bytes(b"")
    with pytest.raises(DataError, match="the file is empty"):
        th.scan_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="there is no such file"):
        th.scan_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match="cannot be read from a pipe"):
        th.scan_parquet("-")


# JSON lines and texts

BAD_LINES = [
    (b"[1, 2]", "the line is not a JSON object"),
    (b"{'text': 1}", r"the line is not JSON \(Expecting property name"),
    (b'{"y": 1, "txt": "a b"}', "there is no member 'text': did you mean 'txt'"),
    (b'{"y": 1, "text": ["a b"]}', "'text' holds several values instead of one"),
    (b'{"y": 1, "text": "a \\ud800 b"}', "'text' holds half a character"),
    (b'{"y": 1, "text": "caf\xe9"}', "the line is not UTF-8 from its byte 22 on"),
    (b'{"text": "two words"}', "the label is missing, in 'y'"),
    (b'{"y": "x", "text": "two words"}', "the label is not a number"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_LINES)
def test_a_bad_line_of_json(tmp_path, bad, message):
    good = [b'{"y": 1, "text": "some words here"}', b"", b'{"text": null, "y": 0}', b'{"y": 1.0, "text": "more"}']
    (tmp_path / "good.jsonl").write_bytes(b"\n".join(good))
    expected = read(th.scan_text(tmp_path / "good.jsonl", text="text", target="y"))
    assert [len(row.keys) for row in expected] == [3, 0, 1]
    (tmp_path / "t.jsonl").write_bytes(b"\n".join([*good[:3], bad, good[3]]))
    with pytest.raises(DataError, match=rf"t\.jsonl: line 4, column 1: {message}"):
        read(th.scan_text(tmp_path / "t.jsonl", text="text", target="y"))
    for rows, block in ((1, 1 << 20), (2, 40), (100, 1 << 20)):
        source = th.scan_text(tmp_path / "t.jsonl", text="text", target="y", on_error="skip")
        batches = list(source.limited(ReadLimits(block=block)).batches(rows))
        assert exactly(joined(batches)) == exactly(expected)
        assert batches[-1][1].skipped == 1


def test_folders_with_a_bad_text(tmp_path, told):
    for name, content in (
        ("a/1", b"good words"),
        ("a/2", b"caf\xe9"),
        ("b/1", b"other words"),
        ("b/2", b"\x1f\x8b\x08"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=r"a.2: the file: the text is not UTF-8"):
        read(scan(tmp_path))
    for rows in (1, 2, 100):
        batches = list(scan(tmp_path, on_error="skip").batches(rows))
        assert [row.y for row in joined(batches)] == ["a", "b"]
        assert batches[-1][1].skipped == 2
    assert any("gzip" in line for line in told())


def test_bad_settings_of_texts(tmp_path):
    (tmp_path / "t.csv").write_text("y,text\n1,a b\n")
    cases = [
        ({}, "name the column of the text"),
        ({"text": "text", "words": (2, 1)}, "words must be an ascending range"),
        ({"text": "text", "words": "one"}, "not a range of n-grams"),
        ({"text": "text", "within_words": True}, "`within_words` is for character n-grams"),
        ({"text": "text", "pattern": "("}, "not a regular expression"),
        ({"text": "text", "pattern": "(a)(b)"}, "at most one group"),
        ({"text": "text", "counts": "many"}, "counts must be .binary., .count. or .log."),
        ({"text": "text", "stop": "none.txt"}, "the list of stop words cannot be read"),
        ({"text": "text", "target": "text"}, "is named twice, for different uses"),
        ({"text": "txt"}, "no column 'txt' for the text: did you mean 'text'"),
    ]
    for options, message in cases:
        with pytest.raises((SettingsError, DataError), match=message):
            th.scan_text(tmp_path / "t.csv", **options)


def test_standard_input_needs_everything_said(monkeypatch, tmp_path):
    with pytest.raises(DataError, match="it can be read only once, so its columns cannot be inferred"):
        scan_csv("-", target="y")
    with pytest.raises(DataError, match="the kind of 'a' cannot be inferred"):
        scan_csv("-", names=["y", "a"], delimiter=",", target="y")
    (tmp_path / "t.csv").write_text("1,2\n0,3\n")
    with open(tmp_path / "t.csv") as file:
        monkeypatch.setattr("sys.stdin", file)
        rows = read(scan_csv("-", names=["y", "a"], delimiter=",", target="y", numeric=["a"]))
    assert [(row.y, row.values) for row in rows] == [(1.0, (2.0,)), (0.0, (3.0,))]


def _ipc(path, texts, offsets):
    """An IPC file of a label and a column of strings with these offsets into a text."""
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(texts)]
    names = pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)
    table = pa.record_batch({"y": pa.array([1, 0, 1]), "name": names})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_batch(table)
    return path


def test_offsets_of_arrow_texts_are_checked(tmp_path):
    """They were followed in the first rows, wherever they lead."""
    for offsets in ([0, 900_000_000, 2, 3], [0, -5, 2, 3], [0, 2, 1, 3]):
        path = _ipc(tmp_path / "t.arrow", b"abc", offsets)
        with pytest.raises(DataError, match=r"t\.arrow: the file is damaged or cut short \(record batch 0"):
            read(scan(path, target="y"))


def test_arrow_texts_that_are_not_utf8(tmp_path):
    path = _ipc(tmp_path / "t.arrow", b"a\xffb", [0, 1, 2, 3])
    with pytest.raises(DataError, match="the text is not UTF-8"):
        read(scan(path, target="y"))
    assert len(read(scan(path, target="y", on_error="skip"))) == 2
