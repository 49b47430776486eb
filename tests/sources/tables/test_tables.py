"""Tables in files: the same features as in memory, bins, missing values, lists, guesses; pyarrow as an oracle."""

from __future__ import annotations

import csv
import io
import json
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference.sources import tables as twin
from tests.sources.reading import exactly, read, rows_of
from thresher import _native
from thresher.core.memory import ReadLimits
from thresher.errors import DataError
from thresher.sources.registry import as_source, scan
from thresher.sources.tables.csv_dialect import Dialect
from thresher.sources.tables.csv_fields import TextSample


def names_of(source, **options) -> list[tuple[str, ...]]:
    return [row.names for row in read(source, want_names=True, **options)]


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 300
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(-40, 90, n)),
            "height": rng.normal(170, 9, n).astype(np.float32).astype(float),
            "city": rng.choice(["Oslo", "Tromsø", 'a "b", c', "line\nbreak", None], n),
            "flag": rng.random(n) < 0.5,
        }
    )


def test_a_frame_and_the_files_it_was_written_to_are_the_same(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "all.csv", index=False, quoting=csv.QUOTE_ALL, sep=";")
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=70)
    frame.to_feather(tmp_path / "t.arrow")
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True, double_precision=15)
    expected = exactly(read(as_source(frame, target="y"), want_names=True))
    for name in ("t.csv", "t.tsv", "all.csv", "t.parquet", "t.arrow", "t.jsonl"):
        source = scan(tmp_path / name, target="y")
        assert exactly(read(source, want_names=True)) == expected, name
        assert exactly(read(source.limited(ReadLimits(block=100)), 7, want_names=True)) == expected, name


def test_the_guess_is_told(frame, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="thresher")
    frame.to_csv(tmp_path / "t.csv", index=False)
    th.scan_csv(tmp_path / "t.csv", target="y", ignored=["flag"])
    (told,) = [record.getMessage() for record in caplog.records]
    assert "inferred from its first 300 rows" in told
    assert "target       y (numbers)" in told
    assert "numeric      age, height" in told
    assert "categorical  city" in told
    caplog.clear()
    th.scan_csv(tmp_path / "t.csv", target="y", numeric=["age"], others="ignore")
    assert not caplog.records


def test_log_bins(tmp_path):
    (tmp_path / "t.csv").write_text(
        "y,a\n" + "".join(f"1,{v}\n" for v in ("0", "-0.0", "1", "1.99", "2", "1000", "-3", "0.3", ""))
    )
    got = names_of(th.scan_csv(tmp_path / "t.csv", target="y", bins="log"))
    expected = ["0", "0", "[1,2)", "[1,2)", "[2,4)", "[512,1024)", "[-4,-2)", "[0.25,0.5)"]
    assert got == [*((f"a={name}",) for name in expected), ()]


def test_quantile_bins(tmp_path):
    (tmp_path / "t.csv").write_text("y,a\n" + "".join(f"{i % 2},{i}\n" for i in range(100)))
    source = th.scan_csv(tmp_path / "t.csv", target="y", bins="quantile:4")
    counts = pd.Series([name for (name,) in names_of(source)]).value_counts()
    assert len(counts) == 4
    assert counts.max() - counts.min() <= 2
    assert set(counts.index) == {"a=(-inf,24)", "a=[24,49)", "a=[49,74)", "a=[74,inf)"}
    # Other data falls into the same bins. (The final fit of such labels has weights of zero.)
    selection = th.select(source, k=4, passes=1, refit=False)
    (tmp_path / "more.csv").write_text("a\n1000\n5\n")
    x = selection.transform(tmp_path / "more.csv").toarray()
    assert [selection.names[int(np.flatnonzero(row)[0])] for row in x] == ["a=[74,inf)", "a=(-inf,24)"]


