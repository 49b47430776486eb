"""Arrow arrays as arguments of the native encoders, without copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native

_NO_TEXT: NDArray[np.uint8] = np.empty(0, np.uint8)


class Column(NamedTuple):
    """The cells of a column, the text of its names, and the length of its longest list of numbers."""

    cells: _native.Cells
    text: NDArray[np.uint8]
    places: int = 0


def is_text(kind: Any) -> bool:
    """Whether values of this Arrow type are text or bytes."""
    import pyarrow.types as kinds

    return bool(
        kinds.is_string(kind)
        or kinds.is_large_string(kind)
        or kinds.is_string_view(kind)
        or kinds.is_binary(kind)
        or kinds.is_large_binary(kind)
        or kinds.is_binary_view(kind)
    )


def is_number(kind: Any) -> bool:
    """Whether values of this Arrow type are numbers or booleans."""
    import pyarrow.types as kinds

    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind) or kinds.is_decimal(kind))


def is_time(kind: Any) -> bool:
    """Whether values of this Arrow type are dates, or dates with a time."""
    import pyarrow.types as kinds

    return bool(kinds.is_timestamp(kind) or kinds.is_date(kind))


def is_list(kind: Any) -> bool:
    """Whether values of this Arrow type are lists."""
    import pyarrow.types as kinds

    return bool(kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind))


def binary_array(values: Sequence[bytes | None]) -> Any:
    """Make an Arrow array of bytes. (`pyarrow.array` would import pandas if it is installed.)"""
    import pyarrow as pa

    sizes = np.array([0 if value is None else len(value) for value in values], np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    valid = np.packbits(np.array([value is not None for value in values], bool), bitorder="little")
    data = b"".join(value for value in values if value is not None)
    buffers = [pa.py_buffer(valid.tobytes()), pa.py_buffer(offsets.tobytes()), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(values), buffers)


def plain_array(values: NDArray[Any]) -> Any:
    """Make an Arrow array of numbers, without importing pandas either."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values.tobytes())])


def one_array(values: Any) -> Any:
    """A column (an array or a chunked array) as one array, with dictionaries decoded."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
        if isinstance(values, pa.ChunkedArray):  # too long for one array
            values = pa.concat_arrays(values.chunks)
    return values


def as_column(values: Any, *, text: bool, name_start: int = 0) -> Column:
    """Convert a column (an array or a chunked array) to texts or to numbers; numbers may be texts in the column."""
    import pyarrow as pa
    import pyarrow.types as kinds

    values = one_array(values)
    kind = values.type
    if kinds.is_fixed_size_list(kind):
        values = values.cast(pa.list_(kind.value_type))
        kind = values.type
    if kinds.is_map(kind) or is_list(kind):
        return _lists(values, text, name_start)
    if is_text(kind):
        column = _texts(values, name_start)
        return column if text else Column(column.cells, _NO_TEXT)  # a number has no name
    return _texts(values.cast(pa.string()), name_start) if text else _numbers(values)


def _validity(values: Any) -> dict[str, Any]:
    buffer = values.buffers()[0]
    if buffer is None or values.null_count == 0:
        return {}
    return {"validity": np.frombuffer(buffer, np.uint8), "first_bit": values.offset}


def _as_floats(values: Any) -> tuple[Any, NDArray[np.float64]]:
    """An array of numbers or booleans as one of float64, and its values without a copy; nulls have any value."""
    import pyarrow.types as kinds

    if kinds.is_boolean(values.type):
        values = values.cast("uint8")
    values = values.cast("float64", safe=False)
    n = len(values)
    buffer = values.buffers()[1]
    numbers = np.empty(0) if buffer is None else np.frombuffer(buffer, np.float64)[values.offset : values.offset + n]
    return values, numbers


def to_floats(values: Any) -> NDArray[np.float64]:
    """An array of numbers or booleans as float64, with NaN for nulls."""
    values, numbers = _as_floats(values)
    if values.null_count == 0:
        return numbers
    validity = np.frombuffer(values.buffers()[0], np.uint8)
    valid = np.unpackbits(validity, count=values.offset + len(values), bitorder="little")[values.offset :]
    return np.where(valid, numbers, np.nan) if len(numbers) else np.full(len(values), np.nan)


def _numbers(values: Any) -> Column:
    values, numbers = _as_floats(values)
    return Column(_native.number_cells(len(values), numbers, **_validity(values)), _NO_TEXT)


def _texts(values: Any, name_start: int) -> Column:
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_string_view(values.type) or kinds.is_binary_view(values.type):
        values = values.cast(pa.large_binary())
    wide = kinds.is_large_string(values.type) or kinds.is_large_binary(values.type)
    n = len(values)
    _, where, data = values.buffers()
    offsets: NDArray[Any] = np.zeros(1, np.int64 if wide else np.int32)
    if where is not None and n:
        offsets = np.frombuffer(where, offsets.dtype)[values.offset : values.offset + n + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    text = np.frombuffer(data, np.uint8)[first:last] if data is not None and last > first else _NO_TEXT
    cells = _native.text_cells(
        n, offsets - offsets.dtype.type(first) if first else offsets, text, name_start=name_start, **_validity(values)
    )
    return Column(cells, text)


def _lists(values: Any, text: bool, name_start: int) -> Column:
    import pyarrow.types as kinds

    where = values.offsets
    wide = kinds.is_large_list(values.type)
    offsets: NDArray[Any] = np.frombuffer(where.buffers()[1], np.int64 if wide else np.int32)
    offsets = offsets[where.offset : where.offset + len(where)]
    first, last = int(offsets[0]) if len(offsets) else 0, int(offsets[-1]) if len(offsets) else 0
    offsets = offsets - offsets.dtype.type(first) if len(offsets) else np.zeros(1, np.int32)
    amounts = None
    if kinds.is_map(values.type):
        inner = as_column(values.keys[first:last], text=True, name_start=name_start)
        amounts = as_column(values.items[first:last], text=False).cells
    else:
        inner = as_column(values.values[first:last], text=text, name_start=name_start)
    places = int(np.diff(offsets).max(initial=0))
    cells = _native.list_cells(len(values), offsets, inner.cells, amounts=amounts, **_validity(values))
    return Column(cells, inner.text, places)
