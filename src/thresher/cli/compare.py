"""Compare saved selections: what agrees, what differs, in which order and with which signs.

Example: `thresher compare monday.thr tuesday.thr`
"""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.options import Output


def compare(
    selections: Annotated[list[str], typer.Argument(help="Two or more .thr files.")],
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
    top: Annotated[int, typer.Option(help="The number of features to show in the table.")] = 20,
    output: Output = None,
) -> None:
    import json

    from thresher.cli.output import write_lines
    from thresher.core.storage.container import plain
    from thresher.errors import SettingsError
    from thresher.report.comparison import comparison_lines
    from thresher.selection.compare import compare as compare_selections

    if format not in ("table", "json"):
        raise SettingsError(f"--format must be table or json, got {format!r}")
    if len(selections) < 2:
        raise SettingsError("name two or more .thr files to compare")
    if top < 0:
        raise SettingsError(f"--top must be at least 0, got {top}")
    found = compare_selections(*selections)
    lines = [json.dumps(plain(found.to_dict()), indent=1)] if format == "json" else comparison_lines(found, top)
    write_lines((f"{line}\n" for line in lines), output)