def test_missing_values_as_features(tmp_path):
    (tmp_path / "t.csv").write_text("y,a,b\n1,,\n0,NA,null\n1,2,x\n")
    assert names_of(th.scan_csv(tmp_path / "t.csv", target="y")) == [(), (), ("a", "b=x")]
    filled = th.scan_csv(tmp_path / "t.csv", target="y", missing="feature")
    assert names_of(filled) == [("a=<missing>", "b=<missing>"), ("a=<missing>", "b=<missing>"), ("a", "b=x")]
    own = th.scan_csv(tmp_path / "t.csv", target="y", numeric=[], categorical=["a", "b"], nulls=[""])
    assert names_of(own) == [(), ("a=NA", "b=null"), ("a=2", "b=x")]


def test_criteo(tmp_path):
    fields = ["1", "5", "", "-3", *["0"] * 10, "68fd1e64", "", *["a"] * 24]
    (tmp_path / "clicks.tsv").write_text("\t".join(fields) + "\n" + "\t".join(["0", *[""] * 39]) + "\n")
    rows = read(th.scan_csv(tmp_path / "clicks.tsv", schema="criteo"), want_names=True)
    assert [row.y for row in rows] == [1.0, 0.0]
    zeros = [f"I{i}=0" for i in range(4, 14)]
    assert rows[0].names == ("I1=[4,8)", "I3=[-4,-2)", *zeros, "C1=68fd1e64", *(f"C{i}=a" for i in range(3, 27)))
    assert rows[1].names == ()


def test_lists_maps_and_structs(tmp_path):
    table = pa.table(
        {
            "y": [1, 0, 1],
            "tags": pa.array([["a", "b", "a"], [], None]),
            "vector": pa.array([[1.0, 0.0, 3.0], None, [4.0]], pa.list_(pa.float32())),
            "fixed": pa.array([[1, 2], [3, 0], [5, 6]], pa.list_(pa.int8(), 2)),
            "counts": pa.array([[("x", 2), ("y", 0)], [("z", None)], []], pa.map_(pa.string(), pa.int64())),
            "inner": pa.array([{"n": 1, "c": "u"}, {"n": None, "c": "v"}, None]),
            "codes": pa.array(["p", None, "q"]).dictionary_encode(),
        }
    )
    expected = [
        (
            *("tags=a", "tags=b", "tags=a", "vector[0]", "vector[2]", "fixed[0]", "fixed[1]", "counts=x"),
            *("inner.n", "inner.c=u", "codes=p"),
        ),
        ("fixed[0]", "inner.c=v"),
        ("vector[0]", "fixed[0]", "fixed[1]", "codes=q"),
    ]
    pq.write_table(table, tmp_path / "t.parquet")
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    for name in ("t.parquet", "t.arrow"):
        source = scan(tmp_path / name, target="y")
        for rows in (1, 2, 100):
            assert names_of(source, rows=rows) == expected
        assert read(source)[0].values == (1.0, 1.0, 1.0, 1.0, 3.0, 1.0, 2.0, 2.0, 1.0, 1.0, 1.0)
    as_ids = th.scan_parquet(tmp_path / "t.parquet", target="y", categorical=["vector"], others="ignore")
    assert names_of(as_ids)[0] == ("vector=1", "vector=0", "vector=3")


def test_only_the_needed_columns_are_read(tmp_path):
    n = 50_000
    table = pa.table({"y": np.arange(n) % 2, "a": np.arange(n) * 1.0, "big": [f"{i:0100d}" for i in range(n)]})
    pq.write_table(table, tmp_path / "t.parquet", compression="none", use_dictionary=False)
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    column = pq.ParquetFile(tmp_path / "t.parquet").metadata.row_group(0).column(2)
    source = th.scan_parquet(tmp_path / "t.parquet", target="y", numeric=["a"], others="ignore")
    at = column.data_page_offset
    content[at : at + column.total_compressed_size] = bytes(column.total_compressed_size)
    (tmp_path / "t.parquet").write_bytes(bytes(content))
    assert len(read(source)) == n


