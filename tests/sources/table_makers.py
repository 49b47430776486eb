"""Tables in files of every format, and texts."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from tests.reference.sources import ngrams as twin
from tests.sources.file_makers import LAID_OUT, gzipped
from tests.sources.memory_makers import columns_of, table_rows
from tests.sources.rows import KINDS, Expected, Kind, Row
from thresher.sources.base import Source
from thresher.sources.documents.scan import scan_text
from thresher.sources.registry import scan
from thresher.sources.tables.csv import scan_csv
from thresher.sources.tables.jsonl import JsonlSource
from thresher.sources.tables.parquet import scan_parquet

_NUMERIC = ["n0", "n1", "n2", "flag", "n8"]
_OPTIONS = {"target": "y", "weight": "w", "numeric": _NUMERIC, "categorical": ["colour", "città", "kind", "code"]}


def full_columns(rows: list[Row]) -> dict[str, list[Any]]:
    """The features of the tables in memory, and labels and weights in columns of their own."""
    return {"w": [row.weight for row in rows], **columns_of(rows), "y": [row.y for row in rows]}


def csv_text(rows: Iterable[Row], labels: bool = True, delimiter: str = ",", quoted: bool = True) -> bytes:
    out = io.StringIO()
    columns = full_columns(list(rows))
    if not labels:
        del columns["y"], columns["w"]
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=quoting)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if value is None else value for value in row])
    return out.getvalue().encode()


def _csv(change: Callable[[bytes], bytes], shards: int = 1, **how: Any) -> Kind:
    def make(folder: Path, rows: list[Row], labels: bool = True) -> Source:
        written = {"delimiter": "\t", "quoted": False} if how else {}
        (folder / "rows").write_bytes(change(csv_text(rows, labels, **written)))
        options = _OPTIONS if labels else {"numeric": _NUMERIC}
        return scan_csv(folder / "rows", **options, **how)

    return Kind(make, table_rows, unlabelled=lambda f, r: make(f, r, labels=False), shards=shards)


def _several(folder: Path, rows: list[Row]) -> Source:
    """The columns of the second file stand in another order."""
    (folder / "parts").mkdir()
    table = list(csv.reader(io.StringIO(csv_text(rows[1:9]).decode())))
    turned = "".join(",".join(reversed(line)) + "\n" for line in table).encode()
    parts = [csv_text(rows[:1]).rstrip(b"\n"), gzipped(turned), b"\xef\xbb\xbf" + csv_text(rows[9:])]
    for number, content in zip((1, 2, 10), parts, strict=True):
        (folder / "parts" / f"part{number}.csv").write_bytes(content)
    return scan_csv(folder / "parts", **_OPTIONS)


def _headless(folder: Path, rows: list[Row]) -> Source:
    (folder / "rows.csv").write_bytes(csv_text(rows).partition(b"\n")[2])
    positions = {"target": 10, "weight": "0", "numeric": [1, 2, 3, 4, 9], "categorical": [5, 6, 7, 8]}
    return scan_csv(folder / "rows.csv", names=list(full_columns(rows)), **positions)


for _how, _change in LAID_OUT.items():
    if _how != "blank-lines":
        KINDS[f"csv-{_how}"] = _csv(_change)
KINDS.update(
    {
        "csv-blank-lines": _csv(lambda text: b"\n\r\n" + text.replace(b"\n", b"\n\n")),
        "csv-carriage-returns": _csv(lambda text: text.replace(b"\n", b"\r")),
        "csv-quoted": _csv(lambda text: re.sub(rb"[^,\n]+", lambda field: b'"' + field[0] + b'"', text)),
        "tsv-unquoted": _csv(bytes, shards=10, quote=""),
        "csv-files": Kind(_several, table_rows, unlabelled=KINDS["csv-plain"].unlabelled, shards=3),
        "csv-without-header": Kind(_headless, table_rows, unlabelled=KINDS["csv-plain"].unlabelled),
    }
)


def _json(folder: Path, rows: list[Row], labels: bool = True) -> Source:
    columns = full_columns(rows)
    options = dict(_OPTIONS)
    if not labels:
        del columns["y"], columns["w"], options["target"], options["weight"]
    lines = [
        json.dumps({n: v for n, v in zip(columns, row, strict=True) if v is not None}, ensure_ascii=bool(i % 2))
        for i, row in enumerate(zip(*columns.values(), strict=True))
    ]
    (folder / "rows.jsonl").write_bytes("".join(line + "\n\n" for line in lines).encode())
    source = scan(folder / "rows.jsonl", **options)
    assert isinstance(source, JsonlSource)
    # Columns of objects come in the order in which they were met.
    order = tuple(sorted(source.encoder.columns, key=lambda column: list(columns).index(column.name)))
    return replace(source, encoder=replace(source.encoder, columns=order))


KINDS["jsonl"] = Kind(_json, table_rows, unlabelled=lambda f, r: _json(f, r, labels=False), shards=10)


def arrow_columns(rows: list[Row], labels: bool = True) -> Any:
    columns = full_columns(rows)
    if not labels:
        del columns["y"], columns["w"]
    table = pa.table(columns)
    at = table.column_names.index("colour")
    table = table.set_column(at, "colour", table["colour"].dictionary_encode())
    return table.append_column("unread", pa.array([object.__name__] * len(rows)))


def _stream(table: Any, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)


def _ipc(table: Any, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)


def _arrow(write: Callable[[Any, Path], None]) -> Kind:
    def make(folder: Path, rows: list[Row], labels: bool = True) -> Source:
        write(arrow_columns(rows, labels), folder / "rows")
        options = _OPTIONS if labels else {"numeric": _NUMERIC}
        return scan_parquet(folder / "rows", ignored=["unread"], **options)

    return Kind(make, table_rows, unlabelled=lambda f, r: make(f, r, labels=False))


def _parquet_files(folder: Path, rows: list[Row]) -> Source:
    for number, some in enumerate((rows[:1], rows[1:9], rows[9:])):
        pq.write_table(arrow_columns(some), folder / f"part{number}.parquet", row_group_size=3)
    return scan(str(folder / "*.parquet"), ignored=["unread"], **_OPTIONS)


KINDS.update(
    {
        "parquet": _arrow(lambda table, path: pq.write_table(table, path, row_group_size=4)),
        "ipc-file": _arrow(_ipc),
        "ipc-stream": _arrow(_stream),
        "feather": _arrow(lambda table, path: feather.write_feather(table, str(path), compression="zstd")),
    }
)
KINDS["parquet-files"] = Kind(_parquet_files, table_rows, unlabelled=KINDS["parquet"].unlabelled, shards=3)


# Texts: the words of a row follow from what it holds

_WORDS = ["Ünder", "the", "SEA", "naïve", "x", "Straße", "ΣΊΣΥΦΟΣ", "İstanbul", "a_b", "42nd", "the"]


def document(row: Row) -> str:
    """A text in which words repeat, with punctuation and white space of several kinds."""
    words = [f"{_WORDS[column]}{'!' if value > 3 else ' '}v{4 * value:g}" for column, value in row.features]
    return ", ".join(words) + "\n\t" + " ".join(reversed(words)) if words else ""


def _texts(form: twin.Form) -> Callable[[list[Row]], list[Expected]]:
    def expect(rows: list[Row]) -> list[Expected]:
        out = []
        for row in rows:
            keys, names, values = twin.row(document(row), form)
            out.append(Expected(tuple(names), tuple(keys), tuple(values), row.y, row.weight))
        return out

    return expect


def _text_rows(rows: list[Row], labels: bool) -> list[dict[str, Any]]:
    return [{"text": document(r), **({"y": r.y, "w": r.weight} if labels else {})} for r in rows]


def _text_kind(write: Callable[[Path, list[dict[str, Any]]], Path], form: twin.Form, shards: int = 1) -> Kind:
    def make(folder: Path, rows: list[Row], labels: bool = True) -> Source:
        path = write(folder, _text_rows(rows, labels))
        where = {"target": "y", "weight": "w"} if labels else {}
        ranges = {name: getattr(form, name) for name in ("words", "chars")}
        given = {**form._asdict(), **{name: None if ends == (0, 0) else ends for name, ends in ranges.items()}}
        return scan_text(path, text="text", **where, **given)

    return Kind(make, _texts(form), unlabelled=lambda f, r: make(f, r, labels=False), shards=shards)


def _write_json(folder: Path, rows: list[dict[str, Any]]) -> Path:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "rows.jsonl"


def _write_csv(folder: Path, rows: list[dict[str, Any]]) -> Path:
    with open(folder / "rows.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return folder / "rows.csv"


def _write_parquet(folder: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet", row_group_size=5)
    return folder / "rows.parquet"


def _class(y: float) -> str:
    return f"class {y:g}" if y > 1 else "a class"


def _folders(folder: Path, rows: list[Row]) -> Source:
    """Each row in the folder of its class; they come in the order of the classes."""
    for i, row in enumerate(rows):
        (folder / "texts" / _class(row.y)).mkdir(parents=True, exist_ok=True)
        content = document(row).encode()
        (folder / "texts" / _class(row.y) / f"{i}.txt").write_bytes(gzipped(content) if i % 4 == 1 else content)
    return scan_text(folder / "texts", words="1-2")


def _folder_rows(rows: list[Row]) -> list[Expected]:
    expected = _texts(twin.Form((1, 2)))(rows)
    labelled = [replace(e, y=_class(e.y), weight=1.0) for e in expected]
    return sorted(labelled, key=lambda e: e.y)  # stable: in natural order of the numbers within


KINDS.update(
    {
        "text-jsonl": _text_kind(_write_json, twin.Form((1, 2), counts="count"), shards=10),
        "text-csv": _text_kind(_write_csv, twin.Form((1, 3), stop=("the",), counts="log", unit=True)),
        "text-parquet": _text_kind(_write_parquet, twin.Form((0, 0), (2, 4))),
        "text-both": _text_kind(_write_json, twin.Form((1, 1), (1, 3), within_words=True, counts="count"), shards=10),
        "text-as-written": _text_kind(_write_parquet, twin.Form((1, 2), lower=False)),
        "text-pattern": _text_kind(_write_csv, twin.Form((1, 2), pattern=r"(?u)\w+|!")),
        "text-folders": Kind(_folders, _folder_rows, shards=10),
    }
)
