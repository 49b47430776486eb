"""The ``thresher`` program."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable

import typer

from thresher.cli.common import guarded

#: Each is a function in a module of its name.
COMMANDS = ("select", "predict", "inspect", "plan", "convert", "locate", "demo")


def make_app(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """The program with some of its commands: each brings options that take time to be made."""
    app = typer.Typer(
        name="thresher",
        help="Find the few features that matter among far more than fit in memory, and name them.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in commands:
        module = importlib.import_module(f"thresher.cli.{name}")
        app.command(name, help=module.__doc__)(guarded(getattr(module, name)))
    app.callback(invoke_without_command=True)(_options)
    return app


def _options(version: bool = typer.Option(False, "--version", help="Show the version and stop.")) -> None:
    if version:
        from thresher.version import __version__

        typer.echo(f"thresher {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the program."""
    # NumPy's BLAS starts threads that wait for work in a loop, on the core where the first rows are to be read.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    make_app([asked] if asked in COMMANDS else COMMANDS)()