def test_text_labels_and_softmax(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.choice(["red", "green", "blue"], 600)
    values = np.stack([labels == c for c in ("red", "green", "blue")]) + rng.normal(0, 0.1, (3, 600))
    pd.DataFrame({"label": labels, "a": values[0], "b": values[1], "c": values[2]}).to_csv(
        tmp_path / "t.csv", index=False
    )
    selection = th.select(tmp_path / "t.csv", target="label", loss="softmax", k=3, passes=3)
    assert selection.labels == ["blue", "green", "red"]
    assert (selection.predict(tmp_path / "t.csv") == labels).mean() > 0.95


def test_models_read_other_files_their_way(frame, tmp_path):
    """Whatever is said of the columns at first need not be said again."""
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = {"target": "y", "categorical": ["age"], "ignored": ["flag"], "missing": "feature"}
    selection = th.select(tmp_path / "t.csv", k=20, passes=2, test=str(tmp_path / "t.csv"), **options)
    selection.save(tmp_path / "t.thr")
    loaded = th.load(tmp_path / "t.thr")
    expected = selection.decision_function(th.scan_csv(tmp_path / "t.csv", **options))
    frame.drop(columns=["y", "flag"]).to_csv(tmp_path / "bare.csv", index=False)
    frame.astype({"age": "Int64"}).to_json(tmp_path / "t.jsonl", orient="records", lines=True, double_precision=15)
    assert (loaded.decision_function(tmp_path / "bare.csv") == expected).all()
    assert len(loaded.predict(tmp_path / "t.jsonl")) == len(frame)
    model = th.MissionClassifier(k=20, passes=2).fit(th.scan_csv(tmp_path / "t.csv", **options))
    assert model.score(tmp_path / "t.csv") == pytest.approx(selection.provenance["test"]["accuracy"])


def test_weights_by_column(frame, tmp_path):
    frame.assign(w=2.0).to_csv(tmp_path / "t.csv", index=False)
    by_column = th.select(tmp_path / "t.csv", k=3, target="y", sample_weight="w", shuffle=False)
    in_memory = th.select(frame, k=3, target="y", sample_weight=np.full(len(frame), 2.0), shuffle=False)
    assert by_column.names == in_memory.names
    assert (by_column.weights == in_memory.weights).all()


# pyarrow and pandas as oracles

_CELL = st.one_of(
    st.none(),
    st.integers(-(10**9), 10**9).map(str),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
    st.sampled_from(['"', '""', "a,b", "a\nb", "\r", "true", " 3 ", "NA", "1e5", "é"]),
)


@st.composite
def tables(draw):
    width = draw(st.integers(2, 5))
    return [[draw(_CELL) for _ in range(width)] for _ in range(draw(st.integers(0, 12)))]


@examples(150)
@given(rows=tables(), block=st.integers(1, 200), batch=st.integers(1, 6), delimiter=st.sampled_from(",;\t|"))
def test_made_up_tables(tmp_path_factory, rows, block, batch, delimiter):
    """Fields that look like anything come apart as pyarrow says, and become features as the slow twin says."""
    width = len(rows[0]) if rows else 2
    names = [f"c{i}" for i in range(width)]
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(names)
    for row in rows:
        writer.writerow(["" if cell is None else cell for cell in row])
    path = tmp_path_factory.mktemp("made") / "t.csv"
    path.write_bytes(out.getvalue().encode())
    known = arrow_csv.read_csv(
        path,
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True
        ),
    ).to_pydict()
    source = th.scan_csv(path, numeric=[], categorical=names, delimiter=delimiter)
    expected = [twin.row({name: known[name][i] for name in names}, set()) for i in range(len(rows))]
    got = read(source.limited(ReadLimits(block=block)), batch, want_names=True, want_labels=False)
    assert [(list(r.keys), list(r.names), list(r.values)) for r in got] == expected
    numeric = th.scan_csv(path, numeric=names, delimiter=delimiter, on_error="skip")
    numbers = [twin.row({name: known[name][i] for name in names}, set(names)) for i in range(len(rows))]
    got = read(numeric.limited(ReadLimits(block=block)), batch, want_names=True, want_labels=False)
    assert [(list(r.keys), list(r.names), list(r.values)) for r in got] == [row for row in numbers if row is not None]


