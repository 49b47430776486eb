"""The options for tables and texts, which several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

_TABLES, _TEXTS = "Tables: CSV, TSV, JSON lines, Parquet, Arrow", "Texts"


def table_options(
    target: Annotated[
        str | None,
        typer.Option(help="The column of the labels: its name, or its position from 0.", rich_help_panel=_TABLES),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(help="The column that holds the importance of a row.", rich_help_panel=_TABLES)
    ] = None,
    numeric: Annotated[
        str | None,
        typer.Option(help="Columns of numbers; others are guessed.", metavar="A,B", rich_help_panel=_TABLES),
    ] = None,
    categorical: Annotated[
        str | None, typer.Option(help="Columns of categories, column=value.", metavar="A,B", rich_help_panel=_TABLES)
    ] = None,
    ignored: Annotated[
        str | None, typer.Option(help="Columns that are not read.", metavar="A,B", rich_help_panel=_TABLES)
    ] = None,
    others: Annotated[
        str | None, typer.Option(help="Columns not mentioned: guess (the default) or ignore.", rich_help_panel=_TABLES)
    ] = None,
    bins: Annotated[
        str | None,
        typer.Option(help="Numbers as column=bin: log, quantile or quantile:N.", rich_help_panel=_TABLES),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(help="Missing values: skip (the default), or feature: column=<missing>.", rich_help_panel=_TABLES),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(help="All of that at once: criteo, or a JSON file.", metavar="NAME|PATH", rich_help_panel=_TABLES),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(help="Names of columns, where there is no header.", metavar="A,B", rich_help_panel=_TABLES),
    ] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first row is data.", rich_help_panel=_TABLES)
    ] = False,
    delimiter: Annotated[
        str | None, typer.Option(help="What stands between fields: , ; | or tab; guessed.", rich_help_panel=_TABLES)
    ] = None,
    quote: Annotated[
        str | None, typer.Option(help='What stands around fields: " (the default), or none.', rich_help_panel=_TABLES)
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="The column that holds the text.", metavar="COLUMN", rich_help_panel=_TEXTS)
    ] = None,
    words: Annotated[
        str | None, typer.Option(help="Word n-grams: 1 (the default), or a range: 1-2.", rich_help_panel=_TEXTS)
    ] = None,
    chars: Annotated[
        str | None, typer.Option(help="Character n-grams: 3, or a range: 3-5.", rich_help_panel=_TEXTS)
    ] = None,
    within_words: Annotated[
        bool, typer.Option("--within-words", help="Character n-grams do not cross words.", rich_help_panel=_TEXTS)
    ] = False,
    pattern: Annotated[str | None, typer.Option(help="A regular expression for words.", rich_help_panel=_TEXTS)] = None,
    as_written: Annotated[
        bool, typer.Option("--as-written", help="Tell capital letters from small ones.", rich_help_panel=_TEXTS)
    ] = False,
    stop: Annotated[
        str | None,
        typer.Option(help="A file of words to leave out.", metavar="PATH", rich_help_panel=_TEXTS),
    ] = None,
) -> None:
    """Their names are those of `thresher.scan_csv` and `thresher.scan_text`."""


_MARKS = {"tab": "\t", "\\t": "\t", "none": "", "comma": ","}


def as_library_options(used: dict[str, Any]) -> dict[str, Any]:
    """The options that were used, as the library takes them."""
    out = dict(used)
    for name in ("numeric", "categorical", "ignored", "names"):
        if name in out:
            out[name] = [column.strip() for column in out[name].split(",")]
    for name in ("delimiter", "quote"):
        if name in out:
            out[name] = _MARKS.get(out[name], out[name])
    if out.pop("no_header", False):
        out["header"] = False
    if out.pop("as_written", False):
        out["lower"] = False
    return out
