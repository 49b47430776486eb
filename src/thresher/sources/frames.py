"""Tables in memory: pandas, polars and Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.batch import Batch, Names
from thresher.errors import DataError
from thresher.sources.arrays import _MOST_FEATURES, InMemory, narrowed
from thresher.sources.source import Source
from thresher.space import FeatureSpace

#: Rows of a column that a fingerprint looks at together.
_SLICE = 1 << 16


class TableSource(InMemory):
    """An Arrow table: numeric columns by name with their value, others as ``column=value`` tokens.

    Missing entries (null or NaN) and zeros are left out. The key of a numeric column is the hash of
    its name; that of a token is the hash of the value, seeded with the hash of ``column=``.
    """

    space = FeatureSpace("token")

    def __init__(self, table: Any, y: Any = None, weight: Any = None, order: Any = None) -> None:
        super().__init__(table.num_rows, y, weight, order)
        self.table = _without_views(table)
        self._columns = [_Column(str(name), table.schema.field(i).type) for i, name in enumerate(table.column_names)]

    def _with_order(self, order: NDArray[np.int64]) -> Source:
        return TableSource(self.table, self.targets, self.weight, order)

    def _rows_at_once(self) -> int:
        return _MOST_FEATURES // max(1, len(self._columns))

    def _rows(self, rows: slice | NDArray[np.int64], want_names: bool) -> Batch:
        part = self.table[rows.start : rows.stop] if isinstance(rows, slice) else self.table.take(rows)
        n, width = part.num_rows, len(self._columns)
        keys = np.empty((n, width), np.uint64)
        values = np.ones((n, width), np.float32)
        present = np.empty((n, width), bool)
        words = np.zeros((n, width), np.uint64) if want_names else None
        texts: list[NDArray[np.uint8]] = []
        start = 0
        for j, column in enumerate(self._columns):
            filled = column.fill(part.column(j), keys[:, j], values[:, j], present[:, j])
            if filled is not None:
                row = int(filled)
                number = rows.start + row if isinstance(rows, slice) else rows[row]
                raise DataError(
                    f"row {number}, column {column.name!r}: the value is infinite or too large. Drop or fill it."
                )
            if words is not None:
                text, where, length = column.spelled(n)
                words[:, j] = Names.pack(where + start, length, j + 1 if column.categorical else 0)
                texts.append(text)
                start += len(text)
        names = None
        if words is not None:
            text = np.concatenate(texts) if texts else np.empty(0, np.uint8)
            prefixes = [b"", *(column.prefix for column in self._columns)]
            names = Names(words[present], text, prefixes)
        indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
        return Batch(indptr, keys[present], values[present], names=names)

    def _content(self) -> Iterator[Any]:
        for column, values in zip(self._columns, self.table.columns, strict=True):
            yield np.frombuffer(column.name.encode(), np.uint8)
            for at in range(0, len(values), _SLICE):
                part = values[at : at + _SLICE]
                # Not all categorical columns go to NumPy, and how they are encoded should not count.
                yield np.array(part.to_pylist(), dtype=object) if column.categorical else part.to_numpy()

    def describe(self) -> str:
        return f"table of {self.table.num_rows} x {self.table.num_columns}"


class _Column:
    """How one column becomes features."""

    def __init__(self, name: str, kind: Any) -> None:
        import pyarrow.types as kinds

        self.name = name
        inner = kind.value_type if kinds.is_dictionary(kind) else kind
        textual = kinds.is_string(inner) or kinds.is_large_string(inner) or kinds.is_string_view(inner)
        self.categorical = textual or kinds.is_dictionary(kind)
        numeric = kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind) or kinds.is_decimal(kind)
        if not (self.categorical or numeric or kinds.is_null(kind)):
            raise DataError(
                f"column {name!r} is of type {kind}, which is neither a number nor text. "
                "Convert it to one of these, or drop it."
            )
        self.prefix = f"{name}=".encode()
        self._plain = name.encode()
        self._key = _native.hash_bytes(self._plain, 0)
        self._seed = _native.hash_bytes(self.prefix, 0)
        self._values: tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]] | None = None

    def fill(
        self, chunked: Any, keys: NDArray[np.uint64], values: NDArray[np.float32], present: NDArray[np.bool_]
    ) -> int | None:
        """Write this column's keys, values and which rows have them; the first infinite row, if any."""
        if not self.categorical:
            numbers = chunked.cast("float64", safe=False).to_numpy(zero_copy_only=False)
            narrow = narrowed(numbers)
            infinite = np.isinf(narrow)
            if infinite.any():
                return int(np.argmax(infinite))
            keys[:] = self._key
            values[:] = narrow
            present[:] = ~np.isnan(numbers) & (numbers != 0)
            return None
        codes, text, offsets = _encoded(chunked)
        hashes = np.append(_native.hash_strings(offsets, text, self._seed), np.uint64(0))
        keys[:] = hashes[codes]
        present[:] = codes >= 0
        self._values = (text, np.append(offsets[:-1], 0)[codes], np.append(np.diff(offsets), 0)[codes])
        return None

    def spelled(self, n: int) -> tuple[NDArray[np.uint8], Any, Any]:
        """The text of the names last filled in, and where each row's name stands in it."""
        if self.categorical and self._values is not None:
            return self._values
        text = np.frombuffer(self._plain, np.uint8)
        return text, np.zeros(n, np.int64), np.full(n, len(text), np.int64)


def _encoded(chunked: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """A column as codes (-1 where missing) into distinct strings, these as text and offsets."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = chunked.combine_chunks()
    array = array.dictionary_encode() if not pa.types.is_dictionary(array.type) else array
    codes = pc.fill_null(array.indices.cast("int64"), -1).to_numpy(zero_copy_only=False)
    words = array.dictionary.cast(pa.large_string())
    if words.null_count:
        nulls = words.is_null().to_numpy(zero_copy_only=False)
        codes = np.where((codes >= 0) & nulls[codes], -1, codes)
        words = pc.fill_null(words, "")
    _, offsets, data = words.buffers()
    at = np.frombuffer(offsets, np.int64)[words.offset : words.offset + len(words) + 1]
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return codes, text, np.ascontiguousarray(at)


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
