"""The ``thresher`` command."""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib
import inspect
import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec

import typer

P = ParamSpec("P")

BAD_DATA, BAD_USAGE, INTERRUPTED = 1, 2, 130
#: Each command is a function in a module of the same name, with _ for -.
COMMANDS = ("select", "predict", "inspect", "compare", "stand-ins", "report", "plan", "convert", "locate", "demo")


def make_app(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Create the app with some of its commands; the options of each take time to create."""
    app = typer.Typer(
        name="thresher",
        help="Select the few features that matter among far more than fit in memory, and name them.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in commands:
        function = name.replace("-", "_")
        module = importlib.import_module(f"thresher.cli.{function}")
        app.command(name, help=module.__doc__)(guarded(getattr(module, function)))
    app.callback(invoke_without_command=True)(_options)
    return app


def panel(title: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Set the title of a group of options in the help."""

    def mark(group: Callable[..., None]) -> Callable[..., None]:
        group.panel = title  # type: ignore[attr-defined]
        return group

    return mark


def with_options(
    argument: str,
    *groups: Callable[..., None],
    convert: Mapping[str, Callable[[Any], Any]] | None = None,
    rename: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of all ``groups`` to a command; only the parameters of a group matter.

    The command receives the options that were set as one dictionary, ``argument``, converted and renamed to the
    library's keyword arguments.
    """
    conversions, names = convert or {}, rename or {}

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        own, *others = (inspect.signature(function, eval_str=True).parameters for function in (command, *groups))
        added = {name: parameter for parameters in others for name, parameter in parameters.items()}
        for group, parameters in zip(groups, others, strict=True):
            for parameter in parameters.values():
                for option in parameter.annotation.__metadata__:
                    option.rich_help_panel = getattr(group, "panel", None)
        # The dictionaries of other groups are keyword-only, at the end.
        every = [p for p in own.values() if p.name != argument and p.kind is not p.KEYWORD_ONLY]
        every += added.values()
        every += [p for p in own.values() if p.name != argument and p.kind is p.KEYWORD_ONLY]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            used = {name: value for name, p in added.items() if (value := given.pop(name)) != p.default}
            keywords = {
                names.get(name, name): conversions[name](value) if name in conversions else value
                for name, value in used.items()
            }
            command(**given, **{argument: keywords})

        # Typer reads a command's options from these.
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in every}
        run.renamed = {**getattr(command, "renamed", {}), **names}  # type: ignore[attr-defined]
        return run

    return wrap


def one_or_many(data: list[str]) -> Any:
    """A single path, or a list of several."""
    return data[0] if len(data) == 1 else data


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Report errors as a line on standard error and an exit code: 1 for bad data, 2 for bad usage."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        from thresher import _native
        from thresher.cli.messages import MessageFormatter
        from thresher.errors import ResumeError, SettingsError, ThresherError

        _escape_unprintable(sys.stdout, sys.stderr)
        _native.report_bus_errors()  # of files that another program cuts short
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(MessageFormatter("%(message)s"))
        logging.basicConfig(handlers=[handler], level=logging.INFO)
        try:
            command(*args, **kwargs)
            sys.stdout.flush()  # a full disk is noticed here, not after the end
        except ThresherError as error:
            fail(str(error), BAD_USAGE if isinstance(error, (SettingsError, ResumeError)) else BAD_DATA)
        except BrokenPipeError:  # the reader of the output, such as `head`, has closed it
            sys.stderr.close()
            raise typer.Exit(0) from None
        except KeyboardInterrupt:
            fail("stopped", INTERRUPTED)
        except OSError as error:
            fail(_os_error(error), BAD_DATA)

    return run


def _os_error(error: OSError) -> str:
    """The message of an error of the system."""
    # Errors of writing a file name it, so a full disk is the one behind standard output.
    full = error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    if full:
        _drop_text(sys.stdout)
    return f"{error.filename or ('standard output' if full else 'reading')}: {error.strerror}"


def _open_closed_streams() -> None:
    """Connect standard streams that are closed to nothing, so that no file takes their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115


def _escape_unprintable(*streams: Any) -> None:
    """Escape the characters that the encoding of a stream cannot hold, as those of latin-1, instead of failing."""
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _drop_text(stream: Any) -> None:
    """Drop the text that could not be written, or Python would try again at the end."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def fail(message: str, code: int) -> None:
    """Exit with a message and an exit code."""
    from thresher.cli.messages import as_options
    from thresher.display import redact, visible_lines

    typer.echo(f"thresher: {visible_lines(redact(as_options(message)))}", err=True)
    raise typer.Exit(code)


def _options(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        from thresher.version import __version__

        typer.echo(f"thresher {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command."""
    # Idle BLAS threads spin, and would take the core that reads the first rows.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    _open_closed_streams()
    try:
        make_app([command] if command in COMMANDS else COMMANDS)()
    except OSError as error:  # of the help or the version, which no command guards
        typer.echo(f"thresher: {_os_error(error)}", err=True)
        sys.exit(BAD_DATA)
