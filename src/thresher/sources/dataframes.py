"""Tables in memory: pandas, polars and Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch, Names
from thresher.core.feature_space import FeatureSpace
from thresher.errors import DataError
from thresher.sources.arrays import _MOST_FEATURES, InMemory
from thresher.sources.base import Source
from thresher.sources.tables.arrow_columns import is_list
from thresher.sources.tables.table_encoder import Kind, TableForm, column_forms, kind_of_type

#: Rows of a column that a fingerprint looks at together.
_SLICE = 1 << 16


class TableSource(InMemory):
    """An Arrow table: numeric columns by name with their value, others as ``column=value`` tokens.

    Missing entries (null or NaN) and zeros are left out. What features are called and which keys they have is
    `thresher.sources.tables.table_encoder`'s to say, as it is for tables in files.
    """

    space = FeatureSpace("token")

    def __init__(self, table: Any, y: Any = None, weight: Any = None, order: Any = None) -> None:
        super().__init__(table.num_rows, y, weight, order)
        self.table = _without_views(table)
        self._names = [str(name) for name in table.column_names]
        kinds = [_kind(name, table.schema.field(i).type) for i, name in enumerate(self._names)]
        self._form = TableForm(column_forms(self._names, kinds))

    def _with_order(self, order: NDArray[np.int64]) -> Source:
        return TableSource(self.table, self.targets, self.weight, order)

    def _rows_at_once(self) -> int:
        return _MOST_FEATURES // max(1, len(self._names))

    def _rows(self, rows: slice | NDArray[np.int64], want_names: bool) -> Batch:
        part = self.table[rows.start : rows.stop] if isinstance(rows, slice) else self.table.take(rows)
        n = part.num_rows
        made = self._form.rows(dict(zip(self._names, part.columns, strict=True)), n, rows=n + 1, want_names=want_names)
        for column, row, what in made["faults"]:
            number = rows.start + row if isinstance(rows, slice) else rows[row]
            raise DataError(f"row {number}, column {column!r}: {what}. Drop or fill it.")
        names = Names(made["names"], made["text"], made["prefixes"]) if want_names else None
        return Batch(made["indptr"], made["keys"], made["values"], names=names)

    def _content(self) -> Iterator[Any]:
        for column, values in zip(self._form.columns, self.table.columns, strict=True):
            yield np.frombuffer(column.name.encode(), np.uint8)
            for at in range(0, len(values), _SLICE):
                part = values[at : at + _SLICE]
                # Not all categorical columns go to NumPy, and how they are encoded should not count.
                plain = column.kind == "number" and not is_list(values.type)
                yield part.to_numpy() if plain else np.array(part.to_pylist(), dtype=object)

    def describe(self) -> str:
        return f"table of {self.table.num_rows} x {self.table.num_columns}"


def _kind(name: str, kind: Any) -> Kind:
    """What a column of this type is."""
    found = kind_of_type(kind)
    if found is None:
        raise DataError(
            f"column {name!r} is of type {kind}, which is neither a number nor text. "
            "Convert it to one of these, or drop it."
        )
    return found


def _without_views(table: Any) -> Any:
    """Text as plain strings: Arrow cannot take rows of string views."""
    import pyarrow as pa

    schema = table.schema
    for i, field in enumerate(schema):
        if pa.types.is_string_view(field.type):
            schema = schema.set(i, field.with_type(pa.large_string()))
    return table if schema is table.schema else table.cast(schema)


def frame_kind(data: Any) -> str | None:
    """Which package's table this is, pandas, polars or pyarrow; None for anything else."""
    kind = type(data).__module__.split(".")[0]
    marks = {"pandas": "columns", "polars": "columns", "pyarrow": "schema"}
    # The type is asked, since the columns of a lazy frame cost (and warn) when touched.
    return kind if kind in marks and hasattr(type(data), marks[kind]) else None


def arrow_table(frame: Any) -> Any | None:
    """A pandas or polars frame or an Arrow table as an Arrow table; None for anything else."""
    kind = frame_kind(frame)
    if kind == "pandas":
        import pyarrow as pa

        try:
            return pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise DataError(
                f"the frame does not make a table: {error}. Give each column its own name and one type."
            ) from None
    if kind == "polars":
        return (frame.collect() if hasattr(frame, "collect") else frame).to_arrow()
    if kind == "pyarrow":
        import pyarrow as pa

        return pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
    return None
