"""Predict with a saved selection: a line a row on standard output.

Example: `thresher predict clicks.thr new-clicks.vw.gz --proba > scores.txt`
"""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.common import Data, Format, OnError, one_or_many


def predict(
    selection: Annotated[str, typer.Argument(help="A .thr file.")],
    data: Data,
    proba: Annotated[bool, typer.Option("--proba", help="The probability of the last class instead.")] = False,
    margin: Annotated[bool, typer.Option("--margin", help="The margin w'x + b instead.")] = False,
    format: Format = None,
    on_error: OnError = "stop",
) -> None:
    import sys

    from thresher.errors import SettingsError
    from thresher.selection import load

    model = load(selection)
    if proba and margin:
        raise SettingsError("ask for --proba or --margin, not both")
    if proba and model.loss.name != "logistic":
        raise SettingsError(f"the {model.loss} loss gives no probabilities: ask for --margin")
    for batch in model.batches(one_or_many(data), {"format": format, "on_error": on_error}):
        margins = model.margins(batch)
        answers = model.probabilities(margins)[:, -1] if proba else margins if margin else model.decide(margins)
        sys.stdout.writelines(f"{answer}\n" for answer in answers.tolist())