@examples(100)
@given(text=st.text(st.sampled_from('ab,"\n\r'), max_size=40), block=st.integers(1, 30))
def test_rows_come_apart_as_pyarrow_says(tmp_path_factory, text, block):
    """Whatever quotes and line ends stand where, no row is lost or made without being told."""
    path = tmp_path_factory.mktemp("made") / "t.csv"
    path.write_bytes(("x,y\n" + text).encode())
    source = th.scan_csv(path, numeric=[], categorical=["x", "y"], on_error="skip")
    batches = list(source.limited(ReadLimits(block=block)).batches(3, want_names=True, want_labels=False))
    whole = list(source.batches(want_names=True, want_labels=False))
    rows = [name for b, _ in batches for name in b.names.decode()]
    assert rows == [name for b, _ in whole for name in b.names.decode()]
    assert (batches[-1][1].skipped if batches else 0) == (whole[-1][1].skipped if whole else 0)


@examples(150)
@given(text=st.text(st.sampled_from('ab,"\n\rN'), max_size=40), quote=st.sampled_from(['"', ""]))
def test_fields_are_those_of_pyarrow(text, quote):
    """Raw text with quotes anywhere: the same rows, fields, missing values and wrong numbers of fields."""
    block = np.frombuffer(text.encode() + b"\n", np.uint8)
    marks = {"delimiter": ord(","), "quote": ord(quote) if quote else 0}
    _, _, size, _ = _native.csv_rows(block, 0, len(block), rows=100, **marks)  # the rest is inside quotes
    bad = []

    def drop(row):
        bad.append((row.number - 1, row.actual_columns))
        return "skip"

    rows = block[:size]
    fields = _native.CsvFields(
        block, 0, size, **marks, places=np.array([1, -1, 0], np.int32), width=2, nulls=[b"", b"N"]
    )
    got = [
        pa.Array.from_buffers(
            pa.large_binary(), fields.rows, [pa.py_buffer(b) for b in fields.column(place)]
        ).to_pylist()
        for place in (1, 0)
    ]
    if not rows.tobytes().strip(b"\r\n"):
        assert got == [[], []]
        return
    known = arrow_csv.read_csv(
        pa.py_buffer(rows),
        read_options=arrow_csv.ReadOptions(use_threads=False, column_names=["a", "b", "c"]),
        parse_options=arrow_csv.ParseOptions(quote_char=quote or False, invalid_row_handler=drop),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys("abc", pa.binary()), strings_can_be_null=True, null_values=["", "N"]
        ),
    ).to_pydict()
    assert (got, fields.bad_rows) == ([known["a"], known["c"]], bad)


def test_types_are_inferred_for_slices_of_wide_tables(tmp_path):
    """The kinds of 700 columns: numbers, text, and empty ones. A short row that is not UTF-8 is left out."""
    cells = [["1", "", "2.5"], ["x", "", "y"], ["", "", ""]]
    names = [f"c{i}" for i in range(700)]
    text = [",".join(names)] + [",".join(cells[i % 3][row] for i in range(700)) for row in range(3)]
    path = tmp_path / "t.csv"
    path.write_bytes("\n".join(text).encode() + b"\n\xff,\xff\n")
    encoder = th.scan_csv(path, on_error="skip").encoder
    assert [column.kind for column in encoder.columns] == [
        ("number", "category", "category")[i % 3] for i in range(700)
    ]
    with pytest.raises(DataError, match="line 5, column 1: the row has 2 fields, but the table has 700 columns"):
        read(th.scan_csv(path), want_labels=False)


