"""What all commands share: options, errors as exit codes, durations."""

from __future__ import annotations

import functools
import logging
import re
import sys
from collections.abc import Callable
from typing import Annotated, Any, ParamSpec

import typer

P = ParamSpec("P")

BAD_DATA, BAD_USAGE, INTERRUPTED = 1, 2, 130

Data = Annotated[list[str], typer.Argument(help="Files, globs or folders, plain or compressed; - for standard input.")]
Format = Annotated[
    str | None,
    typer.Option(help="libsvm, vw, fasta, csv, jsonl, parquet or cache; guessed from name or first line if not given."),
]
OnError = Annotated[str, typer.Option(help="What to do about a malformed line: stop, or skip (and count).")]
Memory = Annotated[
    str | None,
    typer.Option(help="What may be held, planned before the first row: 64MB (unasked, but for fgm), 1.5GB."),
]
Method = Annotated[
    str,
    typer.Option(
        help="How to find them: mission, iht, batch-iht, fgm, sparse-rf (functions drawn at random), hashing (which "
        "selects nothing); or under a budget b-arda, b-amd, ofs, sofs, l1-arda, ada-fobos; or as columns arrive os, "
        "grafting, grafting-light, naive-l0, naive-l1, alpha-investing."
    ),
]
Sketch = Annotated[
    str | None,
    typer.Option(help="Shape of mission's sketch, as 3x262144, instead of planning it.", metavar="ROWSxWIDTH"),
]
Active = Annotated[str, typer.Option(help="mission's table: exact weights, or sketch (the paper's own form).")]
Interactions = Annotated[
    list[str] | None,
    typer.Option(
        help="Products of features too: 2 (of two), 3 (also of three), or of chosen groups (namespaces, columns, "
        "indices), as user,ad; may be repeated.",
        metavar="DEGREE|GROUP,GROUP",
    ),
]
Features = Annotated[int, typer.Option("-k", "--features", help="How many features to keep.")]
Output = Annotated[str | None, typer.Option("-o", "--output", help="Where to write.")]


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Turn our errors into a line on standard error and an exit code: 1 bad data, 2 bad usage."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
        from thresher.errors import ResumeError, SettingsError, ThresherError

        try:
            command(*args, **kwargs)
        except ThresherError as error:
            fail(str(error), BAD_USAGE if isinstance(error, (SettingsError, ResumeError)) else BAD_DATA)
        except BrokenPipeError:  # the reader of our output had enough, as `head` does
            sys.stderr.close()
            raise typer.Exit(0) from None
        except KeyboardInterrupt:
            fail("stopped", INTERRUPTED)
        except OSError as error:
            fail(f"{error.filename or 'file'}: {error.strerror}", BAD_DATA)

    return run


def fail(message: str, code: int) -> None:
    """End with a message and an exit code."""
    typer.echo(f"thresher: {message}", err=True)
    raise typer.Exit(code)


def seconds(duration: str) -> float:
    """``30s``, ``5m``, ``1h`` or a number of seconds."""
    from thresher.errors import SettingsError

    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([smh]?)\s*", duration)
    if match is None:
        raise SettingsError(f"not a duration: {duration!r}; write for example 30s, 5m or 1h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def sketch_shape(text: str | None) -> tuple[int, int] | None:
    """``3x262144`` to (rows, width)."""
    from thresher.errors import SettingsError

    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+)\s*[x×]\s*(\d+)\s*", text)
    if match is None:
        raise SettingsError(f"not the shape of a sketch: {text!r}; write for example 3x262144")
    return int(match[1]), int(match[2])


def one_or_many(data: list[str]) -> Any:
    """The data argument as the library takes it."""
    return data[0] if len(data) == 1 else data


def which_interactions(texts: list[str] | None) -> int | list[tuple[str, ...]]:
    """``2`` to a degree; ``user,ad`` and further ones to groups."""
    from thresher.errors import SettingsError

    if not texts:
        return 1
    if len(texts) == 1 and texts[0].strip().isdecimal():
        return int(texts[0])
    groups = [tuple(part.strip() for part in text.split(",")) for text in texts]
    for text, group in zip(texts, groups, strict=True):
        if len(group) not in (2, 3):
            raise SettingsError(
                f"--interactions takes 2, 3, or groups to combine, two or three at a time, as user,ad; not {text!r}"
            )
    return groups


def number_or_word(text: str) -> str | float:
    """A number where it is one."""
    try:
        return float(text)
    except ValueError:
        return text
