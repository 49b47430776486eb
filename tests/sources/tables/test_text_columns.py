"""Texts among other columns: their words beside the other features, row by row."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.sources.reading import exactly, read, rows_of
from thresher.core.memory import ReadLimits
from thresher.errors import DataError
from thresher.sources.registry import as_source, scan
from thresher.sources.tables.table_encoder import ColumnEncoder, TableEncoder

TEXTS = [
    "The parcel came late, late, late and open!",
    "I want my refund now",
    "",
    "perfect shoes in the right size",
    None,
] * 20


def table() -> pd.DataFrame:
    n = len(TEXTS)
    return pd.DataFrame(
        {
            "y": [i % 2 for i in range(n)],
            "body": [text and f"{text} n{i}" for i, text in enumerate(TEXTS)],
            "price": [i / 4 for i in range(n)],
            "title": [f"the order number {i} of many orders of this shop" for i in range(n)],
            "city": ["Oslo" if i % 3 else None for i in range(n)],
        }
    )


def written(frame: pd.DataFrame, folder: Path) -> list[Path]:
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet", row_group_size=17)
    frame.to_json(folder / "t.jsonl", orient="records", lines=True)
    return [folder / name for name in ("t.csv", "t.parquet", "t.jsonl")]


def expected(frame: pd.DataFrame) -> list[set[str]]:
    """The names of each row, by the rules and a regular expression."""
    rows = []
    for row in frame.itertuples(index=False):
        texts = {"body": row.body if isinstance(row.body, str) else "", "title": row.title}
        words = {f"{name}={word}" for name, text in texts.items() for word in re.findall(r"\w\w+", text.lower())}
        words |= {"price"} if row.price else set()
        rows.append(words | ({f"city={row.city}"} if isinstance(row.city, str) else set()))
    return rows


def test_words_stand_beside_the_other_features(tmp_path) -> None:
    frame = table()
    alike = exactly(read(as_source(frame, target="y"), want_names=True))
    assert [set(row.names) for row in read(as_source(frame, target="y"), want_names=True)] == expected(frame)
    for path in written(frame, tmp_path):
        for some in (path, None):
            source = scan(path, target="y") if some else scan(path, target="y").limited(ReadLimits(block=300))
            assert exactly(read(source, 7, want_names=True)) == alike, path
            assert [row.keys for row in read(source)] == [row.keys for row in read(source, want_names=True)]


def test_a_named_kind_is_not_guessed(tmp_path) -> None:
    path = written(table(), tmp_path)[0]
    names = {
        name for row in read(th.scan_csv(path, target="y", categorical=["body"]), want_names=True) for name in row.names
    }
    assert "title=order" in names
    assert "body=I want my refund now n1" in names
    forced = th.scan_csv(path, target="y", texts=["city"], ignored=["body", "title"])
    assert {name for row in read(forced, want_names=True) for name in row.names} == {"price", "city=oslo"}
    with pytest.raises(DataError, match="the column 'body' is named twice"):
        th.scan_csv(path, target="y", texts=["body"], categorical=["body"])


def test_a_word_and_a_column_of_its_name_are_two_features(tmp_path) -> None:
    frame = table().assign(body=[f"the price was {i} and more than a good price" for i in range(len(TEXTS))])
    frame.to_csv(tmp_path / "t.csv", index=False)
    keys = {
        name: key
        for row in read(scan(tmp_path / "t.csv", target="y"), want_names=True)
        for name, key in zip(row.names, row.keys, strict=True)
    }
    assert keys["price"] != keys["body=price"]


def test_a_text_that_is_not_utf_8(tmp_path) -> None:
    """It ends the reading with its place, or is counted; so is a number that is none, in the row before it."""
    frame = table()
    path = written(frame, tmp_path)[0]
    lines = path.read_bytes().split(b"\n")
    lines[12] = lines[12].replace(b"order", b"\xff\xfe")
    lines[30] = lines[30].replace(b",7.25,", b",seven,")
    path.write_bytes(b"\n".join(lines))
    source = th.scan_csv(path, target="y", numeric=["price"], texts=["body", "title"])
    with pytest.raises(DataError, match=r"t\.csv: line 13, .*UTF-8"):
        read(source)
    lenient = th.scan_csv(path, target="y", numeric=["price"], texts=["body", "title"], on_error="skip")
    batches = list(lenient.batches())
    rows, skipped = [row for batch, _ in batches for row in rows_of(batch)], batches[-1][1].skipped
    assert skipped == 2
    assert len(rows) == len(TEXTS) - 2


def test_a_model_reads_other_data_in_the_same_way(tmp_path) -> None:
    frame = table()
    model = th.select(frame, target="y", k=8, method="fgm", refit=False)
    margins = model.decision_function(frame)
    one = frame.assign(body="refund", title="short").iloc[:1]  # would be no text by itself
    model.save(tmp_path / "m.thr")
    assert th.load(tmp_path / "m.thr").decision_function(one).tolist() == model.decision_function(one).tolist()
    path = written(frame, tmp_path)[0]
    of_file = th.select(path, target="y", k=8, method="fgm", refit=False)
    assert of_file.names == model.names
    assert of_file.decision_function(path).tolist() == pytest.approx(margins.tolist(), abs=1e-12)


@examples(40)
@given(
    st.lists(
        st.tuples(st.text("ab \n\u03a3é", max_size=12), st.text("xy z", max_size=9), st.integers(0, 3)),
        min_size=1,
        max_size=9,
    ),
    st.integers(1, 30),
)
def test_any_rows_as_each_column_alone(rows: list[tuple[str, str, int]], features: int) -> None:
    """Joined rows hold what the columns give alone; a limit of features ends a batch between rows."""
    import pyarrow as pa

    a, b, n = (list(column) for column in zip(*rows, strict=True))
    arrays = {"a": pa.array(a, pa.large_string()), "b": pa.array(b, pa.large_string()), "n": pa.array(n, pa.float64())}
    kinds = {"a": "text", "n": "number", "b": "text"}
    columns = tuple(ColumnEncoder(name, kind) for name, kind in kinds.items())

    def encoded(chosen: tuple[ColumnEncoder, ...], **options) -> list[list[tuple]]:
        found = TableEncoder(chosen).rows(arrays, len(rows), rows=len(rows) + 1, labels_optional=True, **options)
        values = found["values"] if found["values"] is not None else [1.0] * len(found["keys"])
        pairs = list(zip(found["keys"].tolist(), map(float, values), strict=True))
        assert found["consumed"] == len(found["line"])
        return [sorted(pairs[i:j]) for i, j in zip(found["indptr"], found["indptr"][1:], strict=False)]

    alone = [encoded((column,)) for column in columns]
    whole = [sorted(itertools.chain(*parts)) for parts in zip(*alone, strict=True)]
    assert encoded(columns) == whole
    cut = encoded(columns, features=features)
    assert 1 <= len(cut) <= len(rows)
    assert cut == whole[: len(cut)]


def test_json_with_a_text_that_is_long_in_one_row(tmp_path) -> None:
    """Batches end by their features, whatever the mean length."""
    path = tmp_path / "t.jsonl"
    words = " ".join(f"w{i}" for i in range(5000))
    path.write_text(
        "".join(
            json.dumps({"y": i % 2, "n": i, "body": words if i == 40 else f"some words {i}"}) + "\n" for i in range(80)
        )
    )
    source = scan(path, target="y")
    assert len(read(source)) == 80
    assert [len(row.keys) for row in read(source)][40] == 5001
