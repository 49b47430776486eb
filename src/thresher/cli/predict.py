"""Predict with a saved selection, one line per row on standard output or in a file.

Example: `thresher predict clicks.thr new-clicks.vw.gz --proba > scores.txt`
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from thresher.cli.main import one_or_many
from thresher.cli.options import Data, Format, OnError, Output

if TYPE_CHECKING:
    from thresher.core.progress import Watch


def predict(
    selection: Annotated[str, typer.Argument(help="A .thr file.")],
    data: Data,
    proba: Annotated[
        bool, typer.Option("--proba", help="Print probabilities: of the second of two classes, or of each of several.")
    ] = False,
    margin: Annotated[bool, typer.Option("--margin", help="Print the margins w'x + b.")] = False,
    format: Format = None,
    on_error: OnError = "stop",
    output: Output = None,
) -> None:
    from thresher.cli.output import write_lines
    from thresher.core.progress import Watch
    from thresher.errors import SettingsError
    from thresher.report.progress import show_progress
    from thresher.selection.file import load

    model = load(selection)
    if proba and margin:
        raise SettingsError("--proba and --margin exclude each other: leave out one")
    if proba and model.loss.name not in ("logistic", "softmax"):
        raise SettingsError(f"the {model.loss} loss has no probabilities: use --margin")

    def lines(watch: Watch) -> Iterator[str]:
        for batch in model.batches(one_or_many(data), {"format": format, "on_error": on_error}, watch):
            margins = model.margins(batch)
            answers = model.probabilities(margins) if proba else margins if margin else model.decide(margins)
            if answers.ndim == 2 and len(model.intercept) == 1:
                answers = answers[:, -1]
            # One column per class, in the order of the classes.
            rows = answers.tolist() if answers.ndim == 1 else ("\t".join(map(str, row)) for row in answers.tolist())
            yield from (f"{row}\n" for row in rows)

    with show_progress(quiet=output is None and sys.stdout.isatty()) as progress:
        write_lines(lines(Watch(progress)), output)