@examples(100)
@given(cells=st.lists(st.text(st.sampled_from("019.-+eE N"), max_size=6), min_size=1, max_size=4))
def test_what_is_certainly_a_number_is_one_for_pyarrow(cells):
    text = "".join(f"{cell},x\n" for cell in cells)
    sample = TextSample(np.frombuffer(text.encode(), np.uint8), Dialect(","), ["a", "b"])
    assert not sample.is_numeric("b")
    if sample.is_numeric("a"):
        assert pa.types.is_integer(sample.column("a").type) or pa.types.is_floating(sample.column("a").type)
    else:
        assert not all(cell.isdigit() for cell in cells)


def test_wide_tables(tmp_path):
    """More columns than a batch has features for."""
    width = 3000
    (tmp_path / "t.csv").write_text(",".join(f"c{i}" for i in range(width)) + "\n" + (",".join("1" * width) + "\n") * 3)
    source = th.scan_csv(tmp_path / "t.csv", target="c0").limited(ReadLimits(block=1000))
    assert [len(row.keys) for row in read(source)] == [width - 1] * 3


def test_json_tables_guess_by_values(tmp_path):
    lines = [{"y": 1, "n": 2, "b": True, "s": "x"}, {"y": 0, "n": None, "late": 3.5, "s": "5"}]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert names_of(scan(tmp_path / "t.jsonl", target="y")) == [("n", "b", "s=x"), ("s=5", "late")]


def test_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    """Three times the rows of a table take no more memory than they do once."""
    import subprocess
    import sys

    rng = np.random.default_rng(0)
    lines = ["\t".join(map(str, row)) for row in rng.integers(0, 10**6, (20_000, 40)).tolist()]
    text = "\n".join(line.replace(line.split("\t")[0], "1", 1) for line in lines) + "\n"
    code = (
        "import sys, thresher as th; from thresher.core.memory import peak_resident\n"
        "for _ in th.scan_csv(sys.argv[1], schema='criteo').batches(want_names=True): pass\n"
        "print(peak_resident())"
    )
    peaks = []
    for times in (1, 4):
        (tmp_path / "t.tsv").write_text(text * times)
        run = subprocess.run(
            [sys.executable, "-c", code, tmp_path / "t.tsv"], capture_output=True, text=True, check=True
        )
        peaks.append(int(run.stdout))
    assert peaks[1] - peaks[0] < 4 << 20


_COLUMNS = st.one_of(
    *(
        st.tuples(st.just(kind), st.lists(st.one_of(st.none(), values), min_size=9, max_size=9))
        for kind, values in (
            (pa.int64(), st.integers(-(2**40), 2**40)),
            (pa.uint8(), st.integers(0, 255)),
            (pa.float64(), st.floats(allow_nan=True, allow_infinity=False, width=32)),
            (pa.bool_(), st.booleans()),
            (pa.string(), st.text(max_size=5)),
            (pa.large_string(), st.text(max_size=20)),
            (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "bb", ""])),
            (pa.list_(pa.string()), st.lists(st.text(max_size=3), max_size=3)),
            (pa.list_(pa.float32()), st.lists(st.floats(-9, 9, width=16), max_size=3)),
        )
    )
)


