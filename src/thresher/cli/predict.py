"""Predict with a saved selection: a line a row on standard output.

Example: `thresher predict clicks.thr new-clicks.vw.gz --proba > scores.txt`
"""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.options import Data, Format, OnError, one_or_many


def predict(
    selection: Annotated[str, typer.Argument(help="A .thr file.")],
    data: Data,
    proba: Annotated[
        bool, typer.Option("--proba", help="The probability of the last class instead; of several classes, of each.")
    ] = False,
    margin: Annotated[bool, typer.Option("--margin", help="The margin w'x + b instead.")] = False,
    format: Format = None,
    on_error: OnError = "stop",
) -> None:
    import sys

    from thresher.errors import SettingsError
    from thresher.selection.file import load

    model = load(selection)
    if proba and margin:
        raise SettingsError("ask for --proba or --margin, not both")
    if proba and model.loss.name not in ("logistic", "softmax"):
        raise SettingsError(f"the {model.loss} loss gives no probabilities: ask for --margin")
    for batch in model.batches(one_or_many(data), {"format": format, "on_error": on_error}):
        margins = model.margins(batch)
        answers = model.probabilities(margins) if proba else margins if margin else model.decide(margins)
        if answers.ndim == 2 and len(model.intercept) == 1:
            answers = answers[:, -1]
        # Several answers a row stand side by side, in the order of the classes.
        rows = answers.tolist() if answers.ndim == 1 else ("\t".join(map(str, row)) for row in answers.tolist())
        sys.stdout.writelines(f"{row}\n" for row in rows)
