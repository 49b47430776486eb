"""Options shared by several commands, groups of options, and the parsers of option values."""

from __future__ import annotations

import re
from typing import Annotated

import typer

#: The panels of the help.
MODEL, SCORES, FILES, CHECKPOINTS = "Model", "Scores", "Reading files", "Checkpoints"

Data = Annotated[list[str], typer.Argument(help="Files, globs or folders, plain or compressed; - for standard input.")]
Format = Annotated[
    str | None,
    typer.Option(
        help="libsvm, vw, fasta, csv, jsonl, parquet or cache; default: by the file's name or first line.",
        rich_help_panel=FILES,
    ),
]
OnError = Annotated[str, typer.Option(help="On a malformed line: stop, or skip (and count) it.", rich_help_panel=FILES)]
Memory = Annotated[
    str | None,
    typer.Option(help="The most memory to use, as 64MB or 1.5GB. Default: 64MB for online methods, else no limit."),
]
Method = Annotated[
    str,
    typer.Option(help="mission, b-arda, fgm, sparse-rf, os, …, or auto: see thresher select --help.", metavar="NAME"),
]
Interactions = Annotated[
    list[str] | None,
    typer.Option(
        help="Add products of features: 2 (of two), 3 (also of three), or of features of named groups (namespaces, "
        "columns, indices), as user,ad; may be repeated.",
        metavar="SPEC",
        rich_help_panel=MODEL,
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        "-k",
        "--features",
        help="The number of features to keep; optional for sparse-rf. auto (online methods, fgm): the fewest that "
        "predict held-out rows about as well as any number.",
        metavar="K",
    ),
]
Fdr = Annotated[
    float | None,
    typer.Option(
        help="Keep only features of which at most this share is expected to be false, as 0.1.",
        metavar="SHARE",
        rich_help_panel=SCORES,
    ),
]
Splits = Annotated[
    int | None,
    typer.Option(
        help="With --fdr: how many times the rows are divided into halves; default 1.", rich_help_panel=SCORES
    ),
]
StandIns = Annotated[
    float | None,
    typer.Option(
        "--stand-ins",
        help="After the fit, find the columns that are nearly the same as a selected feature: with at least this "
        "absolute cosine, as 0.9.",
        metavar="COSINE",
        rich_help_panel=SCORES,
    ),
]
Collapse = Annotated[
    bool,
    typer.Option(
        "--collapse",
        help="With --stand-ins: keep only the strongest of features that stand in for each other.",
        rich_help_panel=SCORES,
    ),
]
Pairs = Annotated[
    int | None,
    typer.Option(
        "--stability",
        help="Fit both halves of so many divisions of the rows, as 50, and show how often each feature is selected.",
        metavar="B",
        rich_help_panel=SCORES,
    ),
]
ExpectedFalse = Annotated[
    float | None,
    typer.Option(
        help="With --stability: the expected number of false features that sets the threshold; default 1.",
        metavar="NUMBER",
        rich_help_panel=SCORES,
    ),
]
Permutations = Annotated[
    int | None,
    typer.Option(
        help="Repeat the fit so many times with labels drawn by chance, and show what score that gives.",
        metavar="N",
        rich_help_panel=SCORES,
    ),
]
Decoys = Annotated[
    int | None,
    typer.Option(
        help="Repeat the fit so many times with a copy of each feature that cannot matter, and show how many are "
        "selected. A diagnostic, no error control.",
        metavar="N",
        rich_help_panel=SCORES,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="Keep this feature whatever its weight is; -k counts it. A name, or @FILE; may be repeated.",
        metavar="NAME",
        rich_help_panel=MODEL,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        help="Never use these features: a name, a column of a table, a pattern as 'user_*', or @FILE with one a line; "
        "may be repeated.",
        metavar="NAME",
        rich_help_panel=MODEL,
    ),
]
Keys = Annotated[bool, typer.Option("--keys", help="Show the 64-bit keys of the features, too.")]
Output = Annotated[str | None, typer.Option("-o", "--output", help="The output file.", metavar="PATH")]


# ── parsers of option values ─────────────────────────────────────────────────────────────────────


def seconds(duration: str) -> float:
    """Parse ``30s``, ``5m``, ``1h`` or a number of seconds."""
    from thresher.errors import SettingsError

    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([smh]?)\s*", duration)
    if match is None:
        raise SettingsError(f"a duration must be a number of seconds, or as 30s, 5m or 1h, got {duration!r}")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def sketch_shape(text: str) -> tuple[int, int]:
    """Parse ``3x262144`` to (rows, width)."""
    from thresher.errors import SettingsError

    match = re.fullmatch(r"\s*(\d+)\s*[x×]\s*(\d+)\s*", text)
    if match is None:
        raise SettingsError(f"--sketch must be ROWSxWIDTH, as 3x262144, got {text!r}")
    return int(match[1]), int(match[2])


def which_interactions(texts: list[str]) -> int | list[tuple[str, ...]]:
    """Parse ``2`` to a degree, and several ``user,ad`` to groups."""
    from thresher.errors import SettingsError

    if len(texts) == 1 and texts[0].strip().isdecimal():
        return int(texts[0])
    groups = [tuple(part.strip() for part in text.split(",")) for text in texts]
    for text, group in zip(texts, groups, strict=True):
        if len(group) not in (2, 3):
            raise SettingsError(f"--interactions must be 2, 3, or two or three groups, as user,ad, got {text!r}")
    return groups


def number_or_word(text: str) -> str | float:
    """Parse a number to a float; return other text as it is."""
    try:
        return float(text)
    except ValueError:
        return text


def whole_or_word(text: str) -> str | int:
    """Parse a whole number to an int; return other text as it is."""
    return int(text) if text.lstrip("-").isdigit() else text


def numbers(text: str) -> float | str | list[float]:
    """Parse ``10`` to a number, ``100,10,1`` to a list; ``auto`` stays a word."""
    from thresher.errors import SettingsError

    if text == "auto":
        return text
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise SettingsError(f"--lam must be a number, several as 100,10,1, or auto, got {text!r}") from None
    return found[0] if len(found) == 1 else found


def whole_numbers(text: str) -> list[int]:
    """Parse ``8,12`` to a list of integers."""
    from thresher.errors import SettingsError

    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise SettingsError(f"--kmer must be an integer, or several as 8,12, got {text!r}") from None


def all_words(texts: list[str]) -> list[str]:
    """The words of an option that may be repeated: ``--ignored a,b --ignored c``."""
    return [word for text in texts for word in words(text)]


def words(text: str) -> list[str]:
    """Parse ``a,b`` to a list of words."""
    return [word.strip() for word in text.split(",")]
