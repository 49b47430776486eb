"""Options shared by several commands, groups of options, and the parsers of option values."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

Data = Annotated[list[str], typer.Argument(help="Files, globs or folders, plain or compressed; - for standard input.")]
Format = Annotated[
    str | None,
    typer.Option(help="libsvm, vw, fasta, csv, jsonl, parquet or cache; default: by the file's name or first line."),
]
OnError = Annotated[str, typer.Option(help="What to do about a malformed line: stop, or skip (and count).")]
Memory = Annotated[
    str | None,
    typer.Option(help="The most to hold, planned before the first row: 64MB (default of online methods), 1.5GB."),
]
Method = Annotated[
    str,
    typer.Option(
        help="mission and its baselines iht, batch-iht, hashing; at most k features at every moment: b-arda, b-amd, "
        "ofs, sofs, l1-arda, ada-fobos; exact working sets: fgm, sparse-rf; features that arrive one by one: os, "
        "grafting, grafting-light, naive-l0, naive-l1, alpha-investing."
    ),
]
Interactions = Annotated[
    list[str] | None,
    typer.Option(
        help="Add products of features: 2 (of two), 3 (also of three), or of named groups (namespaces, columns, "
        "indices), as user,ad; may be repeated.",
        metavar="DEGREE|GROUP,GROUP",
    ),
]
Features = Annotated[int, typer.Option("-k", "--features", help="The number of features to keep.")]
Output = Annotated[str | None, typer.Option("-o", "--output", help="Where to write.")]


def panel(title: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Show the options of a group under this title in the help."""

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
    """Give a command the options of all ``groups``, functions of which only the parameters count.

    The command receives the options that were used as one dictionary, ``argument``: converted and renamed to the
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
        # Dictionaries of other groups stay keyword-only, at the end.
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
        return run

    return wrap


# ── parsers of option texts ──────────────────────────────────────────────────────────────────────


def seconds(duration: str) -> float:
    """``30s``, ``5m``, ``1h`` or a number of seconds."""
    from thresher.errors import SettingsError

    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([smh]?)\s*", duration)
    if match is None:
        raise SettingsError(f"not a duration: {duration!r}; write for example 30s, 5m or 1h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def sketch_shape(text: str) -> tuple[int, int]:
    """``3x262144`` to (rows, width)."""
    from thresher.errors import SettingsError

    match = re.fullmatch(r"\s*(\d+)\s*[x×]\s*(\d+)\s*", text)
    if match is None:
        raise SettingsError(f"not the shape of a sketch: {text!r}; write for example 3x262144")
    return int(match[1]), int(match[2])


def one_or_many(data: list[str]) -> Any:
    """A single path alone, several as a list."""
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
    """A float where the text is a number."""
    try:
        return float(text)
    except ValueError:
        return text


def numbers(text: str) -> float | list[float]:
    """``10`` to a number, ``100,10,1`` to several."""
    from thresher.errors import SettingsError

    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise SettingsError(f"expected a number, or several as in 100,10,1; got {text!r}") from None
    return found[0] if len(found) == 1 else found


def whole_numbers(text: str) -> list[int]:
    """``8,12`` to its numbers."""
    from thresher.errors import SettingsError

    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise SettingsError(f"expected a length of k-mers, as in 12, or several, as in 8,12; got {text!r}") from None


def words(text: str) -> list[str]:
    """``a,b`` to its words."""
    return [word.strip() for word in text.split(",")]
