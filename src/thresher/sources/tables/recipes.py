"""Reads other data as a model's own data was read: with the same columns, bins and n-grams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from thresher.errors import SettingsError
from thresher.sources.base import OnError, Source
from thresher.sources.documents.ngram_encoder import NgramEncoder, ngram_range, stop_words
from thresher.sources.files.paths import Part, PathLike, find_parts
from thresher.sources.registry import TABLES, format_by_name
from thresher.sources.tables.csv_dialect import Dialect
from thresher.sources.tables.open_table import table_layout, table_source
from thresher.sources.tables.schema import Schema, find_column
from thresher.sources.tables.table_encoder import TableEncoder

_DIALECT = ("names", "header", "delimiter", "quote", "nulls")
#: The options that name a column of the data at hand.
_COLUMNS = ("text", "target", "weight")


def scan_like(
    paths: PathLike | Iterable[PathLike],
    recipe: Mapping[str, Any],
    format: str | None,
    on_error: OnError,
    options: Mapping[str, Any],
) -> Source | None:
    """Read files as a recipe (`Source.reading`) says; return None if they are not tables or texts.

    ``options`` name the columns and the dialect of files that are laid out in another way than those of the recipe.
    """
    encoder, dialect = encoder_of(recipe), dialect_of(recipe)
    if isinstance(encoder, NgramEncoder):
        from thresher.sources.documents.class_folders import class_files

        if (files := class_files(paths)) is not None:
            return _texts(files, encoder.for_folders(), on_error, options)
    parts = find_parts(paths)
    kind = format or format_by_name(parts[0].file_name)
    laid_out = any(name in options for name in (*_COLUMNS, *_DIALECT))
    if kind is None and isinstance(encoder, NgramEncoder) and not (laid_out or _is_table(parts[0], encoder, dialect)):
        return _texts([part.path for part in parts], encoder.for_files(), on_error, options)
    kind = kind or ("csv" if dialect is not None or laid_out else None)
    if kind not in TABLES:
        return None
    options = _with_schema(options)
    check_features(encoder, options)
    columns = {name: options[name] for name in _COLUMNS if name in options}
    if laid_out and not parts[0].once:
        found = table_layout(kind, parts, _schema(dialect, options))
        dialect = found.dialect
        columns = {what: find_column(where, found.names, parts[0].name, what) for what, where in columns.items()}
    return table_source(kind, parts, rename_columns(encoder, columns), dialect, on_error)


def encoder_of(recipe: Mapping[str, Any]) -> TableEncoder | NgramEncoder:
    """The encoder of a recipe."""
    with _known_recipe():
        form = recipe["form"]
        return NgramEncoder.from_dict(form) if "text" in form else TableEncoder.from_dict(form)


def dialect_of(recipe: Mapping[str, Any]) -> Dialect | None:
    """The dialect of a recipe; None if its data was not delimited text."""
    with _known_recipe():
        return None if recipe.get("dialect") is None else Dialect.from_dict(recipe["dialect"])


@contextmanager
def _known_recipe() -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SettingsError("the model does not tell how its data was read: pass the reading options again") from None


def _texts(paths: Iterable[str], encoder: NgramEncoder, on_error: OnError, options: Mapping[str, Any]) -> Source:
    """Files of one text each."""
    from thresher.sources.documents.class_folders import ClassFolders

    check_features(encoder, options)
    if named := [name for name in (*_COLUMNS, *_DIALECT) if name in options]:
        raise SettingsError(f"{named[0]}: for tables, but these are files of one text each: leave it out")
    return ClassFolders(tuple(paths), encoder, on_error)


def _is_table(part: Part, encoder: NgramEncoder, dialect: Dialect | None) -> bool:
    """Whether a file whose name shows no format is a table, and not a text: its first row names the text column."""
    if part.once or dialect is None:
        return part.once
    return not dialect.header or encoder.text in table_layout("csv", [part], _schema(dialect, {})).names


def _with_schema(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, with the fields of a schema as options of their own."""
    given = dict(options)
    if (schema := given.pop("schema", None)) is None:
        return given
    chosen, plain = Schema.of(schema, {}), Schema()
    own = {field.name: getattr(chosen, field.name) for field in fields(Schema)}
    return {**{name: value for name, value in own.items() if value != getattr(plain, name)}, **given}


def _schema(dialect: Dialect | None, options: Mapping[str, Any]) -> Schema:
    """The dialect of a recipe, overridden by options, as a schema."""
    own = {} if dialect is None else dialect.to_dict()
    given = {name: options[name] for name in _DIALECT if name in options}
    if given.get("header"):
        own["names"] = None
    if given.get("quote") == "":
        given["quote"] = None
    return Schema(**{**own, **given})


def rename_columns(encoder: TableEncoder | NgramEncoder, columns: Mapping[str, str]) -> TableEncoder | NgramEncoder:
    """The encoder, for data whose text, target or weight column has another name."""
    own = encoder.labels
    labels = replace(own, target=columns.get("target", own.target), weight=columns.get("weight", own.weight))
    encoder = replace(encoder, labels=labels)
    if "text" not in columns:
        return encoder
    if isinstance(encoder, TableEncoder):
        raise SettingsError("text: the model's features are columns of a table, not words: leave it out")
    return replace(encoder, text=columns["text"])


def check_features(encoder: TableEncoder | NgramEncoder, options: Mapping[str, Any]) -> None:
    """Raise if an option would make other features than those of the model."""
    differs = _other_ngrams if isinstance(encoder, NgramEncoder) else _other_columns
    layout = (*_COLUMNS, *_DIALECT, "schema", "others")
    for name, value in options.items():
        if name not in layout and differs(encoder, name, value):
            raise SettingsError(
                f"{name}: the data is read as that of the model, whose features were made with another value: leave it "
                "out, or fit a model with it"
            )


def _other_ngrams(encoder: Any, name: str, value: Any) -> bool:
    if name in ("words", "chars"):
        value = ngram_range(value, name)
    elif name == "stop":
        value = stop_words(value)
    return bool(getattr(encoder, name, None) != value)


def _other_columns(encoder: Any, name: str, value: Any) -> bool:
    kinds = {column.name: column.kind for column in encoder.columns}
    if name in ("numeric", "categorical", "times", "texts", "ignored"):
        expected = {"numeric": "number", "categorical": "category", "times": "time", "texts": "text"}.get(name)
        return any(kinds.get(str(column), expected) != expected for column in value)
    if name == "bins":
        return any(column.kind == "number" and column.edges is None for column in encoder.columns)
    return bool(getattr(encoder, name, None) != value)
