"""Predict with a saved selection, one line per row on standard output or in a file.

The data is read as that of the fit. The reading options are for data that is laid out in another way: with other \
column names, another delimiter, and so on. For a selection of words, a file whose name shows no format, such as \
`review.txt`, is one text, and so is each file of a folder.

Examples:

`thresher predict clicks.thr new-clicks.vw.gz --proba > scores.txt`

`thresher predict reviews.thr new.csv --text comment --id-column id > predictions.tsv`

`thresher predict reviews.thr folder-of-texts --ids file > predictions.tsv`
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from thresher.cli.main import one_or_many
from thresher.cli.options import Data, Format, OnError, Output, words
from thresher.cli.reading_options import with_reading_options


@with_reading_options
def predict(
    selection: Annotated[str, typer.Argument(help="A .thr file.")],
    data: Data,
    proba: Annotated[
        bool, typer.Option("--proba", help="Print probabilities: of the second of two classes, or of each of several.")
    ] = False,
    margin: Annotated[bool, typer.Option("--margin", help="Print the margins w'x + b.")] = False,
    ids: Annotated[
        str | None,
        typer.Option(
            help="Identify rows, as TSV with a header: file, line (from 1), record (of FASTA), or several: file,line.",
            metavar="WHAT",
        ),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Identify rows by a column of the data, as TSV with a header.", metavar="COLUMN")
    ] = None,
    format: Format = None,
    on_error: OnError = "stop",
    output: Output = None,
    *,
    reading: dict[str, Any],
) -> None:
    from thresher.cli.output import write_lines
    from thresher.core.memory import Watch
    from thresher.core.storage.atomic import check_not_read
    from thresher.errors import SettingsError
    from thresher.report.progress import show_progress
    from thresher.selection.export.tables import tsv_line
    from thresher.selection.file import load
    from thresher.selection.predictions import prediction_tables
    from thresher.selection.selection import Output as Kind

    if output is not None:
        check_not_read(output, [selection, *data])
    model = load(selection)
    if proba and margin:
        raise SettingsError("--proba and --margin exclude each other: leave out one")
    if proba and not model.has_probabilities:
        raise SettingsError(f"the {model.loss} loss has no probabilities, and the fit was not calibrated: use --margin")
    reading |= {"format": format, "on_error": on_error}
    kind: Kind = "probability" if proba else "margin" if margin else "prediction"
    identified = ids is not None or id_column is not None

    def lines(watch: Watch) -> Iterator[str]:
        named = words(ids) if ids else ()
        tables = prediction_tables(model, one_or_many(data), kind, named, id_column, reading, watch)
        for number, table in enumerate(tables):
            if identified and number == 0:
                yield tsv_line(table)
            yield from map(tsv_line, zip(*table.values(), strict=True))

    with show_progress(quiet=output is None and sys.stdout.isatty()) as progress:
        write_lines(lines(Watch(progress)), output)
