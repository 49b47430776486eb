"""The fields of delimited text: the needed columns of some rows, and the first rows with inferred types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native

if TYPE_CHECKING:
    from thresher.sources.tables.csv_dialect import Dialect

#: Arrow takes kilobytes for a column, however short it is, so types are inferred for this many columns at a time.
_SLICE = 256


class FieldColumns(Mapping[str, Any]):
    """The needed columns of rows of text; a column becomes an Arrow array when it is looked up.

    Parameters
    ----------
    fields : CsvFields
        The fields of the rows.
    names : list of str
        The name of the column at each place.
    place_of : callable
        The place of a column by its name, or None.
    """

    def __init__(self, fields: _native.CsvFields, names: list[str], place_of: Callable[[str], int | None]) -> None:
        self.fields = fields
        self._names = names
        self._place_of = place_of

    def __getitem__(self, name: str) -> Any:
        import pyarrow as pa

        place = self._place_of(name)
        if place is None:
            raise KeyError(name)
        buffers = [pa.py_buffer(buffer) for buffer in self.fields.column(place)]
        return pa.Array.from_buffers(pa.large_binary(), self.fields.rows, buffers)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._place_of(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class TextSample:
    """The first rows of a file, as columns with the types that pyarrow infers.

    Rows with another number of fields than the table has columns are left out: reading reports them.
    """

    def __init__(self, text: NDArray[np.uint8], dialect: Dialect, names: Sequence[str]) -> None:
        self._text = text
        self._dialect = dialect
        self._positions = {name: i for i, name in enumerate(names)}
        self._n = len(names)
        self._first = -1
        self._slice: Any = None
        self.num_rows: int = self._cut(0, min(1, self._n))[1]

    @cached_property
    def _numeric(self) -> NDArray[np.uint8]:
        return _native.number_columns(
            self._text, 0, len(self._text), **self._dialect.marks, columns=self._n, nulls=self._dialect.null_texts
        )

    def is_numeric(self, name: str) -> bool:
        """Whether a column is certainly one of numbers; if not, pyarrow decides, at a hundred times the cost."""
        return bool(self._numeric[self._positions[name]])

    def column(self, name: str) -> Any:
        """One column."""
        position = self._positions[name]
        if not self._first <= position < self._first + _SLICE or self._slice is None:
            self._first = position - position % _SLICE
            self._slice = self._read(self._first, min(self._n, self._first + _SLICE))
        return self._slice.column(position - self._first)

    def _cut(self, first: int, last: int) -> tuple[NDArray[np.uint8], int]:
        return _native.csv_slice(
            self._text, 0, len(self._text), **self._dialect.marks, columns=self._n, first=first, last=last
        )

    def _read(self, first: int, last: int) -> Any:
        import pyarrow as pa

        text, rows = self._cut(first, last)
        if not rows:
            return pa.table({str(i): pa.nulls(0) for i in range(first, last)})
        try:
            return self._dialect.infer(text, last - first)
        except pa.ArrowInvalid:  # for example text that is not UTF-8: reading reports the line
            return self._dialect.infer(text, last - first, as_bytes=True)
