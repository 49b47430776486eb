"""Generate data with planted features, and find them again.

Example: `thresher demo --rows 50000`
"""

from __future__ import annotations

from typing import Annotated, Any

import typer


def demo(
    rows: Annotated[int, typer.Option(help="The number of rows to generate.")] = 20_000,
    seed: Annotated[int, typer.Option(help="The random seed.")] = 0,
    keep: Annotated[str | None, typer.Option(help="Keep the data in this file.", metavar="PATH")] = None,
    genomes: Annotated[
        str | None, typer.Option(help="Generate two genomes in this folder instead, and find k-mers.", metavar="FOLDER")
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option(help="Generate tables and reviews in this folder instead, and find phrases.", metavar="FOLDER"),
    ] = None,
) -> None:
    import os
    import tempfile

    from thresher.api import select
    from thresher.demo import PLANTED, write_genomes, write_stream, write_tables
    from thresher.report.progress import show_progress
    from thresher.report.text import print_selection

    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any]
        if genomes is not None:
            typer.echo(f"Generating two genomes, each with {PLANTED // 2} k-mers that identify it …", err=True)
            planted = set().union(*write_genomes(genomes, seed=seed).values())
            data = os.path.join(genomes, "*.fa.gz")
            options = {"k": 100, "kmer": 12, "fragments": 200, "coverage": 8.0}
            typer.echo(f"thresher select {data} --kmer 12 --fragments 200 --coverage 8 -k 100", err=True)
        elif tables is not None:
            typer.echo(
                "Generating a table of people, a log of clicks, and reviews with ten planted phrases …",
                err=True,
            )
            planted = write_tables(tables, seed=seed)
            data = os.path.join(tables, "reviews.jsonl")
            options = {"k": 200, "text": "body", "target": "stars", "words": "1-2", "holdout": 0.1}
            typer.echo(f"thresher select {data} --text body --words 1-2 --target stars -k 200 --holdout 0.1", err=True)
        else:
            data = keep or os.path.join(folder, "stream.vw")
            typer.echo(f"Generating {rows} rows of words, {PLANTED} of which determine the label …", err=True)
            planted = write_stream(data, rows=rows, seed=seed)
            options = {"k": 1000, "holdout": 0.1}
            typer.echo(f"thresher select {os.path.basename(data)} -k 1000 --holdout 0.1", err=True)
        with show_progress() as progress:
            selection = select(data, random_state=seed, progress=progress, **options)
        print_selection(selection, top=PLANTED, run=progress.last)
    found = planted.intersection(selection.names[: 2 * PLANTED])
    typer.echo(f"Found {len(found)} of the {len(planted)} planted features among the strongest {2 * PLANTED}.")
