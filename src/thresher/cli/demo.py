"""Plant features in a made-up stream and find them again.

Example: `thresher demo --rows 50000`
"""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    rows: Annotated[int, typer.Option(help="Rows to make.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Where the stream comes from.")] = 0,
    keep: Annotated[str | None, typer.Option(help="Keep the stream in this file.", metavar="PATH")] = None,
) -> None:
    import os
    import tempfile

    from thresher.demo import PLANTED, write_stream
    from thresher.report.progress import show_progress
    from thresher.report.table import print_selection
    from thresher.selecting import select

    with tempfile.TemporaryDirectory() as folder:
        path = keep or os.path.join(folder, "stream.vw")
        typer.echo(f"Making {rows} rows of words, {PLANTED} of which decide the label …", err=True)
        planted = write_stream(path, rows=rows, seed=seed)
        k = 1000
        typer.echo(f"thresher select {os.path.basename(path)} -k {k} --holdout 0.1", err=True)
        with show_progress() as progress:
            selection = select(path, k=k, holdout=0.1, random_state=seed, progress=progress)
        print_selection(selection, top=PLANTED, run=progress.last)
    found = planted.intersection(selection.names[: 2 * PLANTED])
    typer.echo(f"Found {len(found)} of the {len(planted)} planted features among the strongest {2 * PLANTED}.")
