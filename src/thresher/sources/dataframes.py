"""Data frames in memory: pandas, polars and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch, Names
from thresher.core.feature_space import FeatureSpace
from thresher.display import quoted
from thresher.errors import DataError, SettingsError
from thresher.sources.arrays import MAX_BATCH_FEATURES, DenseSource, InMemory, SparseSource
from thresher.sources.base import Source
from thresher.sources.tables.arrow_columns import is_list
from thresher.sources.tables.column_values import label_values
from thresher.sources.tables.column_warnings import Where, column_warnings
from thresher.sources.tables.infer import SAMPLE_ROWS
from thresher.sources.tables.schema import find_column
from thresher.sources.tables.table_encoder import ColumnEncoder, Kind, TableEncoder, kind_of_type

#: Rows of a column that the fingerprint hashes at a time.
_SLICE = 1 << 16


class TableSource(InMemory):
    """An Arrow table: numeric columns are features with a value, others make features ``column=value``.

    Missing entries (null or NaN) and zeros are dropped. `thresher.sources.tables.table_encoder` defines the names and
    the keys, as for tables in files.
    """

    space = FeatureSpace("token")

    def __init__(self, table: Any, y: Any = None, weight: Any = None, order: Any = None) -> None:
        super().__init__(table.num_rows, y, weight, order)
        self.table = _without_views(table)
        self._names = [str(name) for name in table.column_names]
        kinds = [_kind(name, table.schema.field(i).type) for i, name in enumerate(self._names)]
        columns = [ColumnEncoder(name, kind) for name, kind in zip(self._names, kinds, strict=True)]
        self._encoder = TableEncoder(tuple(columns))

    def _with_order(self, order: NDArray[np.int64]) -> Source:
        return TableSource(self.table, self.targets, self.weight, order)

    def _max_batch_rows(self) -> int:
        return MAX_BATCH_FEATURES // max(1, len(self._names))

    def _rows(self, rows: slice | NDArray[np.int64], want_names: bool) -> Batch:
        part = self.table[rows.start : rows.stop] if isinstance(rows, slice) else self.table.take(rows)
        n = part.num_rows
        encoded = self._encoder.rows(
            dict(zip(self._names, part.columns, strict=True)), n, rows=n + 1, want_names=want_names
        )
        for column, row, what in encoded["faults"]:
            number = rows.start + row if isinstance(rows, slice) else rows[row]
            raise DataError(f"row {number}, column {quoted(column)}: {what}. Drop or fill this value.")
        names = Names(encoded["names"], encoded["text"], encoded["prefixes"]) if want_names else None
        return Batch(encoded["indptr"], encoded["keys"], encoded["values"], names=names)

    def _content(self) -> Iterator[Any]:
        for column, values in zip(self._encoder.columns, self.table.columns, strict=True):
            yield np.frombuffer(column.name.encode(), np.uint8)
            for at in range(0, len(values), _SLICE):
                part = values[at : at + _SLICE]
                # Hash values, not their encoding; and NumPy does not take all categorical columns.
                plain = column.kind == "number" and not is_list(values.type)
                yield part.to_numpy() if plain else np.array(part.to_pylist(), dtype=object)

    def warnings(self) -> list[str]:
        rows = self.table.slice(0, SAMPLE_ROWS)
        target = None if self.y is None else label_values(self.y[:SAMPLE_ROWS])
        columns = dict(zip(self._names, rows.columns, strict=True))
        return list(column_warnings(Where(None), columns, self._names, target))

    def describe(self) -> str:
        return f"table of {self.table.num_rows} x {self.table.num_columns}"


def _kind(name: str, kind: Any) -> Kind:
    """The kind of a column of this Arrow type."""
    found = kind_of_type(kind)
    if found is None:
        raise DataError(
            f"column {quoted(name)} has type {kind}, which is neither a number nor text. "
            "Convert it to one of these, or drop it."
        )
    return found


def _without_views(table: Any) -> Any:
    """Convert string views to plain strings: Arrow cannot take rows of string views."""
    import pyarrow as pa

    schema = table.schema
    for i, field in enumerate(schema):
        if pa.types.is_string_view(field.type):
            schema = schema.set(i, field.with_type(pa.large_string()))
    return table if schema is table.schema else table.cast(schema)


def frame_kind(data: Any) -> str | None:
    """The package of a data frame: pandas, polars or pyarrow; None for other data."""
    kind = type(data).__module__.split(".")[0]
    attributes = {"pandas": "columns", "polars": "columns", "pyarrow": "schema"}
    # Check the type, not the object: reading the columns of a lazy frame is slow, and warns.
    return kind if kind in attributes and hasattr(type(data), attributes[kind]) else None


def arrow_table(frame: Any) -> Any | None:
    """Convert a data frame to an Arrow table; return None for other data."""
    kind = frame_kind(frame)
    if kind == "pandas":
        import pyarrow as pa

        try:
            return pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise DataError(
                f"the data frame cannot become an Arrow table: {error}. Give each column a unique name and one type."
            ) from None
    if kind == "polars":
        return (frame.collect() if hasattr(frame, "collect") else frame).to_arrow()
    if kind == "pyarrow":
        import pyarrow as pa

        return pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
    return None


def memory_source(data: Any, y: Any = None, weight: Any = None, target: str | int | None = None) -> Source:
    """Make a source from a matrix or a data frame; ``target`` is a column of the data frame."""
    table = arrow_table(data)
    if table is not None:
        if target is not None:
            target = find_column(target, table.column_names, "the table", "target")
            y = table.column(target).to_numpy()
            table = table.drop_columns([target])
        return TableSource(table, y, weight)
    if target is not None:
        raise SettingsError("target names a column of a data frame; pass y for a matrix")
    if hasattr(data, "tocsr"):
        return SparseSource(data, y, weight)
    if isinstance(data, np.ma.MaskedArray):
        raise DataError("a masked array would lose its mask: pass a DataFrame, where missing values are ignored.")
    try:
        matrix = np.asarray(data)
    except ValueError as error:
        raise DataError(f"the rows do not form a matrix: {error}.") from None
    return DenseSource(matrix, y, weight)
