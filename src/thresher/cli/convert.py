"""Convert data to LIBSVM, VW, Parquet, or a cache file (.thc) of parsed rows, which is read many times faster.

Example: `thresher convert clicks.vw.gz clicks.thc`
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.main import one_or_many
from thresher.cli.options import Data, Format, OnError
from thresher.cli.reading_options import with_reading_options


@with_reading_options
def convert(
    data: Data,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="The output file; default: the last path. .gz compresses text."),
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="libsvm, vw, parquet or cache; default: by the extension of the output.")
    ] = None,
    format: Format = None,
    on_error: OnError = "stop",
    *,
    reading: dict[str, Any],
) -> None:
    from thresher.core.memory import Watch
    from thresher.core.storage.atomic import check_writable
    from thresher.errors import SettingsError
    from thresher.report.progress import show_progress
    from thresher.sources.registry import as_source
    from thresher.sources.transforms.watched import Watched
    from thresher.writers.registry import write_source

    if output is None:
        *data, output = data
    if not data:
        raise SettingsError("an input and an output are required, as in: thresher convert clicks.vw.gz clicks.thc")
    check_writable(output)
    source = as_source(one_or_many(data), format=format, on_error=on_error, **reading)
    with show_progress() as progress:
        written = write_source(Watched(source, Watch(progress), "converting"), output, to)
    for loss in written.messages():
        typer.echo(loss, err=True)
    typer.echo(f"{written.rows} rows written to {output}", err=True)
