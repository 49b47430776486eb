"""Matrices and tables of every kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

from tests.sources.rows import KINDS, WIDTH, Expected, Kind, Row, row_of
from thresher import _native
from thresher.sources.base import Source
from thresher.sources.registry import as_source

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


KINDS.update(
    {
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
)


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


KINDS.update(
    {
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
)
