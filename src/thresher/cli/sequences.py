"""The options for FASTA and FASTQ files, which several commands share; and with them those for tables and texts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.options import with_options
from thresher.cli.tables import as_library_options, table_options

_PANEL = "FASTA and FASTQ"


def _options(
    kmer: Annotated[
        str | None, typer.Option(help="Letters of a k-mer: 12 (the default), or several: 8,12.", rich_help_panel=_PANEL)
    ] = None,
    canonical: Annotated[
        bool, typer.Option("--canonical", help="A k-mer and its reverse complement are one.", rich_help_panel=_PANEL)
    ] = False,
    wildcards: Annotated[
        bool, typer.Option("--wildcards", help="16 letters: N, R, Y … are letters too.", rich_help_panel=_PANEL)
    ] = False,
    positional: Annotated[
        bool, typer.Option("--positional", help="The place of a k-mer counts: 17:ACGT.", rich_help_panel=_PANEL)
    ] = False,
    fragments: Annotated[
        int | None,
        typer.Option(help="Draw fragments of so many letters instead of a row a record.", rich_help_panel=_PANEL),
    ] = None,
    coverage: Annotated[
        float | None, typer.Option(help="How often fragments cover each letter on average.", rich_help_panel=_PANEL)
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="A table, record id and label with a tab between; otherwise the file's name is the label.",
            metavar="PATH",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option(help="Values of k-mers, n-grams: binary (the default), count, log.", rich_help_panel=_PANEL),
    ] = None,
    unit: Annotated[bool, typer.Option("--unit", help="Scale rows to length one.", rich_help_panel=_PANEL)] = False,
) -> None:
    """Their names are those of `thresher.scan_fasta`."""


def lengths(text: str) -> list[int]:
    """``8,12`` to its numbers."""
    from thresher.errors import SettingsError

    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise SettingsError(f"not the length of k-mers: {text!r}; write for example 12, or 8,12") from None


def _as_library_options(used: dict[str, Any]) -> dict[str, Any]:
    if "kmer" in used:
        used["kmer"] = lengths(used["kmer"])
    return as_library_options(used)


#: Give a command all options of files; it gets those that were used in ``sequences``.
with_sequences = with_options("sequences", _as_library_options, _options, table_options)
