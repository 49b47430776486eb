"""Which column of a table is what, as users say it."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from thresher.errors import DataError, SettingsError
from thresher.sources.files.paths import PathLike

#: A column by its name, or by its position from 0.
Where = str | int


@dataclass(frozen=True, kw_only=True)
class Schema:
    """What the columns of a table are, and how it is written.

    Columns go by name, or by position from 0. Those that are not mentioned are guessed from the first rows.

    Parameters
    ----------
    target, weight : column, optional
        What is to be predicted, and the importance of a row.
    numeric, categorical, ignored : columns
        Features with a value; features ``column=value``; and what is not read at all.
    others : {"guess", "ignore"}
        What to do about columns that are not mentioned.
    bins : {"log", "quantile", "quantile:N"}, optional
        Numbers as ``column=bin`` instead of with their value. ``log``: zero, and powers of two. ``quantile``: bins that
        hold equally many of the first rows (10,000 of them, or what stands in the first MB of the first file).
    missing : {"skip", "feature"}
        Pass missing values over, or make ``column=<missing>`` a feature.
    names : sequence of str, optional
        What the columns are called, where the file has no header.
    header : bool
        Whether the first row holds the names of the columns. Without either they are ``x0``, ``x1``, …
    delimiter : str, optional
        What stands between fields; guessed from the first line if not given.
    quote : str or None
        What stands around fields that hold such characters; None for nothing.
    nulls : sequence of str, optional
        How missing values are written; if not given, the usual ways: nothing, NA, NaN, null and the like.
    """

    target: Where | None = None
    weight: Where | None = None
    numeric: tuple[Where, ...] = ()
    categorical: tuple[Where, ...] = ()
    ignored: tuple[Where, ...] = ()
    others: Literal["guess", "ignore"] = "guess"
    bins: str | None = None
    missing: Literal["skip", "feature"] = "skip"
    names: tuple[str, ...] | None = None
    header: bool = True
    delimiter: str | None = None
    quote: str | None = '"'
    nulls: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("numeric", "categorical", "ignored", "names", "nulls"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise SettingsError(f"{name} is a list of columns, as in [{value!r}]")
            if value is not None:
                object.__setattr__(self, name, tuple(value))
        if self.others not in ("guess", "ignore"):
            raise SettingsError(f'others is "guess" or "ignore", not {self.others!r}')
        if self.missing not in ("skip", "feature"):
            raise SettingsError(f'missing is "skip" or "feature", not {self.missing!r}')
        for name in ("delimiter", "quote"):
            mark = getattr(self, name)
            if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in "\r\n"):
                raise SettingsError(f"{name} is one ASCII character, not {mark!r}")
        quantiles(self.bins)

    @classmethod
    def of(cls, schema: Schema | Mapping[str, Any] | PathLike | None, options: Mapping[str, Any]) -> Schema:
        """A schema, a ready one by its name, or one in a JSON file; with options that say otherwise."""
        given = {name: value for name, value in options.items() if value is not None}
        if isinstance(schema, Schema):
            return replace(schema, **given)
        named = {} if schema is None else schema if isinstance(schema, Mapping) else _load(os.fspath(schema))
        known = {field.name for field in fields(cls)}
        if unknown := [name for name in named if name not in known]:
            raise SettingsError(f"a schema has no {unknown[0]!r}{nearest(unknown[0], sorted(known))}")
        try:
            return cls(**{**named, **given})
        except TypeError as error:
            raise SettingsError(f"not a schema: {error}") from None


READY: dict[str, dict[str, Any]] = {
    "criteo": {
        "names": ["label", *(f"I{i}" for i in range(1, 14)), *(f"C{i}" for i in range(1, 27))],
        "header": False,
        "delimiter": "\t",
        "quote": None,
        "target": "label",
        "numeric": [f"I{i}" for i in range(1, 14)],
        "categorical": [f"C{i}" for i in range(1, 27)],
        "bins": "log",
        "nulls": [""],
    }
}


def _load(name: str) -> Mapping[str, Any]:
    if name in READY:
        return READY[name]
    try:
        with open(name, encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        ready = ", ".join(READY)
        raise SettingsError(f"there is no schema {name!r}: pass the path of a JSON file, or one of {ready}") from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{name}: not a schema in JSON ({error})") from None
    if not isinstance(found, dict):
        raise SettingsError(f'{name}: a schema is an object, as in {{"target": "y", "numeric": ["age"]}}')
    return found


def quantiles(bins: str | None) -> int | None:
    """How many bins ``quantile`` stands for; None for other kinds."""
    kind, _, number = (bins or "").partition(":")
    if kind == "quantile":
        if not number:
            return 10
        if number.isdecimal() and 2 <= int(number) <= 1000:
            return int(number)
    if bins not in (None, "log"):
        raise SettingsError(f"bins is log, quantile or quantile:N with N from 2 to 1000, not {bins!r}")
    return None


def find_column(where: Where, names: Sequence[str], table: str, what: str) -> str:
    """The name of a column; raises with the nearest names where there is none."""
    if isinstance(where, str) and where in names:
        return where
    position = where if isinstance(where, int) else int(where) if where.isdecimal() else -1
    if 0 <= position < len(names):
        return names[position]
    if isinstance(where, int):
        raise DataError(f"{table}: there is no column {where} for the {what}: positions go from 0 to {len(names) - 1}.")
    raise DataError(f"{table}: there is no column {where!r} for the {what}{nearest(where, names)}")


def nearest(name: str, names: Sequence[str]) -> str:
    """The names that look like one that is not there, as the end of a message."""
    close = difflib.get_close_matches(name, names, 3, 0.6)
    if not close:
        close = difflib.get_close_matches(name.lower(), [n.lower() for n in names], 3, 0.6)
        close = [n for n in names if n.lower() in close]
    if close:
        return f"; nearest are {', '.join(map(repr, close))}."
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"; there are {', '.join(map(repr, names[:10]))}{more}."
