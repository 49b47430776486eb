"""Delimited text: CSV, TSV and the like."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import ReadLimits
from thresher.display import listed
from thresher.errors import DataError
from thresher.sources.base import OnError, Source
from thresher.sources.files.paths import Part, PathLike, find_parts, fingerprint
from thresher.sources.tables.csv_dialect import BOM, Dialect, head_of
from thresher.sources.tables.csv_fields import TextSample
from thresher.sources.tables.csv_header import HeaderPlaces
from thresher.sources.tables.csv_rows import CsvRows
from thresher.sources.tables.infer import SAMPLE_BYTES, SAMPLE_ROWS, infer_table, reads_as_number
from thresher.sources.tables.row_encoder import (
    EncodedSource,
    RowEncoder,
    identity_of,
    shards_of_files,
    with_group_column,
    with_id_column,
)
from thresher.sources.tables.schema import ColumnRef, Schema
from thresher.sources.text.line_formats import LineSource

log = logging.getLogger("thresher.sources")


@dataclass(frozen=True, kw_only=True)
class CsvSource(EncodedSource, LineSource):
    """Rows of delimited text, with or without quotes."""

    encoder: RowEncoder
    dialect: Dialect
    _headers: HeaderPlaces = field(default_factory=HeaderPlaces, init=False, repr=False, compare=False)

    space = FeatureSpace("token")

    @property
    def format(self) -> str:
        return "csv"

    @property
    def _parse(self) -> Callable[..., dict[str, Any]]:
        raise NotImplementedError  # see `_parser`

    def _parser(self, part: Part, cursor: Cursor) -> Callable[..., dict[str, Any]]:
        begins = cursor.offset == 0 and part.begin == 0
        first_row = None if begins else self._first_row(part)
        return CsvRows(self.encoder, self.dialect, part, first_row, self._headers)

    def _first_row(self, part: Part) -> bytes | None:
        """The header row, for a reader that starts behind it."""
        if self.dialect.names is not None and not self.dialect.header:
            return b""
        return first_row(head_of(Part(part.path), _HEADER_BYTES, self.limits), self.dialect)

    @property
    def _last_row_end(self) -> Callable[[NDArray[np.uint8], int], int] | None:
        return None if self.dialect.quote is None else self.dialect.last_row_end

    def shards(self, n: int) -> list[Source]:
        """Byte ranges only if every newline ends a row, that is, without quotes."""
        if self.dialect.quote is None:
            return super().shards(n)
        return shards_of_files(self, n)

    def fingerprint(self) -> str:
        return fingerprint(
            self.parts,
            format=self.format,
            multilabel=self.multilabel,
            on_error=self.on_error,
            form=identity_of(self.encoder),
            dialect=self.dialect.to_dict(),
        )

    def reading(self) -> dict[str, Any]:
        """The columns and the dialect."""
        return {"form": self.encoder.to_dict(), "dialect": self.dialect.to_dict()}

    def with_ids(self, column: str | None = None) -> Source:
        return with_id_column(self, column)

    def grouped(self, column: str, *, feature: bool = False) -> Source:
        return with_group_column(self, column, feature)


#: The largest size of a header row.
_HEADER_BYTES = 1 << 20


def first_row(head: bytes, dialect: Dialect) -> bytes:
    """The first row that is not blank, with its newline."""
    block = np.frombuffer(head + b"\n", np.uint8)
    starts, _, size, _ = _native.csv_rows(block, 0, len(block), rows=1, **dialect.marks)
    return block[int(starts[0]) : size].tobytes() if len(starts) else b""


def csv_layout(parts: list[Part], schema: Schema) -> tuple[Dialect, list[str], TextSample | None]:
    """The dialect of a file, its column names, and its first rows with the types that pyarrow infers."""
    first = parts[0]
    if first.once:
        if schema.names is None or schema.delimiter is None:
            raise DataError(
                f"{first.name}: it can be read only once, so its columns cannot be inferred from the first rows. Pass "
                "the column names and the delimiter (`names`, `delimiter`, or a `schema` such as criteo), or write it "
                "to a file."
            )
        return Dialect.of(schema, b""), list(schema.names), None
    head = head_of(first, SAMPLE_BYTES, ReadLimits()).removeprefix(BOM)
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
    return dialect, names, TextSample(block[min(begin, size) : size], dialect, names)


def scan_csv(
    paths: PathLike | Iterable[PathLike],
    *,
    target: ColumnRef | None = None,
    weight: ColumnRef | None = None,
    numeric: Iterable[ColumnRef] | None = None,
    categorical: Iterable[ColumnRef] | None = None,
    times: Iterable[ColumnRef] | None = None,
    texts: Iterable[ColumnRef] | None = None,
    ignored: Iterable[ColumnRef] | None = None,
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
    """Read tables in CSV, TSV or other delimited text, plain or compressed.

    A numeric column is a feature with a value, any other column makes features ``column=value``.

    Parameters
    ----------
    paths : path, glob, folder, "-" for standard input, or several of these
    target, weight : column, optional
        The column of the targets, and the column of the sample weights. Columns are given by name, or by position
        from 0.
    numeric, categorical, times, texts, ignored : columns, optional
        The kinds of the columns. The kinds of all other columns are inferred from the first rows and logged. The
        features of dates and times (ISO 8601) are their year, month, weekday and hour, as ``when.weekday=Fri``; those
        of texts are their words, as ``body=refund``. `thresher.scan_text` says what a text is. If the only column of
        features is not named here and holds texts, its words are the features, without the name of the column.
    others : {"guess", "ignore"}
        Whether to infer or to ignore the columns that no option names.
    bins : {"log", "quantile", "quantile:N"}, optional
        Encode numbers as ``column=bin`` instead of by their value, see `thresher.sources.tables.schema.Schema`.
    missing : {"skip", "feature"}
        Ignore missing values, or make ``column=<missing>`` a feature.
    names, header, delimiter, quote, nulls
        The dialect: the column names, whether the first row holds them (default: yes, unless ``names`` is given), the
        delimiter (default: inferred from the first line), the quote character (default ``"``; an empty string for
        none), and the texts of missing values.
    schema : "criteo", path, dict or Schema, optional
        All of these at once: the name of a built-in schema, or a JSON file. The other options override it.
    on_error : {"stop", "skip"}
        Whether a malformed row raises `DataError` or is counted and skipped.

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
            "times": times,
            "texts": texts,
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
        chosen = replace(chosen, quote=None)
    dialect, columns, sample = csv_layout(parts, chosen)
    positions = map(str, range(len(columns) + 1))  # as pandas names columns
    if dialect.header and not set(positions).issuperset(columns) and all(map(reads_as_number, columns)):
        log.warning(
            "%s: all column names are numbers, as %s. If the first row is data, pass `header=False`.",
            parts[0].name,
            listed(columns, 3),
        )
    encoder = infer_table(chosen, columns, sample, parts[0].name)
    return CsvSource(tuple(parts), on_error, encoder=encoder, dialect=dialect)
