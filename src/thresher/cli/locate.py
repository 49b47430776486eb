"""Find the positions of selected k-mers, or of the words they form, in sequences, as BED on standard output.

Example: `thresher locate species.thr genome.fa.gz > places.bed`
"""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from thresher.cli.options import OnError, Output


def locate(
    selection: Annotated[str, typer.Argument(help="A .thr file of k-mers.")],
    genome: Annotated[
        list[str], typer.Argument(help="FASTA or FASTQ files, plain or compressed; - for standard input.")
    ],
    words: Annotated[
        bool,
        typer.Option("--words", help="The places of whole words: k-mers that overlap and occur together."),
    ] = False,
    on_error: OnError = "stop",
    output: Output = None,
) -> None:
    from thresher.cli.output import write_lines
    from thresher.selection.export.bed import bed_lines, word_lines
    from thresher.selection.file import load

    find = word_lines if words else bed_lines
    write_lines(find(load(selection), genome, on_error=cast(Any, on_error)), output)
