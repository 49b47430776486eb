"""Opens tables of every format: the layout of their columns, and the source of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from thresher.sources.base import OnError, Source
from thresher.sources.files.paths import Part
from thresher.sources.tables.csv_dialect import Dialect
from thresher.sources.tables.row_encoder import RowEncoder
from thresher.sources.tables.schema import Schema


class Layout(NamedTuple):
    """The dialect (of delimited text), the column names and the first rows of a table."""

    dialect: Dialect | None
    names: list[str]
    #: None if the table can be read only once.
    sample: Any | None


def table_layout(format: str, parts: Sequence[Part], schema: Schema) -> Layout:
    """The layout of the first file of a table."""
    if format == "jsonl":
        from thresher.sources.tables.jsonl import jsonl_layout

        return Layout(None, *jsonl_layout(list(parts)))
    if format == "parquet":
        from thresher.sources.tables.arrow_readers import arrow_layout

        return Layout(None, *arrow_layout(list(parts)))
    from thresher.sources.tables.csv import csv_layout

    return Layout(*csv_layout(list(parts), schema))


def table_source(
    format: str, parts: Sequence[Part], encoder: RowEncoder, dialect: Dialect | None, on_error: OnError
) -> Source:
    """The rows of a table, as an encoder makes them."""
    if format == "jsonl":
        from thresher.sources.tables.jsonl import JsonlSource

        return JsonlSource(tuple(parts), on_error, encoder=encoder)
    if format == "parquet":
        from thresher.sources.tables.parquet import ParquetSource

        return ParquetSource(parts=tuple(parts), encoder=encoder, on_error=on_error)
    from thresher.sources.tables.csv import CsvSource, csv_layout

    if dialect is None:
        dialect = csv_layout(list(parts), Schema())[0]
    return CsvSource(tuple(parts), on_error, encoder=encoder, dialect=dialect)
