"""The options for reading data: tables, text, FASTA and FASTQ."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.main import panel, with_options
from thresher.cli.options import all_words, whole_numbers, words

_SEQUENCES = "FASTA and FASTQ"
_TABLES, _TEXTS = "Tables: CSV, TSV, JSON lines, Parquet, Arrow", "Text"


@panel(_SEQUENCES)
def _sequence_options(
    kmer: Annotated[
        str | None,
        typer.Option(help="Length of k-mers: 12 (default; 3 for proteins), or several: 8,12."),
    ] = None,
    alphabet: Annotated[
        str | None, typer.Option(help="The letters: dna (default), or protein (the 20 amino acids).")
    ] = None,
    canonical: Annotated[
        bool,
        typer.Option("--canonical", help="Count a k-mer and its reverse complement as one."),
    ] = False,
    wildcards: Annotated[
        bool, typer.Option("--wildcards", help="Count ambiguity codes (N, R, Y, …) as letters.")
    ] = False,
    positional: Annotated[
        bool, typer.Option("--positional", help="Make the position part of a k-mer: 17:ACGT.")
    ] = False,
    fragments: Annotated[
        int | None,
        typer.Option(help="Draw random fragments of this length as rows, instead of whole records."),
    ] = None,
    coverage: Annotated[float | None, typer.Option(help="Average number of fragments that cover a letter.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="A tab-separated table of record ids and labels; default: the file's name is the label.",
            metavar="PATH",
        ),
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option(help="Values of k-mers and n-grams: binary (default), count or log."),
    ] = None,
    unit: Annotated[bool, typer.Option("--unit", help="Scale rows to unit norm.")] = False,
) -> None:
    """The names are those of `thresher.scan_fasta`."""


@panel(_TABLES)
def _table_options(
    target: Annotated[
        str | None,
        typer.Option(help="The label column: its name, or its position from 0."),
    ] = None,
    weight: Annotated[str | None, typer.Option(help="The column with the weight of each row.")] = None,
    numeric: Annotated[
        list[str] | None,
        typer.Option(help="Numeric columns; default: inferred.", metavar="A,B"),
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="Categorical columns; features are column=value.", metavar="A,B")
    ] = None,
    times: Annotated[
        list[str] | None,
        typer.Option(help="Columns of dates or times; features are year, month, weekday, hour.", metavar="A,B"),
    ] = None,
    texts: Annotated[
        list[str] | None, typer.Option(help="Columns of texts; features are column=word.", metavar="A,B")
    ] = None,
    ignored: Annotated[
        list[str] | None, typer.Option(help="Columns to ignore; may be repeated.", metavar="A,B")
    ] = None,
    others: Annotated[str | None, typer.Option(help="Columns not listed: guess (default) or ignore.")] = None,
    bins: Annotated[
        str | None,
        typer.Option(help="Bin numeric columns: log, quantile or quantile:N."),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(help="Missing values: skip (default), or feature (a feature of their own)."),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(help="A complete schema: criteo, or a JSON file.", metavar="NAME|PATH"),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(help="Names of the columns, if there is no header.", metavar="A,B"),
    ] = None,
    no_header: Annotated[bool, typer.Option("--no-header", help="The first row is data.")] = False,
    delimiter: Annotated[
        str | None, typer.Option(help="Field separator: comma, ; | or tab; default: inferred.")
    ] = None,
    quote: Annotated[str | None, typer.Option(help='Quote character: " (default), or none.')] = None,
) -> None:
    """The names are those of `thresher.scan_csv`."""


@panel(_TEXTS)
def _text_options(
    text: Annotated[str | None, typer.Option(help="The text column.", metavar="COLUMN")] = None,
    words: Annotated[str | None, typer.Option(help="Word n-grams: 1 (default), or a range: 1-2.")] = None,
    chars: Annotated[str | None, typer.Option(help="Character n-grams: 3, or a range: 3-5.")] = None,
    within_words: Annotated[bool, typer.Option("--within-words", help="Character n-grams do not cross words.")] = False,
    pattern: Annotated[str | None, typer.Option(help="A regular expression that matches a word.")] = None,
    as_written: Annotated[bool, typer.Option("--as-written", help="Keep upper and lower case.")] = False,
    stop: Annotated[
        str | None,
        typer.Option(help="A file of stop words.", metavar="PATH"),
    ] = None,
) -> None:
    """The names are those of `thresher.scan_text`."""


_SEPARATORS = {"tab": "\t", "\\t": "\t", "none": "", "comma": ","}


def _separator(text: str) -> str:
    """Parse ``tab``, ``none`` or ``comma`` to the character."""
    return _SEPARATORS.get(text, text)


#: Add the options for reading to a command, which receives those that were set as ``reading``.
with_reading_options = with_options(
    "reading",
    _sequence_options,
    _table_options,
    _text_options,
    convert={
        "kmer": whole_numbers,
        "numeric": all_words,
        "categorical": all_words,
        "times": all_words,
        "texts": all_words,
        "ignored": all_words,
        "names": words,
        "delimiter": _separator,
        "quote": _separator,
        "no_header": lambda used: not used,
        "as_written": lambda used: not used,
    },
    rename={"no_header": "header", "as_written": "lower"},
)
