"""Show a saved selection, or export it for other programs.

Example: `thresher inspect clicks.thr --format tsv > features.tsv`
"""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.options import Keys, Output


def inspect(
    selection: Annotated[str, typer.Argument(help="A .thr file.")],
    format: Annotated[
        str,
        typer.Option(
            help="table, tsv or json; with --output also parquet, onnx, vw (for people; vw -i does not load it)."
        ),
    ] = "table",
    top: Annotated[int | None, typer.Option(help="The number of features to show; default: all.")] = None,
    keys: Keys = False,
    output: Output = None,
) -> None:
    import sys

    from thresher.errors import SettingsError
    from thresher.selection.file import load

    model = load(selection)
    if output is not None:
        model.export(output, None if format == "table" else format)
    elif format == "table":
        from thresher.report.text import print_selection

        print_selection(model, top=top, keys=keys)
    elif format in ("tsv", "json"):
        from thresher.selection.export.tables import as_json, tsv_lines

        sys.stdout.writelines(tsv_lines(model) if format == "tsv" else [as_json(model)])
    else:
        raise SettingsError(
            f"--format must be table, tsv or json, got {format!r}: use --output for other formats (.parquet, .vw)"
        )
