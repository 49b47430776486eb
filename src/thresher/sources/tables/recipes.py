"""Reads other files as a model's own data was read: with the same columns, bins and n-grams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from thresher.errors import SettingsError
from thresher.sources.base import OnError, Source
from thresher.sources.files.paths import PathLike, find_parts
from thresher.sources.registry import format_by_name
from thresher.sources.tables.csv_dialect import Dialect
from thresher.sources.tables.ngram_encoder import NgramEncoder
from thresher.sources.tables.schema import Schema
from thresher.sources.tables.table_encoder import TableEncoder


def scan_like(
    paths: PathLike | Iterable[PathLike], recipe: Mapping[str, Any], format: str | None, on_error: OnError
) -> Source | None:
    """Read files as a recipe (`Source.reading`) says; return None if they are not tables or texts."""
    encoder: TableEncoder | NgramEncoder
    try:
        fields = recipe["form"]
        encoder = NgramEncoder.from_dict(fields) if "text" in fields else TableEncoder.from_dict(fields)
        dialect = None if recipe.get("dialect") is None else Dialect.from_dict(recipe["dialect"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SettingsError("the model does not tell how its data was read: pass the reading options again") from None
    if isinstance(encoder, NgramEncoder):
        from thresher.sources.tables.class_folders import ClassFolders, class_files

        if (files := class_files(paths)) is not None:
            return ClassFolders(files, encoder.for_folders(), on_error)
    parts = find_parts(paths)
    kind = format or format_by_name(parts[0].file_name) or ("csv" if dialect is not None else None)
    if kind == "csv":
        from thresher.sources.tables.csv import CsvSource, csv_layout

        if dialect is None:
            dialect = csv_layout(parts, Schema())[0]
        return CsvSource(tuple(parts), on_error, encoder=encoder, dialect=dialect)
    if kind == "jsonl":
        from thresher.sources.tables.jsonl import JsonlSource

        return JsonlSource(tuple(parts), on_error, encoder=encoder)
    if kind == "parquet":
        from thresher.sources.tables.parquet import ParquetSource

        return ParquetSource(parts=tuple(parts), encoder=encoder, on_error=on_error)
    return None
