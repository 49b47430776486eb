"""The ``thresher`` program."""

from __future__ import annotations

import os

import typer

from thresher.cli import convert, demo, inspect, locate, plan, predict, select
from thresher.cli.common import guarded

app = typer.Typer(
    name="thresher",
    help="Find the few features that matter among far more than fit in memory, and name them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

for module in (select, predict, inspect, plan, convert, locate, demo):
    name = module.__name__.rpartition(".")[2]
    app.command(name, help=module.__doc__)(guarded(getattr(module, name)))


@app.callback(invoke_without_command=True)
def _options(version: bool = typer.Option(False, "--version", help="Show the version and stop.")) -> None:
    if version:
        from thresher.version import __version__

        typer.echo(f"thresher {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the program."""
    # NumPy's BLAS starts threads that wait for work in a loop, on the core where the first rows are to be read.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    app()
