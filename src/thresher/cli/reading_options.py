"""The options that say how data is read: tables, texts, FASTA and FASTQ."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.options import panel, whole_numbers, with_options, words

_SEQUENCES = "FASTA and FASTQ"
_TABLES, _TEXTS = "Tables: CSV, TSV, JSON lines, Parquet, Arrow", "Texts"


@panel(_SEQUENCES)
def _sequence_options(
    kmer: Annotated[
        str | None,
        typer.Option(help="Letters of a k-mer: 12 (the default), or several: 8,12."),
    ] = None,
    canonical: Annotated[
        bool,
        typer.Option("--canonical", help="A k-mer and its reverse complement are one."),
    ] = False,
    wildcards: Annotated[bool, typer.Option("--wildcards", help="16 letters: N, R, Y … are letters too.")] = False,
    positional: Annotated[bool, typer.Option("--positional", help="The place of a k-mer counts: 17:ACGT.")] = False,
    fragments: Annotated[
        int | None,
        typer.Option(help="Draw fragments of so many letters instead of a row a record."),
    ] = None,
    coverage: Annotated[float | None, typer.Option(help="How often fragments cover each letter on average.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="A table, record id and label with a tab between; otherwise the file's name is the label.",
            metavar="PATH",
        ),
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option(help="Values of k-mers, n-grams: binary (the default), count, log."),
    ] = None,
    unit: Annotated[bool, typer.Option("--unit", help="Scale rows to length one.")] = False,
) -> None:
    """Their names are those of `thresher.scan_fasta`."""


@panel(_TABLES)
def _table_options(
    target: Annotated[
        str | None,
        typer.Option(help="The column of the labels: its name, or its position from 0."),
    ] = None,
    weight: Annotated[str | None, typer.Option(help="The column that holds the importance of a row.")] = None,
    numeric: Annotated[
        str | None,
        typer.Option(help="Columns of numbers; others are guessed.", metavar="A,B"),
    ] = None,
    categorical: Annotated[str | None, typer.Option(help="Columns of categories, column=value.", metavar="A,B")] = None,
    ignored: Annotated[str | None, typer.Option(help="Columns that are not read.", metavar="A,B")] = None,
    others: Annotated[str | None, typer.Option(help="Columns not mentioned: guess (the default) or ignore.")] = None,
    bins: Annotated[
        str | None,
        typer.Option(help="Numbers as column=bin: log, quantile or quantile:N."),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(help="Missing values: skip (the default), or feature: column=<missing>."),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(help="All of that at once: criteo, or a JSON file.", metavar="NAME|PATH"),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(help="Names of columns, where there is no header.", metavar="A,B"),
    ] = None,
    no_header: Annotated[bool, typer.Option("--no-header", help="The first row is data.")] = False,
    delimiter: Annotated[str | None, typer.Option(help="What stands between fields: , ; | or tab; guessed.")] = None,
    quote: Annotated[str | None, typer.Option(help='What stands around fields: " (the default), or none.')] = None,
) -> None:
    """The names are those of `thresher.scan_csv`."""


@panel(_TEXTS)
def _text_options(
    text: Annotated[str | None, typer.Option(help="The column that holds the text.", metavar="COLUMN")] = None,
    words: Annotated[str | None, typer.Option(help="Word n-grams: 1 (the default), or a range: 1-2.")] = None,
    chars: Annotated[str | None, typer.Option(help="Character n-grams: 3, or a range: 3-5.")] = None,
    within_words: Annotated[bool, typer.Option("--within-words", help="Character n-grams do not cross words.")] = False,
    pattern: Annotated[str | None, typer.Option(help="A regular expression for words.")] = None,
    as_written: Annotated[bool, typer.Option("--as-written", help="Tell capital letters from small ones.")] = False,
    stop: Annotated[
        str | None,
        typer.Option(help="A file of words to leave out.", metavar="PATH"),
    ] = None,
) -> None:
    """The names are those of `thresher.scan_text`."""


_SEPARATORS = {"tab": "\t", "\\t": "\t", "none": "", "comma": ","}


def _separator(text: str) -> str:
    """``tab``, ``none`` or ``comma`` to the character."""
    return _SEPARATORS.get(text, text)


#: Give a command the options for reading; it gets those that were used in ``reading``.
with_reading_options = with_options(
    "reading",
    _sequence_options,
    _table_options,
    _text_options,
    convert={
        "kmer": whole_numbers,
        "numeric": words,
        "categorical": words,
        "ignored": words,
        "names": words,
        "delimiter": _separator,
        "quote": _separator,
        "no_header": lambda used: not used,
        "as_written": lambda used: not used,
    },
    rename={"no_header": "header", "as_written": "lower"},
)
