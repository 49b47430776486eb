"""Stretches of separated text to rows of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.errors import DataError
from thresher.sources.files.paths import Part
from thresher.sources.tables.csv_dialect import BOM, Dialect
from thresher.sources.tables.row_encoder import RowForm, find_needed, kernel_options, no_cells

#: Faults told of in one stretch; all are counted.
_TOLD = 8


class _Stretch(NamedTuple):
    """Some rows of text: where each starts, the lines before it, and how far they go in bytes and lines."""

    text: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lines: NDArray[np.int64]
    size: int
    size_lines: int

    def place(self, row: int) -> dict[str, int]:
        """What was consumed once all rows before this one were."""
        if row < len(self.starts):
            return {"consumed": int(self.starts[row]), "lines": int(self.lines[row])}
        return {"consumed": self.size, "lines": self.size_lines}

    def row(self, row: int) -> bytes:
        """The text of a row."""
        end = int(self.starts[row + 1]) if row + 1 < len(self.starts) else self.size
        return self.text[int(self.starts[row]) : end].tobytes()


class CsvRows:
    """Parses one stretch of a file after the other, as native parsers of lines do.

    ``first_row`` names the columns of a file that is not read from its beginning; otherwise None.
    """

    def __init__(self, form: RowForm, dialect: Dialect, part: Part, first_row: bytes | None) -> None:
        self._form = form
        self._dialect = dialect
        self._part = part
        self._begins = first_row is None
        self._names = None if first_row is None else dialect.column_names(first_row)
        self._wanted: dict[str, int] | None = None

    def __call__(
        self, block: NDArray[np.uint8], at: int, end: int, *, rows: int, skip: bool, labels_optional: bool, **more: Any
    ) -> dict[str, Any]:
        options = {"skip": skip, "labels_optional": labels_optional, **kernel_options(more)}
        if end > at and (lead := self._lead(block, at, end)) is not None:
            return {**self._make(None, 0, options), **lead}
        most = min(rows, max(1, more["features"] // max(1, self._form.width)))
        stretch = self._stretch(block, at, end, most)
        if not len(stretch.starts):
            unclosed = self._unclosed(stretch, skip) if stretch.size < end - at else stretch.place(0)
            return {**self._make(None, 0, options), **unclosed}
        if self._wanted is None:
            self._wanted = find_needed(self._form, self._names or [], self._part.name, labels_optional)
        table, bad = self._read(stretch, self._wanted)
        good = np.delete(np.arange(len(stretch.starts)), [row for row, _ in bad])
        if len(good) != table.num_rows:
            raise DataError(f"{self._part.name}: some rows do not come apart. Check the quotes.")
        if bad and not skip:
            good = good[: bad[0][0]]
        made = self._make({name: table.column(i) for i, name in enumerate(self._wanted)}, len(good), options)
        return self._placed(made, stretch, good, bad, skip)

    def _stretch(self, block: NDArray[np.uint8], at: int, end: int, rows: int) -> _Stretch:
        starts, lines, size, size_lines = _native.csv_rows(block, at, end, rows=rows, **self._dialect.marks)
        return _Stretch(block[at:end], starts, lines, size, size_lines)

    def _lead(self, block: NDArray[np.uint8], at: int, end: int) -> dict[str, int] | None:
        """What stands before the first row of data, and is passed over."""
        if self._begins:
            self._begins = False
            if block[at : at + len(BOM)].tobytes() == BOM:
                return {"consumed": len(BOM), "lines": 0}
        if self._names is not None:
            return None
        first = self._stretch(block, at, end, 1)
        if not len(first.starts):
            return first.place(0) if first.size else None
        self._names = self._dialect.column_names(first.row(0))
        return first.place(1) if self._dialect.header else None

    def _make(self, arrays: Mapping[str, Any] | None, n: int, options: dict[str, Any]) -> dict[str, Any]:
        return self._form.rows(arrays if arrays is not None and n else no_cells(self._form), n, rows=n + 1, **options)

    def _read(self, stretch: _Stretch, wanted: Mapping[str, int]) -> Any:
        import pyarrow as pa

        text = stretch.text[: stretch.size]
        try:
            return self._dialect.read(text, len(self._names or []), list(wanted.values()))
        except pa.ArrowInvalid as error:
            raise DataError(f"{self._part.name}: some rows cannot be read: {error}") from None

    def _placed(
        self, made: dict[str, Any], stretch: _Stretch, good: NDArray[np.int64], bad: list[tuple[int, int]], skip: bool
    ) -> dict[str, Any]:
        """From rows of the table to rows of text, and from these to bytes and lines."""
        looked = int(good[made["consumed"]]) if made["consumed"] < len(good) else len(stretch.starts)
        faults = [(int(good[row]), column, what) for column, row, what in made["faults"]]
        told = [(row, self._field_at(stretch, row, column), f"{what}, in {column!r}") for row, column, what in faults]
        columns = len(self._names or [])
        wide = [(row, f"the row has {n} fields where there are {columns} columns") for row, n in bad if row < looked]
        if skip:
            made["skipped"] += len(wide)
            told += [(row, int(stretch.starts[row]), what) for row, what in wide]
        elif told:
            looked = told[0][0]
        elif wide:
            looked = wide[0][0]
            told = [(looked, int(stretch.starts[looked]), wide[0][1])]
        faulty = [(at, int(stretch.lines[row]), what) for row, at, what in sorted(told)[:_TOLD]]
        return {**made, **stretch.place(looked), "line": stretch.lines[good[made["line"]]], "faults": faulty}

    def _field_at(self, stretch: _Stretch, row: int, column: str) -> int:
        position = (self._wanted or {}).get(column, 0)
        return int(stretch.starts[row]) + self._dialect.field_at(stretch.row(row), position)

    def _unclosed(self, stretch: _Stretch, skip: bool) -> dict[str, Any]:
        """The text stops inside of quotes: the line where they were opened is bad, and what follows goes on."""
        begin, lines = stretch.size, stretch.size_lines
        fault = {"faults": [(begin, lines, "a quote is opened in this row and never closed")]}
        if not skip:
            return {"consumed": begin, "lines": lines, **fault}
        end = begin + int(np.argmax(stretch.text[begin:] == 10)) + 1
        return {"consumed": end, "lines": lines + 1, "skipped": 1, **fault}
