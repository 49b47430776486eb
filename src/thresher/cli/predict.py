"""Predict with a saved selection, one line per row on standard output.

Example: `thresher predict clicks.thr new-clicks.vw.gz --proba > scores.txt`
"""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.main import one_or_many
from thresher.cli.options import Data, Format, OnError


def predict(
    selection: Annotated[str, typer.Argument(help="A .thr file.")],
    data: Data,
    proba: Annotated[
        bool, typer.Option("--proba", help="Print probabilities: of the second of two classes, or of each of several.")
    ] = False,
    margin: Annotated[bool, typer.Option("--margin", help="Print the margins w'x + b.")] = False,
    format: Format = None,
    on_error: OnError = "stop",
) -> None:
    import sys

    from thresher.display import tsv_cell
    from thresher.errors import SettingsError
    from thresher.selection.file import load

    model = load(selection)
    if proba and margin:
        raise SettingsError("--proba and --margin exclude each other: leave out one")
    if proba and model.loss.name not in ("logistic", "softmax"):
        raise SettingsError(f"the {model.loss} loss has no probabilities: use --margin")
    for batch in model.batches(one_or_many(data), {"format": format, "on_error": on_error}):
        margins = model.margins(batch)
        answers = model.probabilities(margins) if proba else margins if margin else model.decide(margins)
        if answers.ndim == 2 and len(model.intercept) == 1:
            answers = answers[:, -1]
        # One column per class, in the order of the classes.
        rows = answers.tolist() if answers.ndim == 1 else ("\t".join(map(str, row)) for row in answers.tolist())
        if answers.dtype.kind == "U":  # labels
            rows = map(tsv_cell, rows)
        sys.stdout.writelines(f"{row}\n" for row in rows)
