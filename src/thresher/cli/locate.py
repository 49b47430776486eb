"""Find the positions of selected k-mers in sequences, as BED on standard output.

Example: `thresher locate species.thr genome.fa.gz > places.bed`
"""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.options import Output


def locate(
    selection: Annotated[str, typer.Argument(help="A .thr file of k-mers.")],
    genome: Annotated[
        list[str], typer.Argument(help="FASTA or FASTQ files, plain or compressed; - for standard input.")
    ],
    output: Output = None,
) -> None:
    import sys

    from thresher.core.container import write_atomically
    from thresher.display import visible
    from thresher.selection.export.bed import bed_lines
    from thresher.selection.file import load

    lines = bed_lines(load(selection), genome)
    if output is None:
        if sys.stdout.isatty():  # a terminal would obey control characters in the names of records
            lines = ("\t".join(map(visible, line[:-1].split("\t"))) + "\n" for line in lines)
        sys.stdout.writelines(lines)
        return
    write_atomically(output, lambda file: file.writelines(line.encode("utf-8", "surrogateescape") for line in lines))
