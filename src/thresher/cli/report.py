"""Write a report of a saved selection: one HTML file that opens offline.

Labelled data adds where the predictions err, and examples of rows with what each feature adds.

Examples:

`thresher report clicks.thr -o report.html`

`thresher report clicks.thr tomorrow.vw.gz -o report.html`

`thresher report species.thr --genome genome.fa.gz -o report.html`
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.main import one_or_many
from thresher.cli.options import Format, OnError
from thresher.cli.reading_options import with_reading_options


@with_reading_options
def report(
    selection: Annotated[str, typer.Argument(help="A .thr file.")],
    data: Annotated[list[str] | None, typer.Argument(help="Labelled files, globs or folders.")] = None,
    format: Format = None,
    genome: Annotated[
        list[str] | None,
        typer.Option("--genome", help="FASTA or FASTQ files to show selected k-mers in; may be repeated."),
    ] = None,
    on_error: OnError = "stop",
    output: Annotated[str, typer.Option("-o", "--output", help="The HTML file.", metavar="PATH")] = "report.html",
    *,
    reading: dict[str, Any],
) -> None:
    from thresher.core.memory import Watch
    from thresher.core.storage.atomic import check_not_read
    from thresher.report.progress import show_progress
    from thresher.selection.file import load
    from thresher.selection.report.report import make_report

    check_not_read(output, [selection])
    model = load(selection)
    if data:
        reading |= {"format": format}
    if data or genome:
        reading |= {"on_error": on_error}
    with show_progress() as progress:
        make_report(
            model, one_or_many(data) if data else None, path=output, genome=genome, watch=Watch(progress), **reading
        )
    typer.echo(f"saved        {output}")
