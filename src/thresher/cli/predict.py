"""Predict with a saved selection, one line per row on standard output.

The data is read as that of the fit. The reading options are for data that is laid out in another way: with other \
column names, another delimiter, and so on. For a selection of words, a file whose name shows no format, such as \
`review.txt`, is one text, and so is each file of a folder.

Examples:

`thresher predict clicks.thr new-clicks.vw.gz --proba > scores.txt`

`thresher predict reviews.thr new.csv --text comment --id-column id > predictions.tsv`

`thresher predict reviews.thr folder-of-texts --ids file > predictions.tsv`
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.main import one_or_many
from thresher.cli.options import Data, Format, OnError, words
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
    *,
    reading: dict[str, Any],
) -> None:
    import sys

    from thresher.errors import SettingsError
    from thresher.selection.export.tables import tsv_line
    from thresher.selection.file import load
    from thresher.selection.predictions import prediction_tables
    from thresher.selection.selection import Output

    model = load(selection)
    if proba and margin:
        raise SettingsError("--proba and --margin exclude each other: leave out one")
    if proba and model.loss.name not in ("logistic", "softmax"):
        raise SettingsError(f"the {model.loss} loss has no probabilities: use --margin")
    reading |= {"format": format, "on_error": on_error}
    output: Output = "probability" if proba else "margin" if margin else "prediction"
    tables = prediction_tables(model, one_or_many(data), output, words(ids) if ids else (), id_column, reading)
    identified = ids is not None or id_column is not None
    for number, table in enumerate(tables):
        if identified and number == 0:
            sys.stdout.write(tsv_line(table))
        rows = zip(*table.values(), strict=True)
        sys.stdout.writelines(map(tsv_line, rows))
