"""Other files read in the way that a model's own were: the same columns, bins and n-grams."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from thresher.errors import SettingsError
from thresher.sources.base import Source
from thresher.sources.endings import format_by_name
from thresher.sources.files.paths import PathLike, find_parts
from thresher.sources.tables.csv_dialect import Dialect
from thresher.sources.tables.ngram_encoder import TextForm
from thresher.sources.tables.schema import Schema
from thresher.sources.tables.table_encoder import TableForm
from thresher.sources.text.parse_errors import OnError

#: What says how separated text is written.
DIALECT_OPTIONS = ("names", "header", "delimiter", "quote", "nulls")
TABLE_OPTIONS = (
    "target",
    "weight",
    "numeric",
    "categorical",
    "ignored",
    "others",
    "bins",
    "missing",
    "schema",
    *DIALECT_OPTIONS,
)
#: What makes a table one of texts, whichever of them is given.
NGRAM_OPTIONS = ("text", "words", "chars", "within_words", "pattern", "lower", "stop")
TEXT_OPTIONS = ("target", "weight", "counts", "unit", *NGRAM_OPTIONS, *DIALECT_OPTIONS)
TABLE_FORMATS = ("csv", "jsonl", "parquet")


def scan_like(
    paths: PathLike | Iterable[PathLike], recipe: Mapping[str, Any], format: str | None, on_error: OnError
) -> Source | None:
    """Files read as the recipe (`Source.reading`) says; None where they are no tables or texts."""
    form: TableForm | TextForm
    try:
        fields = recipe["form"]
        form = TextForm.from_identity(fields) if "text" in fields else TableForm.from_identity(fields)
        dialect = None if recipe.get("dialect") is None else Dialect.from_identity(recipe["dialect"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SettingsError("the model does not say how its data was read: pass the options again") from None
    if isinstance(form, TextForm):
        from thresher.sources.tables.class_folders import ClassFolders, class_files

        if (files := class_files(paths)) is not None:
            return ClassFolders(files, form.of_folders(), on_error)
    parts = find_parts(paths)
    kind = format or format_by_name(os.path.basename(parts[0].path)) or ("csv" if dialect is not None else None)
    if kind == "csv":
        from thresher.sources.tables.csv import CsvSource, csv_layout

        if dialect is None:
            dialect = csv_layout(parts, Schema())[0]
        return CsvSource(tuple(parts), on_error, form=form, dialect=dialect)
    if kind == "jsonl":
        from thresher.sources.tables.jsonl import JsonSource

        return JsonSource(tuple(parts), on_error, form=form)
    if kind == "parquet":
        from thresher.sources.tables.parquet import ArrowFileSource

        return ArrowFileSource(parts=tuple(parts), form=form, on_error=on_error)
    return None


def scan_table_or_text(
    paths: PathLike | Iterable[PathLike], kind: str, on_error: OnError, given: dict[str, Any]
) -> Source:
    """Files of one of `TABLE_FORMATS` with the options that were given."""
    if any(name in given for name in NGRAM_OPTIONS):
        _check_known(given, TEXT_OPTIONS, "tables of texts")
        from thresher.sources.tables.documents import scan_text

        return scan_text(paths, format=kind, on_error=on_error, **given)
    _check_known(given, TABLE_OPTIONS, "tables")
    if kind == "csv":
        from thresher.sources.tables.csv import scan_csv

        return scan_csv(paths, on_error=on_error, **given)
    if others := [name for name in given if name in DIALECT_OPTIONS]:
        raise SettingsError(f"{', '.join(others)}: for separated text (CSV, TSV) only")
    if kind == "parquet":
        from thresher.sources.tables.parquet import scan_parquet

        return scan_parquet(paths, on_error=on_error, **given)
    from thresher.sources.tables.infer import table_form
    from thresher.sources.tables.jsonl import JsonSource, json_layout

    parts = find_parts(paths)
    schema = Schema.of(given.pop("schema", None), given)
    return JsonSource(tuple(parts), on_error, form=table_form(schema, *json_layout(parts), parts[0].name))


def _check_known(given: Mapping[str, Any], known: Iterable[str], what: str) -> None:
    if others := [name for name in given if name not in known]:
        raise SettingsError(f"{', '.join(others)}: not for {what}")
