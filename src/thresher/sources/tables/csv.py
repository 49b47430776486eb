"""Separated text: CSV, TSV and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import ReadLimits
from thresher.errors import DataError
from thresher.sources.base import Source
from thresher.sources.files import paths as opening
from thresher.sources.files.paths import Part, PathLike, find_parts
from thresher.sources.tables.csv_dialect import BOM, Dialect, head_of
from thresher.sources.tables.csv_rows import CsvRows
from thresher.sources.tables.infer import SAMPLE_BYTES, SAMPLE_ROWS, table_form
from thresher.sources.tables.row_encoder import RowForm, whole_files
from thresher.sources.tables.schema import Schema, Where
from thresher.sources.text.line_source import LineSource
from thresher.sources.text.parse_errors import OnError


@dataclass(frozen=True, kw_only=True)
class CsvSource(LineSource):
    """Rows of separated text, quoted or not."""

    form: RowForm
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
        return CsvRows(self.form, self.dialect, part, None if begins else self._first_row(part))

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


#: Names of columns stand within this.
_HEADER_BYTES = 1 << 20


def first_row(head: bytes, dialect: Dialect) -> bytes:
    """The first row that is not blank, with its line end."""
    block = np.frombuffer(head + b"\n", np.uint8)
    starts, _, size, _ = _native.csv_rows(block, 0, len(block), rows=1, **dialect.marks)
    return block[int(starts[0]) : size].tobytes() if len(starts) else b""


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
    import pyarrow as pa

    if begin >= size:
        return dialect, names, pa.table({name: pa.nulls(0) for name in dict.fromkeys(names)})
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
        Numbers as ``column=bin`` instead of with their value, see `thresher.sources.tables.schema.Schema`.
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
        chosen = replace(chosen, quote=None)
    dialect, called, sample = csv_layout(parts, chosen)
    form = table_form(chosen, called, sample, parts[0].name)
    return CsvSource(tuple(parts), on_error, form=form, dialect=dialect)
