"""Parses stretches of delimited text into rows of features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.display import quoted
from thresher.sources.files.paths import Part
from thresher.sources.tables.csv_dialect import BOM, Dialect
from thresher.sources.tables.csv_fields import FieldColumns
from thresher.sources.tables.csv_header import HeaderPlaces, Places
from thresher.sources.tables.row_encoder import RowEncoder, encoder_options

#: The number of faults of a stretch that are reported; all are counted.
_MAX_FAULTS = 8


class _Stretch(NamedTuple):
    """Rows of text: the start of each row, the lines before it, and their total size in bytes and lines."""

    text: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lines: NDArray[np.int64]
    size: int
    size_lines: int

    def place(self, row: int) -> dict[str, int]:
        """The bytes and lines before a row."""
        if row < len(self.starts):
            return {"consumed": int(self.starts[row]), "lines": int(self.lines[row])}
        return {"consumed": self.size, "lines": self.size_lines}

    def row(self, row: int) -> bytes:
        """The text of a row."""
        end = int(self.starts[row + 1]) if row + 1 < len(self.starts) else self.size
        return self.text[int(self.starts[row]) : end].tobytes()


class CsvRows:
    """Parses one stretch of a file after the other, with the interface of the native line parsers.

    ``first_row`` is the header row if reading does not start at the beginning of the file, otherwise None. ``headers``
    finds the columns of a header.
    """

    def __init__(
        self, encoder: RowEncoder, dialect: Dialect, part: Part, first_row: bytes | None, headers: HeaderPlaces
    ) -> None:
        self._encoder = encoder
        self._dialect = dialect
        self._part = part
        self._at_start = first_row is None
        self._first_row = first_row
        self._headers = headers
        self._columns: Places | None = None

    def __call__(
        self, block: NDArray[np.uint8], at: int, end: int, *, rows: int, skip: bool, labels_optional: bool, **more: Any
    ) -> dict[str, Any]:
        options = {"skip": skip, "labels_optional": labels_optional, **encoder_options(more)}
        if end > at and (lead := self._skip_lead(block, at, end)) is not None:
            return {**self._encode(None, 0, options), **lead}
        most = min(rows, max(1, more["features"] // max(1, self._encoder.width)))
        stretch = self._stretch(block, at, end, most)
        if not len(stretch.starts):
            unclosed = self._unclosed(stretch, skip) if stretch.size < end - at else stretch.place(0)
            return {**self._encode(None, 0, options), **unclosed}
        if self._columns is None:
            first_row = self._first_row or b""
            self._columns = self._headers.find(
                first_row, labels_optional, self._dialect, self._encoder, self._part.name
            )
        fields = _native.CsvFields(
            block,
            at,
            at + stretch.size,
            **self._dialect.marks,
            places=self._columns.places,
            width=len(self._columns.needed),
            nulls=self._dialect.null_texts,
        )
        bad = fields.bad_rows
        good = np.delete(np.arange(len(stretch.starts)), [row for row, _ in bad])
        if bad and not skip:
            good = good[: bad[0][0]]
        encoded = self._encode(FieldColumns(fields, self._columns.needed, self._columns.place), len(good), options)
        return self._to_text_places(encoded, stretch, good, bad, skip)

    def _stretch(self, block: NDArray[np.uint8], at: int, end: int, rows: int) -> _Stretch:
        starts, lines, size, size_lines = _native.csv_rows(block, at, end, rows=rows, **self._dialect.marks)
        return _Stretch(block[at:end], starts, lines, size, size_lines)

    def _skip_lead(self, block: NDArray[np.uint8], at: int, end: int) -> dict[str, int] | None:
        """The size of the byte order mark or the header before the first row of data, if there is one here."""
        if self._at_start:
            self._at_start = False
            if block[at : at + len(BOM)].tobytes() == BOM:
                return {"consumed": len(BOM), "lines": 0}
        if self._first_row is not None:
            return None
        first = self._stretch(block, at, end, 1)
        if not len(first.starts):
            return first.place(0) if first.size else None
        self._first_row = first.row(0)
        return first.place(1) if self._dialect.header else None

    def _encode(self, columns: FieldColumns | None, n: int, options: dict[str, Any]) -> dict[str, Any]:
        return self._encoder.rows({} if columns is None else columns, n, rows=n + 1, **options)

    def _to_text_places(
        self,
        encoded: dict[str, Any],
        stretch: _Stretch,
        good: NDArray[np.int64],
        bad: list[tuple[int, int]],
        skip: bool,
    ) -> dict[str, Any]:
        """Convert row numbers of the table to row numbers of the text, and these to bytes and lines."""
        reached = int(good[encoded["consumed"]]) if encoded["consumed"] < len(good) else len(stretch.starts)
        faults = [(int(good[row]), column, what) for column, row, what in encoded["faults"]]
        faulty = [
            (row, self._field_at(stretch, row, column), f"{what}, in {quoted(column)}") for row, column, what in faults
        ]
        columns = 0 if self._columns is None else len(self._columns.places)
        wide = [
            (row, f"the row has {n} fields, but the table has {columns} columns") for row, n in bad if row < reached
        ]
        if skip:
            encoded["skipped"] += len(wide)
            faulty += [(row, int(stretch.starts[row]), what) for row, what in wide]
        elif faulty:
            reached = faulty[0][0]
        elif wide:
            reached = wide[0][0]
            faulty = [(reached, int(stretch.starts[reached]), wide[0][1])]
        reported = [(at, int(stretch.lines[row]), what) for row, at, what in sorted(faulty)[:_MAX_FAULTS]]
        return {**encoded, **stretch.place(reached), "line": stretch.lines[good[encoded["line"]]], "faults": reported}

    def _field_at(self, stretch: _Stretch, row: int, column: str) -> int:
        assert self._columns is not None
        position = int(np.flatnonzero(self._columns.places == self._columns.place(column))[0])
        return int(stretch.starts[row]) + self._dialect.field_at(stretch.row(row), position)

    def _unclosed(self, stretch: _Stretch, skip: bool) -> dict[str, Any]:
        """Handle text that ends inside quotes: the line that opens them is malformed, the next one starts a row."""
        begin, lines = stretch.size, stretch.size_lines
        what = "a quote opens in this row and never closes (if quotes are plain text here, turn them off: `quote`)"
        fault = {"faults": [(begin, lines, what)]}
        if not skip:
            return {"consumed": begin, "lines": lines, **fault}
        end = begin + int(np.argmax(stretch.text[begin:] == 10)) + 1
        return {"consumed": end, "lines": lines + 1, "skipped": 1, **fault}
