"""Separated text: CSV, TSV and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.batch import Cursor
from thresher.errors import DataError
from thresher.sources import open as opening
from thresher.sources.dialect import _BOM, Dialect, head_of
from thresher.sources.faults import OnError
from thresher.sources.guess import SAMPLE_BYTES, SAMPLE_ROWS, table_form
from thresher.sources.lines import LineSource
from thresher.sources.open import Part, PathLike, find_parts
from thresher.sources.schema import Schema, Where, nearest
from thresher.sources.source import ReadLimits, Source
from thresher.space import FeatureSpace


class RowForm(Protocol):
    """What makes rows of features out of columns: `TableForm`, or `TextForm`."""

    @property
    def needed(self) -> list[str]: ...
    @property
    def labels(self) -> Any: ...
    @property
    def width(self) -> int: ...
    def identity(self) -> dict[str, Any]: ...
    def rows(self, arrays: Mapping[str, Any], n: int, **options: Any) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True)
class CsvSource(LineSource):
    """Rows of separated text, quoted or not."""

    form: Any  # a RowForm
    dialect: Dialect

    space = FeatureSpace("token")

    @property
    def format(self) -> str:
        return "csv"

    @property
    def _parse(self) -> Callable[..., dict[str, Any]]:
        raise NotImplementedError  # `_parser` makes one for each part

    def _parser(self, part: Part, cursor: Cursor) -> Callable[..., dict[str, Any]]:
        begins = cursor.offset == 0 and part.begin == 0
        return _CsvRows(self.form, self.dialect, part, None if begins else self._first_row(part))

    def _first_row(self, part: Part) -> bytes | None:
        """The row that names the columns, where reading starts behind it."""
        if self.dialect.names is not None and not self.dialect.header:
            return b""
        return first_row(head_of(Part(part.path), _HEADER_BYTES, self.limits), self.dialect)

    @property
    def _last_row_end(self) -> Callable[[NDArray[np.uint8], int], int] | None:
        return None if self.dialect.quote is None else self.dialect.last_row_end

    def shards(self, n: int) -> list[Source]:
        """Byte ranges only where a newline always ends a row; with quotes it need not."""
        if self.dialect.quote is None:
            return super().shards(n)
        return whole_files(self, n)

    def fingerprint(self) -> str:
        return opening.fingerprint(
            self.parts,
            format=self.format,
            multilabel=self.multilabel,
            on_error=self.on_error,
            form=self.form.identity(),
            dialect=self.dialect.identity(),
        )

    def reading(self) -> dict[str, Any]:
        """How to read other files in the same way."""
        return {"form": self.form.identity(), "dialect": self.dialect.identity()}


def whole_files(source: Any, n: int) -> list[Source]:
    """Shards of whole files."""
    from dataclasses import replace

    from thresher.sources.lines import grouped

    Source.shards(source, n)
    return [replace(source, parts=some) for some in grouped(list(source.parts), n)]


#: Names of columns stand within this.
_HEADER_BYTES = 1 << 20


def first_row(head: bytes, dialect: Dialect) -> bytes:
    """The first row that is not blank, with its line end."""
    block = np.frombuffer(head + b"\n", np.uint8)
    starts, _, size, _ = _native.csv_rows(block, 0, len(block), rows=1, **dialect.marks)
    return block[int(starts[0]) : size].tobytes() if len(starts) else b""


class _CsvRows:
    """Parses one stretch of a part after the other; the first one tells what the columns are called."""

    def __init__(self, form: RowForm, dialect: Dialect, part: Part, header: bytes | None) -> None:
        self._form = form
        self._dialect = dialect
        self._part = part
        self._names: list[str] | None = None
        self._wanted: dict[str, int] = {}
        self._begins = header is None
        if header is not None:
            self._names = dialect.column_names(header)

    def __call__(
        self, block: NDArray[np.uint8], at: int, end: int, *, rows: int, skip: bool, labels_optional: bool, **more: Any
    ) -> dict[str, Any]:
        make = partial(self._make, skip=skip, labels_optional=labels_optional, **_kernel_options(more))
        if self._begins and end > at:
            self._begins = False
            if block[at : at + 3].tobytes() == _BOM:
                return {**make({}, 0), "consumed": 3}
        if self._names is None and end > at:
            starts, _, size, lines = _native.csv_rows(block, at, end, rows=1, **self._dialect.marks)
            if not len(starts):
                return {**make({}, 0), "consumed": size, "lines": lines}
            self._names = self._dialect.column_names(block[at + int(starts[0]) : at + size].tobytes())
            if self._dialect.header:
                return {**make({}, 0), "consumed": size, "lines": lines}
        most = min(rows, max(1, more["features"] // max(1, self._form.width)))
        starts, lines, size, size_lines = _native.csv_rows(block, at, end, rows=most, **self._dialect.marks)
        if not len(starts):
            if size < end - at:
                return {**make({}, 0), **self._unclosed(block, at, at + size, size_lines, end, skip)}
            return {**make({}, 0), "consumed": size, "lines": size_lines}
        wanted = self._positions(labels_optional)
        text = block[at : at + size]
        table, bad = self._read(text, wanted, int(lines[0]))
        bad_rows = np.array([row for row, _ in bad], np.int64)
        good = np.delete(np.arange(len(starts)), bad_rows)
        if len(good) != table.num_rows:
            raise DataError(
                f"{self._part.name}: the rows in bytes {int(starts[0])} to {size} of a block do not come apart the "
                "same way twice. Check the quotes."
            )
        if len(bad_rows) and not skip:
            good = good[: bad_rows[0]]
        arrays = {name: table.column(i) for i, name in enumerate(wanted)}
        made = make(arrays, len(good))
        # From rows of the table to rows of text, and from these to bytes and lines.
        looked = int(good[made["consumed"]]) if made["consumed"] < len(good) else len(starts)
        faults = [(row, column, what) for column, row, what in made["faults"]]
        told = [
            (int(good[row]), self._field(text, starts, int(good[row]), column), f"{what}, in {column!r}")
            for row, column, what in faults
        ]
        counts = [row for row in bad_rows.tolist() if row < looked]
        if counts and not skip:  # the first row of another width ends it, unless one before it does
            if not told:
                told, looked = [], counts[0]
                told.append(self._other_width(bad[0], starts))
            else:
                looked = told[0][0]
        elif skip:
            told += [self._other_width(one, starts) for one in bad if one[0] < looked]
            told.sort(key=lambda fault: fault[0])
            made["skipped"] += len(counts)
        made["faults"] = [(at_, int(lines[row]), what) for row, at_, what in told][:8]
        made["line"] = lines[good[made["line"]]]
        made["consumed"] = int(starts[looked]) if looked < len(starts) else size
        made["lines"] = int(lines[looked]) if looked < len(starts) else size_lines
        return made

    def _make(self, arrays: Mapping[str, Any], n: int, **options: Any) -> dict[str, Any]:
        if n == 0:
            arrays = _no_cells(self._form.needed)
        return self._form.rows(arrays, n, rows=n + 1, **options)

    def _positions(self, labels_optional: bool) -> dict[str, int]:
        """Where the needed columns stand; those of labels may be missing where labels may."""
        if self._wanted:
            return self._wanted
        names = self._names or []
        optional = self._form.labels.needed if labels_optional else []
        if self._form.labels.target is None and not labels_optional:
            raise no_target(self._part.name, names)
        for name in self._form.needed:
            if name in names:
                self._wanted[name] = names.index(name)
            elif name not in optional:
                raise DataError(f"{self._part.name}: there is no column {name!r}{nearest(name, names)}")
        return self._wanted

    def _read(self, text: NDArray[np.uint8], wanted: Mapping[str, int], line: int) -> Any:
        import pyarrow as pa

        try:
            return self._dialect.read(text, len(self._names or []), list(wanted.values()))
        except pa.ArrowInvalid as error:
            raise DataError(f"{self._part.name}: rows of this block cannot be read: {error}") from None

    def _field(self, text: NDArray[np.uint8], starts: NDArray[np.int64], row: int, column: str) -> int:
        begin = int(starts[row])
        end = int(starts[row + 1]) if row + 1 < len(starts) else len(text)
        return begin + self._dialect.field_at(text[begin:end].tobytes(), self._wanted.get(column, 0))

    def _other_width(self, bad: tuple[int, int], starts: NDArray[np.int64]) -> tuple[int, int, str]:
        row, fields = bad
        return row, int(starts[row]), f"the row has {fields} fields where there are {len(self._names or [])} columns"

    def _unclosed(
        self, block: NDArray[np.uint8], at: int, begin: int, lines: int, end: int, skip: bool
    ) -> dict[str, Any]:
        """The text stops inside of quotes: the line where they were opened is bad, and what follows goes on."""
        fault = [(begin - at, lines, "a quote is opened here and never closed")]
        if not skip:
            return {"consumed": begin - at, "lines": lines, "faults": fault}
        newline = begin + int(np.argmax(block[begin:end] == 10)) + 1
        return {"consumed": newline - at, "lines": lines + 1, "skipped": 1, "faults": fault}


def _kernel_options(more: Mapping[str, Any]) -> dict[str, Any]:
    return {name: more[name] for name in ("features", "want_names", "only")}


def _no_cells(needed: Iterable[str]) -> dict[str, Any]:
    import pyarrow as pa

    return {name: pa.array([], pa.binary()) for name in needed}


def no_target(table: str, names: list[str]) -> DataError:
    """There are no labels since nobody said where they are."""
    some = ", ".join(map(repr, names[:10]))
    return DataError(
        f"{table}: no column is said to hold the labels: pass target= (--target), one of {some}"
        f"{f' and {len(names) - 10} more' if len(names) > 10 else ''}."
    )


def csv_layout(parts: list[Part], schema: Schema) -> tuple[Dialect, list[str], Any | None]:
    """How a file is written, what its columns are called, and its first rows as pyarrow infers them."""
    first = parts[0]
    if first.once:
        if schema.names is None or schema.delimiter is None:
            raise DataError(
                f"{first.name}: it can be read once, so that nothing can be guessed from its first rows. Say what the "
                "columns are called and what stands between them (names=, delimiter=, or a schema such as criteo), or "
                "write it to a file."
            )
        return Dialect.of(schema, b""), list(schema.names), None
    head = head_of(first, SAMPLE_BYTES, ReadLimits()).removeprefix(_BOM)
    whole = len(head) < SAMPLE_BYTES
    if whole and not head.endswith(b"\n"):
        head += b"\n"
    dialect = Dialect.of(schema, head.lstrip(b"\r\n").split(b"\n", 1)[0])
    names = dialect.column_names(first_row(head, dialect))
    block = np.frombuffer(head, np.uint8)
    _, _, size, _ = _native.csv_rows(block, 0, len(block), rows=SAMPLE_ROWS + dialect.header, **dialect.marks)
    begin = 0
    if dialect.header:
        _, _, begin, _ = _native.csv_rows(block, 0, len(block), rows=1, **dialect.marks)
    import pyarrow as pa

    if begin >= size:
        return dialect, names, pa.table({name: pa.array([], pa.null()) for name in dict.fromkeys(names)})
    try:
        sample, _ = dialect.read(block[begin:size], len(names), None, infer=True)
    except pa.ArrowInvalid:  # such as text that is not UTF-8: reading tells where
        sample, _ = dialect.read(block[begin:size], len(names), None)
    return dialect, names, sample.rename_columns(names)


def scan_csv(
    paths: PathLike | Iterable[PathLike],
    *,
    target: Where | None = None,
    weight: Where | None = None,
    numeric: Iterable[Where] | None = None,
    categorical: Iterable[Where] | None = None,
    ignored: Iterable[Where] | None = None,
    others: str | None = None,
    bins: str | None = None,
    missing: str | None = None,
    names: Iterable[str] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    nulls: Iterable[str] | None = None,
    schema: Schema | Mapping[str, Any] | PathLike | None = None,
    on_error: OnError = "stop",
) -> CsvSource:
    """Read tables in CSV, TSV or other separated text, plain or compressed.

    A numeric column is a feature of its name with its value, any other column makes features ``column=value``.

    Parameters
    ----------
    paths : path, glob, folder, "-" for standard input, or several of these
    target, weight : column, optional
        What is to be predicted, and the importance of a row. Columns go by name, or by position from 0.
    numeric, categorical, ignored : columns, optional
        What the columns are; those not mentioned are guessed from the first rows, and the guess is logged.
    others : {"guess", "ignore"}
        What to do about columns that are not mentioned.
    bins : {"log", "quantile", "quantile:N"}, optional
        Numbers as ``column=bin`` instead of with their value, see `thresher.sources.schema.Schema`.
    missing : {"skip", "feature"}
        Pass missing values over, or make ``column=<missing>`` a feature.
    names, header, delimiter, quote, nulls
        How the file is written: what its columns are called, whether it says so itself (it does, unless names are
        given), what stands between fields (guessed from the first line), around them (``"``; an empty text for
        nothing), and how missing values are written.
    schema : "criteo", path, dict or Schema, optional
        All of that at once: a ready one, or a JSON file. Options say otherwise.
    on_error : {"stop", "skip"}
        What to do about a malformed row: raise `DataError`, or count it and go on.

    Examples
    --------
    >>> source = th.scan_csv("clicks/*.tsv.zst", schema="criteo")              # doctest: +SKIP
    """
    parts = find_parts(paths)
    chosen = Schema.of(
        schema,
        {
            "target": target,
            "weight": weight,
            "numeric": numeric,
            "categorical": categorical,
            "ignored": ignored,
            "others": others,
            "bins": bins,
            "missing": missing,
            "names": names,
            "header": header,
            "delimiter": delimiter,
            "quote": quote or None,
            "nulls": nulls,
        },
    )
    if quote == "":
        from dataclasses import replace

        chosen = replace(chosen, quote=None)
    dialect, called, sample = csv_layout(parts, chosen)
    form = table_form(chosen, called, sample, parts[0].name)
    return CsvSource(tuple(parts), on_error, form=form, dialect=dialect)
