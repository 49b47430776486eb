"""The dialect of delimited text: delimiter, quotes and column names; and its rows as Arrow arrays."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.memory import ReadLimits
from thresher.errors import DataError
from thresher.sources.files.paths import Part, Stream
from thresher.sources.tables.schema import Schema

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Dialect:
    """How delimited text is written."""

    delimiter: str
    quote: str | None = '"'
    header: bool = True
    names: tuple[str, ...] | None = None
    nulls: tuple[str, ...] | None = None

    @classmethod
    def of(cls, schema: Schema, first_line: bytes) -> Dialect:
        """The dialect of a schema; the default delimiter is the most frequent candidate in the first line."""
        delimiter = schema.delimiter
        if delimiter is None:
            text = first_line.decode("utf-8", "replace")
            delimiter = max("\t,;|", key=text.count)
            delimiter = delimiter if delimiter in text else ","
        # With column names in the schema, the first row is data.
        header = schema.header and schema.names is None
        return cls(delimiter, schema.quote, header, schema.names, schema.nulls)

    def to_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Dialect:
        """The inverse of `to_dict`."""
        lists = {name: None if fields[name] is None else tuple(fields[name]) for name in ("names", "nulls")}
        return cls(**{**fields, **lists})

    @property
    def marks(self) -> dict[str, int]:
        """The arguments of the native scanner."""
        return {"delimiter": ord(self.delimiter), "quote": 0 if self.quote is None else ord(self.quote)}

    def last_row_end(self, block: NDArray[np.uint8], size: int) -> int:
        return _native.after_last_row(block, size, **self.marks)

    def split(self, row: bytes) -> list[str]:
        """The fields of one row of text."""
        text = row.decode("utf-8", "replace")
        quoting: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if self.quote is None else {"quotechar": self.quote}
        for fields in csv.reader(text.splitlines(keepends=True), delimiter=self.delimiter, **quoting):
            return fields
        return []

    def column_names(self, first_row: bytes) -> list[str]:
        """The column names of a file with this first row."""
        if self.names is not None and not self.header:
            return list(self.names)
        fields = self.split(first_row.removeprefix(BOM))
        return fields if self.header else [f"x{i}" for i in range(len(fields))]

    def field_at(self, row: bytes, position: int) -> int:
        """The offset of a field in its row."""
        at = 0
        delimiter, quote = self.delimiter.encode(), None if self.quote is None else self.quote.encode()
        for _ in range(position):
            if quote is not None and row[at : at + 1] == quote:
                at += 1
                while at < len(row) and (row[at : at + 1] != quote or row[at + 1 : at + 2] == quote):
                    at += 2 if row[at : at + 1] == quote else 1
            at = row.find(delimiter, at) + 1
            if at == 0:
                return len(row)
        return at

    def read(self, text: NDArray[np.uint8], columns: int, wanted: Sequence[int] | None, *, infer: bool = False) -> Any:
        """Parse rows of text into an Arrow table whose columns are named by their positions.

        Also returns the rows that were dropped for their number of fields, as (row number, number of fields). Fields
        are bytes, or have the types that pyarrow infers.
        """
        if _is_utf8(text):
            return self._parse(text, columns, wanted, infer)
        # pyarrow decodes a row of another number of fields for its handler, which fails unless it is UTF-8. Fields do
        # not depend on bytes beyond ASCII: count them without these, and then parse only the other rows.
        table, bad = self._parse(np.where(text < 0x80, text, np.uint8(ord("?"))), columns, wanted, False)
        starts, _, size, _ = _native.csv_rows(text, 0, len(text), rows=len(text), **self.marks)
        ends = [*starts[1:].tolist(), size]
        good = np.ones(len(text), bool)
        for row, _ in bad:
            good[int(starts[row]) : ends[row]] = False
        if good.any():
            table, _ = self._parse(text[good], columns, wanted, infer)
        return table, bad

    def _parse(self, text: NDArray[np.uint8], columns: int, wanted: Sequence[int] | None, infer: bool) -> Any:
        import pyarrow as pa
        import pyarrow.csv as arrow_csv

        bad: list[tuple[int, int]] = []

        def drop_row(row: Any) -> str:
            bad.append((row.number - 1, row.actual_columns))
            return "skip"

        names = [str(i) for i in range(columns)]
        convert: dict[str, Any] = {"strings_can_be_null": True}
        if wanted is not None:
            convert["include_columns"] = [str(i) for i in wanted]
        if not infer:
            convert["column_types"] = {name: pa.binary() for name in names}
        if self.nulls is not None:
            convert["null_values"] = list(self.nulls)
        table = arrow_csv.read_csv(
            pa.py_buffer(text),
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=max(len(text), 1) + 1, column_names=names),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=False if self.quote is None else self.quote,
                invalid_row_handler=drop_row,
            ),
            convert_options=arrow_csv.ConvertOptions(**convert),
        )
        return table, bad


def _is_utf8(text: NDArray[np.uint8], step: int = 1 << 16) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(text), step):
            decoder.decode(text[at : at + step].tobytes(), final=at + step >= len(text))
    except UnicodeDecodeError:
        return False
    return True


def head_of(part: Part, size: int, limits: ReadLimits) -> bytes:
    """The first bytes of a file, decompressed."""
    with Stream(part.path, window_limit=limits.window) as stream:
        head = bytearray(size)
        head = head[: stream.readinto(memoryview(head))]
        if stream.failure is not None and not head:
            raise stream.failure
    if not head.strip():
        raise DataError(f"{part.name}: the file is empty. Check how it was made.")
    return bytes(head)
