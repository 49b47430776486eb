"""Find the columns of the data that are nearly the same as a selected feature, as TSV on standard output.

The data is read as that of the fit, three times; labels are not needed. A line has a feature, a column that could \
stand in its place, and their cosine.

Example: `thresher stand-ins clicks.thr clicks.vw.gz --threshold 0.95 -o with-stand-ins.thr`
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.main import one_or_many
from thresher.cli.options import Data, Format, Memory, OnError
from thresher.cli.reading_options import with_reading_options


@with_reading_options
def stand_ins(
    selection: Annotated[str, typer.Argument(help="A .thr file.")],
    data: Data,
    threshold: Annotated[
        float, typer.Option(help="The least absolute cosine, 0.5 to 1; of dense columns, correlation.")
    ] = 0.9,
    memory: Memory = None,
    format: Format = None,
    on_error: OnError = "stop",
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="A .thr file for the selection with its stand-ins.", metavar="PATH"),
    ] = None,
    *,
    reading: dict[str, Any],
) -> None:
    from thresher.cli.output import write_lines
    from thresher.core.storage.atomic import check_not_read, check_writable
    from thresher.selection.export.tables import tsv_line
    from thresher.selection.file import load

    if output is not None:
        check_not_read(output, data)
        check_writable(output)
    reading |= {"format": format, "on_error": on_error}
    found = load(selection).find_stand_ins(one_or_many(data), threshold, memory=memory, **reading)
    if output is not None:
        found.save(output)
    pairs = ((name, other, cosine) for name in found.names for other, cosine in (found.stand_ins or {}).get(name, ()))
    write_lines(map(tsv_line, [("feature", "stand_in", "cosine"), *pairs]), None)
