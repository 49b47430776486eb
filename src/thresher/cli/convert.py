"""Write data in another format.

Example: `thresher convert clicks.vw.gz clicks.svm`
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.common import Data, Format, OnError, one_or_many
from thresher.cli.sequences import with_sequences


@with_sequences
def convert(
    data: Data,
    output: Annotated[str, typer.Option("-o", "--output", help="Where to write; .gz at its end compresses.")],
    to: Annotated[str | None, typer.Option(help="libsvm or vw; by the output's ending if not given.")] = None,
    format: Format = None,
    on_error: OnError = "stop",
    *,
    sequences: dict[str, Any],
) -> None:
    from thresher.sources.scan import as_source
    from thresher.writers import write_source

    source = as_source(one_or_many(data), format=format, on_error=on_error, **sequences)
    rows = write_source(source, output, to)
    typer.echo(f"{rows} rows written to {output}", err=True)