@examples(60)
@given(columns=st.lists(_COLUMNS, min_size=1, max_size=5), group=st.integers(1, 9), batch=st.integers(1, 5))
def test_made_up_arrow_tables(tmp_path_factory, columns, group, batch):
    """In memory (whole, sliced and chunked), in Parquet and in IPC files: the same rows, which the twin knows."""
    table = pa.table({f"c{i}": pa.array(values, kind) for i, (kind, values) in enumerate(columns)})
    folder = tmp_path_factory.mktemp("made")
    pq.write_table(table, folder / "t.parquet", row_group_size=group)
    with pa.OSFile(str(folder / "t.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=group)
    expected = [twin.arrow_row(row) for row in table.to_pylist()]
    padded = pa.concat_tables([table, table, table]).combine_chunks().slice(9, 9)
    chunked = pa.concat_tables([table.slice(0, group), table.slice(group)])
    sources = [as_source(table), as_source(padded), as_source(chunked)]
    sources += [scan(folder / name) for name in ("t.parquet", "t.arrow")]
    for source in sources:
        got = read(source, batch, want_names=True, want_labels=False)
        assert [(list(row.keys), list(row.names), list(row.values)) for row in got] == expected


def test_batches_change_no_bit_of_an_answer(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=31)
    for name in ("t.csv", "t.parquet"):
        how = {"k": 5, "target": "y", "bins": "quantile:5", "passes": 2, "refit": False, "memory": "4MB"}
        answers = [th.select(tmp_path / name, batch_rows=n, **how) for n in (1, 7, 8192)]
        assert len({(*one.names, one.weights.tobytes()) for one in answers}) == 1


def test_compressed_parquet_is_told(tmp_path):
    import gzip

    pq.write_table(pa.table({"y": [1]}), tmp_path / "t.parquet")
    (tmp_path / "z.parquet").write_bytes(gzip.compress((tmp_path / "t.parquet").read_bytes()))
    with pytest.raises(th.DataError, match=r"z\.parquet: the whole file is compressed \(gzip\)"):
        th.scan_parquet(tmp_path / "z.parquet", target="y")


def test_bad_rows_are_counted_by_file(tmp_path):
    for number, bad in ((1, 0), (2, 3), (3, 1)):
        labels = [1.0, 0.0] * 20
        labels[5 : 5 + bad] = [None] * bad
        pq.write_table(pa.table({"y": labels, "a": [1.0] * 40}), tmp_path / f"part{number}.parquet")
    source = th.scan_parquet(tmp_path / "part*.parquet", target="y", on_error="skip")
    assert sum(len(batch) for batch, _ in source.batches()) == 116
    assert [name.rpartition("part")[2] for name in source.files()] == ["1.parquet", "2.parquet", "3.parquet"]
    assert {name.rpartition("part")[2]: n for name, n in source.skipped_files().items()} == {
        "2.parquet": 3,
        "3.parquet": 1,
    }


def test_a_model_of_cached_rows_knows_how_to_read_files(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("y,a,c\n" + "".join(f"{i % 2},{i % 7},{'uv'[i % 2]}\n" for i in range(200)))
    source = th.scan_csv(path, target="y", bins="quantile:3")
    plain, cached = th.select(source, k=5), th.select(source, k=5, cache=tmp_path / "cache")
    assert cached.provenance["reading"] == plain.provenance["reading"]
    assert cached.predict(path).tolist() == plain.predict(path).tolist()


@pytest.mark.parametrize("groups", [1, 7, 40])
def test_parquet_is_divided_between_row_groups(tmp_path: Path, groups: int) -> None:
    n = 200
    for first, name in ((1, "x.parquet"), (500, "y.parquet")):
        table = pa.table({"a": np.arange(n, dtype=np.float32) + first, "y": np.arange(n) % 2})
        pq.write_table(table, tmp_path / name, row_group_size=-(-n // groups))
    one, two = (th.scan_parquet(tmp_path / name, target="y") for name in ("x.parquet", "*.parquet"))
    for source, files in ((one, 1), (two, 2)):
        for number in (1, 3, 8, 100):
            shards = source.shards(number)
            assert min(number, files * groups, number if groups < 40 else 8) <= len(shards) <= number
            assert exactly(row for shard in shards for row in read(shard)) == exactly(read(source))
            assert len({shard.fingerprint() for shard in shards}) == len(shards)
    part = one.shards(3)[-1]
    (whole, start), *_ = part.batches(5)
    assert start.offset > 100 or groups == 1
    rest = read(part)[len(whole) :]
    assert exactly(row for batch, _ in part.batches(7, start=start) for row in rows_of(batch)) == exactly(rest)
