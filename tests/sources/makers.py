"""Every kind of source, each made from the same few rows, and what must come out of it."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
import zstandard

from thresher import _native
from thresher.sources.combine import HeldOut, ReadAhead, Weighted, hold_out
from thresher.sources.libsvm import scan_libsvm
from thresher.sources.scan import as_source
from thresher.sources.source import Source
from thresher.sources.vw import scan_vw


@dataclass(frozen=True)
class Row:
    """One example; ``features`` are (column, value) pairs, columns ascending and values not zero."""

    features: tuple[tuple[int, float], ...]
    y: float
    weight: float = 1.0


WIDTH = 9


def example_rows(n: int = 17) -> list[Row]:
    """A fixed small list: an empty row, rows of all ones, a copy, and values that single precision holds."""
    rng = np.random.default_rng(5)
    rows = []
    for i in range(n):
        columns = np.flatnonzero(rng.random(WIDTH) < 0.4)
        values = np.where(rng.random(len(columns)) < 0.3, 1.0, rng.integers(-40, 41, len(columns)) / 4 + 0.125)
        weight = float(rng.choice([1.0, 1.0, 0.5, 3.0]))
        rows.append(Row(tuple(zip(columns.tolist(), values.tolist(), strict=True)), float(i % 3), weight))
    rows[4] = replace(rows[4], features=())
    rows[7] = replace(rows[7], features=((0, 1.0), (8, 1.0)))
    rows[15] = replace(rows[15], features=rows[3].features)
    return rows


@dataclass(frozen=True)
class Expected:
    """A row as it must come out: its features as (name, key) and value, label and weight."""

    names: tuple[str, ...]
    keys: tuple[int, ...]
    values: tuple[float, ...]
    y: Any
    weight: float


def row_of(row: Row, name: Callable[[int], str], key: Callable[[int], int], weighted: bool = True) -> Expected:
    """A row whose features all are columns."""
    columns = [column for column, _ in row.features]
    values = tuple(value for _, value in row.features)
    names, keys = tuple(map(name, columns)), tuple(map(key, columns))
    return Expected(names, keys, values, row.y, row.weight if weighted else 1.0)


@dataclass(frozen=True)
class Kind:
    """A kind of source. ``make(folder, rows)`` builds it; ``expect(rows)`` is what must come out, in order.

    ``order`` is "same" where rows come in the order of the data, "permuted" where they come in another, and
    "some" where some are left out. ``labelled`` is False where labels cannot be left out of the data.
    """

    make: Callable[[Path, list[Row]], Source]
    expect: Callable[[list[Row]], list[Expected]]
    order: str = "same"
    unlabelled: Callable[[Path, list[Row]], Source] | None = None
    shards: int = 1  # how many pieces shards(10) must give at least


KINDS: dict[str, Kind] = {}


# Text files


def libsvm_text(rows: Iterable[Row], labels: bool = True) -> bytes:
    lines = []
    for i, row in enumerate(rows):
        words = [f"{row.y:g}"] if labels else []
        words += [f"{10 * column}:{value!r}" for column, value in row.features]
        if not labels and not row.features:
            words = ["0:0"]  # a line of nothing would be no row
        lines.append(" ".join(words) + (" # remark" if i % 5 == 1 else ""))
    return "".join(line + "\n" for line in lines).encode()


def vw_text(rows: Iterable[Row], labels: bool = True) -> bytes:
    """Even columns in namespace ``user``, odd ones in the default one, after them."""
    lines = []
    for row in rows:
        even = "".join(f" é{column}:{value!r}" for column, value in row.features if column % 2 == 0)
        odd = "".join(f" n{column}:{value!r}" for column, value in row.features if column % 2)
        head = f"{row.y:g} {row.weight:g} 'tag" if labels else ""
        lines.append(f"{head}|user{even} |{odd}")
    return "".join(line + "\n" for line in lines).encode()


def libsvm_rows(rows: list[Row]) -> list[Expected]:
    return [row_of(row, lambda c: str(10 * c), lambda c: 10 * c, weighted=False) for row in rows]


def vw_rows(rows: list[Row]) -> list[Expected]:
    seed = _native.hash_bytes(b"user^", 0)

    def key(column: int) -> int:
        if column % 2:
            return _native.hash_bytes(f"n{column}".encode(), 0)
        return _native.hash_bytes(f"é{column}".encode(), seed)

    evens_first = [replace(row, features=tuple(sorted(row.features, key=lambda f: f[0] % 2))) for row in rows]
    return [row_of(row, lambda c: f"n{c}" if c % 2 else f"user^é{c}", key) for row in evens_first]


def halves(text: bytes) -> tuple[bytes, bytes]:
    """A text cut at a line end."""
    at = text.index(b"\n", len(text) // 2) + 1
    return text[:at], text[at:]


def with_checks(text: bytes) -> bytes:
    """Zstandard as a stream: blocks, a checksum, and no size in the header."""
    writer = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    first, second = halves(text)
    return writer.compress(first) + writer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) + writer.compress(second) + writer.flush()


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "gz-members": lambda text: b"".join(gzip.compress(half) for half in halves(text)) + b"\0" * 100,
    "zst": lambda text: zstandard.ZstdCompressor().compress(text),
    "zst-frames": lambda text: b"".join(with_checks(half) for half in halves(text)),
    "xz": lzma.compress,
    "xz-streams": lambda text: b"".join(lzma.compress(half) for half in halves(text)),
    "bz2": bz2.compress,
    "bz2-streams": lambda text: b"".join(bz2.compress(half) for half in halves(text)),
    "crlf": lambda text: text.replace(b"\n", b"\r\n"),
    "no-final-newline": lambda text: text.rstrip(b"\n"),
    "blank-lines": lambda text: b"\n \t\n" + text.replace(b"\n", b"\n\n"),
    "plain": bytes,
}

FORMATS: dict[str, tuple[Callable[..., bytes], Callable[..., Source], Callable[[list[Row]], list[Expected]]]] = {
    "libsvm": (libsvm_text, scan_libsvm, libsvm_rows),
    "vw": (vw_text, scan_vw, vw_rows),
}


def _register_files() -> None:
    for name, (write, scan, expect) in FORMATS.items():

        def several(folder: Path, rows: list[Row], write: Any = write) -> list[Path]:
            texts = [write(rows[:1]), write(rows[1:9]), write(rows[9:])]
            contents = [texts[0].rstrip(b"\n"), gzip.compress(texts[1]), texts[2]]
            (folder / "parts").mkdir()
            paths = [folder / "parts" / f"part{number}" for number in (1, 2, 10)]
            for path, content in zip(paths, contents, strict=True):
                path.write_bytes(content)
            return paths

        def bare(folder: Path, rows: list[Row], write: Any = write, scan: Any = scan) -> Source:
            (folder / "bare").write_bytes(write(rows, labels=False))
            return scan(folder / "bare")

        for how, change in COMPRESSED.items():

            def one(folder: Path, rows: list[Row], how=how, change=change, write=write, scan=scan) -> Source:
                (folder / "rows").write_bytes(change(write(rows)))
                return scan(folder / "rows")

            plain = how in ("plain", "crlf", "no-final-newline", "blank-lines")
            KINDS[f"{name}-{how}"] = Kind(one, expect, unlabelled=bare, shards=10 if plain else 1)
        KINDS[f"{name}-files"] = Kind(lambda f, r, s=several, scan=scan: scan(s(f, r)), expect, shards=3)
        KINDS[f"{name}-glob"] = Kind(
            lambda f, r, s=several, scan=scan: scan(s(f, r)[0].parent / "part*"), expect, shards=3
        )
        KINDS[f"{name}-folder"] = Kind(lambda f, r, s=several, scan=scan: scan(str(s(f, r)[0].parent)), expect, shards=3)


_register_files()


# Matrices


def dense(rows: list[Row]) -> np.ndarray:
    x = np.zeros((len(rows), WIDTH))
    for i, row in enumerate(rows):
        for column, value in row.features:
            x[i, column] = value
    return x


def matrix_rows(rows: list[Row]) -> list[Expected]:
    return [row_of(row, "x{}".format, int) for row in rows]


def whole(rows: list[Row]) -> list[Row]:
    """The rows with whole numbers for values, none of them zero."""
    return [replace(row, features=tuple((c, float(int(4 * v)) or 1.0) for c, v in row.features)) for row in rows]


def _matrix(convert: Callable[[np.ndarray], Any], integers: bool = False) -> Kind:
    keep = whole if integers else list

    def make(folder: Path, rows: list[Row]) -> Source:
        x = convert(dense(keep(rows)))
        return as_source(x, [row.y for row in rows], weight=[row.weight for row in rows])

    def bare(folder: Path, rows: list[Row]) -> Source:
        return as_source(convert(dense(keep(rows))))

    return Kind(make, lambda rows: matrix_rows(keep(rows)), unlabelled=bare, shards=10)


def _wide_indices(matrix: Any) -> Any:
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


def _wide_coo(x: np.ndarray) -> Any:
    matrix = sp.coo_array(x)
    return sp.coo_array((matrix.data, tuple(c.astype(np.int64) for c in matrix.coords)), shape=x.shape)


KINDS |= {
    "ndarray-f64": _matrix(np.asarray),
    "ndarray-f32": _matrix(lambda x: x.astype(np.float32)),
    "ndarray-f16": _matrix(lambda x: x.astype(np.float16)),
    "ndarray-object": _matrix(lambda x: x.astype(object)),
    "ndarray-int": _matrix(lambda x: x.astype(np.int64), integers=True),
    "ndarray-fortran": _matrix(np.asfortranarray),
    "ndarray-strided": _matrix(lambda x: np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2]),
    "list": _matrix(lambda x: x.tolist()),
    "csr-i32": _matrix(sp.csr_array),
    "csr-i64": _matrix(lambda x: _wide_indices(sp.csr_array(x))),
    "csc-i32": _matrix(lambda x: sp.csc_matrix(x)),
    "csc-i64": _matrix(lambda x: _wide_indices(sp.csc_array(x))),
    "coo-i32": _matrix(lambda x: sp.coo_matrix(x)),
    "coo-i64": _matrix(_wide_coo),
    "csr-int": _matrix(lambda x: sp.csr_array(x.astype(np.int32)), integers=True),
}


# Tables: columns 0 to 2 are numbers, 3 is true or false, 4 to 6 are texts, 7 is numbered text, 8 numbers; 0 is missing

_TEXTS = {4: "colour", 5: "città", 6: "kind", 7: "code"}


def _cells(row: Row) -> dict[str, Any]:
    values = dict(row.features)
    cells: dict[str, Any] = {f"n{c}": values.get(c, 0.0 if c else None) for c in (0, 1, 2, 8)}
    cells["flag"] = 3 in values
    for column, name in _TEXTS.items():
        cells[name] = f"v{values[column]:g}" if column in values else None
    return cells


_COLUMNS = ["n0", "n1", "n2", "flag", "colour", "città", "kind", "code", "n8"]


def columns_of(rows: list[Row]) -> dict[str, list[Any]]:
    cells = [_cells(row) for row in rows]
    return {name: [cell[name] for cell in cells] for name in _COLUMNS}


def table_rows(rows: list[Row]) -> list[Expected]:
    """By the rule: a number under the hash of its column, a text under its own hash seeded by that of ``column=``."""
    out = []
    for row in rows:
        names, keys, values = [], [], []
        cells = _cells(row)
        for column in _COLUMNS:
            cell = cells[column]
            if cell is None or cell is False or cell == 0.0:
                continue
            if isinstance(cell, str):
                names.append(f"{column}={cell}")
                keys.append(_native.hash_bytes(cell.encode(), _native.hash_bytes(f"{column}=".encode(), 0)))
                values.append(1.0)
            else:
                names.append(column)
                keys.append(_native.hash_bytes(column.encode(), 0))
                values.append(float(cell))
        out.append(Expected(tuple(names), tuple(keys), tuple(values), row.y, row.weight))
    return out


def pandas_frame(columns: dict[str, list[Any]]) -> Any:
    frame = pd.DataFrame(columns)
    return frame.astype({"colour": "category", "n0": "Float32", "città": object})


def polars_frame(columns: dict[str, list[Any]]) -> Any:
    return pl.DataFrame(columns, schema_overrides={"colour": pl.Categorical, "n8": pl.Float32})


def arrow_table(columns: dict[str, list[Any]]) -> Any:
    """A categorical whose chunks number their values differently, string views, large strings and nulls."""
    table = pa.table(columns)
    half = len(table) // 2
    chunks = [table["colour"][:half].combine_chunks(), table["colour"][half:].combine_chunks()]
    table = table.set_column(4, "colour", pa.chunked_array([chunk.dictionary_encode() for chunk in chunks]))
    table = table.set_column(5, "città", table["città"].cast(pa.string_view()))
    return table.set_column(6, "kind", table["kind"].cast(pa.large_string()))


def _table(convert: Callable[[dict[str, list[Any]]], Any], labels: str = "arguments") -> Kind:
    def make(folder: Path, rows: list[Row]) -> Source:
        columns = columns_of(rows)
        y, weight = [row.y for row in rows], [row.weight for row in rows]
        if labels == "column":
            return as_source(convert({**columns, "target": y}), weight=weight, target="target")
        return as_source(convert(columns), y, weight=weight)

    return Kind(make, table_rows, unlabelled=lambda f, rows: as_source(convert(columns_of(rows))), shards=10)


def _string_labels(folder: Path, rows: list[Row]) -> Source:
    weight = [row.weight for row in rows]
    return as_source(dense(rows), [f"class {row.y:g}" for row in rows], weight=weight)


KINDS |= {
    "pandas": _table(pandas_frame),
    "pandas-target": _table(pandas_frame, labels="column"),
    "polars": _table(polars_frame),
    "polars-lazy": _table(lambda columns: polars_frame(columns).lazy()),
    "polars-target": _table(polars_frame, labels="column"),
    "arrow-table": _table(arrow_table),
    "arrow-batch": _table(lambda columns: arrow_table(columns).combine_chunks().to_batches()[0]),
    "string-labels": Kind(
        _string_labels, lambda rows: [replace(e, y=f"class {e.y:g}") for e in matrix_rows(rows)], shards=10
    ),
}


# Sources made from sources

_CLASS_WEIGHT = {0.0: 2.0, 2.0: 0.25}


def weighted_rows(expected: list[Expected]) -> list[Expected]:
    return [replace(row, weight=row.weight * _CLASS_WEIGHT.get(row.y, 1.0)) for row in expected]


def _over(base: str, change: Callable[[Source], Source], order: str = "same", expect: Any = None, shards: int = 1) -> Kind:
    kind = KINDS[base]
    bare = kind.unlabelled
    return Kind(
        lambda folder, rows: change(kind.make(folder, rows)),
        kind.expect if expect is None else lambda rows: expect(kind.expect(rows)),
        order,
        None if bare is None else lambda folder, rows: change(bare(folder, rows)),
        shards,
    )


def _shuffled(source: Source) -> Source:
    return source.shuffled(3, rows=7, features=30)


def _training(source: Source) -> Source:
    return hold_out(source, 0.4, seed=1)[0]


def _test(source: Source) -> Source:
    return hold_out(source, 0.4, seed=1)[1]


def _weighted(source: Source) -> Source:
    return Weighted(source, _CLASS_WEIGHT)


for _base in ("libsvm-files", "vw-plain", "csr-i32", "arrow-table"):
    _pieces = KINDS[_base].shards
    _in_memory = _base in ("csr-i32", "arrow-table")
    KINDS |= {
        f"shuffled({_base})": _over(_base, _shuffled, "permuted", shards=10 if _in_memory else 1),
        f"training({_base})": _over(_base, _training, "some", shards=_pieces),
        f"test({_base})": _over(_base, _test, "some", shards=_pieces),
        f"weighted({_base})": _over(_base, _weighted, expect=weighted_rows, shards=_pieces),
        f"ahead({_base})": _over(_base, ReadAhead, shards=_pieces),
        f"ahead(shuffled(training({_base})))": _over(
            _base, lambda s: ReadAhead(_shuffled(_training(s)), depth=1), "some"
        ),
        f"weighted(test(ahead({_base})))": _over(
            _base, lambda s: _weighted(_test(ReadAhead(s))), "some", weighted_rows, _pieces
        ),
        f"shuffled(shuffled({_base}))": _over(_base, lambda s: _shuffled(_shuffled(s)), "permuted"),
        f"test(shuffled({_base}))": _over(_base, lambda s: HeldOut(_shuffled(s), 0.5, held=True), "some"),
    }
