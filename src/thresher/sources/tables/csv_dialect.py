"""The dialect of delimited text: delimiter, quotes, column names and missing values."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
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

    @cached_property
    def null_texts(self) -> list[bytes]:
        """The texts of missing values."""
        import pyarrow.csv as arrow_csv

        nulls = arrow_csv.ConvertOptions().null_values if self.nulls is None else self.nulls
        return [null.encode() for null in nulls]

    def infer(self, text: Any, columns: int, *, as_bytes: bool = False) -> Any:
        """Whole rows of text as an Arrow table, with the types that pyarrow infers, or all as bytes."""
        import pyarrow as pa
        import pyarrow.csv as arrow_csv

        names = [str(i) for i in range(columns)]
        convert: dict[str, Any] = {"column_types": {name: pa.binary() for name in names}} if as_bytes else {}
        return arrow_csv.read_csv(
            pa.py_buffer(text),
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=max(len(text), 1) + 1, column_names=names),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=False if self.quote is None else self.quote,
                ignore_empty_lines=False,  # of a single column
            ),
            convert_options=arrow_csv.ConvertOptions(
                strings_can_be_null=True, null_values=[null.decode() for null in self.null_texts], **convert
            ),
        )


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
