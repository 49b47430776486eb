"""The schema of a table: the kinds of its columns and the dialect of its text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from thresher.display import did_you_mean, quoted
from thresher.errors import DataError, SettingsError
from thresher.sources.files.paths import PathLike

#: A column by its name, or by its position from 0.
ColumnRef = str | int


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The kinds of the columns of a table, and the dialect of its text.

    Columns are given by name, or by position from 0. The kinds of all other columns are inferred from the first rows.

    Parameters
    ----------
    target, weight : column, optional
        The column of the targets, and the column of the sample weights.
    numeric, categorical, times, texts, ignored : columns
        Columns of features with a value; columns of features ``column=value``; columns of dates and times, whose
        features are year, month, weekday and hour; columns of texts, whose features are ``column=word``; columns to
        ignore.
    others : {"guess", "ignore"}
        Whether to infer or to ignore the columns that no option names.
    bins : {"log", "quantile", "quantile:N"}, optional
        Encode numbers as ``column=bin`` instead of by their value. ``log``: zero, and powers of two. ``quantile``: bins
        with equally many of the first rows (10,000 of them, or those in the first MB of the first file).
    missing : {"skip", "feature"}
        Ignore missing values, or make ``column=<missing>`` a feature.
    names : sequence of str, optional
        The column names of a file without a header.
    header : bool
        Whether the first row holds the column names. Without ``names`` and a header they are ``x0``, ``x1``, …
    delimiter : str, optional
        The delimiter. The default is inferred from the first line.
    quote : str or None
        The quote character; None for none.
    nulls : sequence of str, optional
        The texts of missing values. The default is the usual ones: the empty string, NA, NaN, null and the like.
    """

    target: ColumnRef | None = None
    weight: ColumnRef | None = None
    numeric: tuple[ColumnRef, ...] = ()
    categorical: tuple[ColumnRef, ...] = ()
    times: tuple[ColumnRef, ...] = ()
    texts: tuple[ColumnRef, ...] = ()
    ignored: tuple[ColumnRef, ...] = ()
    others: Literal["guess", "ignore"] = "guess"
    bins: str | None = None
    missing: Literal["skip", "feature"] = "skip"
    names: tuple[str, ...] | None = None
    header: bool = True
    delimiter: str | None = None
    quote: str | None = '"'
    nulls: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("numeric", "categorical", "times", "texts", "ignored", "names", "nulls"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise SettingsError(f"{name} must be a list, for example [{value!r}], not a string")
            if value is not None:
                object.__setattr__(self, name, tuple(value))
        if self.others not in ("guess", "ignore"):
            raise SettingsError(f'others must be "guess" or "ignore", got {self.others!r}')
        if self.missing not in ("skip", "feature"):
            raise SettingsError(f'missing must be "skip" or "feature", got {self.missing!r}')
        for name in ("delimiter", "quote"):
            mark = getattr(self, name)
            if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in "\r\n"):
                raise SettingsError(f"{name} must be one ASCII character, got {mark!r}")
        quantiles(self.bins)

    @classmethod
    def of(cls, schema: Schema | Mapping[str, Any] | PathLike | None, options: Mapping[str, Any]) -> Schema:
        """A schema, a built-in one by name, or one from a JSON file; the options override its fields."""
        given = {name: value for name, value in options.items() if value is not None}
        if isinstance(schema, Schema):
            return replace(schema, **given)
        named = {} if schema is None else schema if isinstance(schema, Mapping) else _load(os.fspath(schema))
        known = {field.name for field in fields(cls)}
        if unknown := [name for name in named if name not in known]:
            raise SettingsError(f"a schema has no field {quoted(unknown[0])}{did_you_mean(unknown[0], sorted(known))}")
        try:
            return cls(**{**named, **given})
        except TypeError as error:
            raise SettingsError(f"not a schema: {error}") from None


BUILT_IN: dict[str, dict[str, Any]] = {
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
    if name in BUILT_IN:
        return BUILT_IN[name]
    try:
        with open(name, encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        built_in = ", ".join(BUILT_IN)
        raise SettingsError(
            f"there is no schema {name!r}: pass the path of a JSON file, or one of {built_in}"
        ) from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{name}: not a schema in JSON ({error})") from None
    if not isinstance(found, dict):
        raise SettingsError(f'{name}: a schema is a JSON object, for example {{"target": "y", "numeric": ["age"]}}')
    return found


def quantiles(bins: str | None) -> int | None:
    """The number of quantile bins; None for other kinds of bins."""
    kind, _, number = (bins or "").partition(":")
    if kind == "quantile":
        if not number:
            return 10
        if number.isdecimal() and 2 <= int(number) <= 1000:
            return int(number)
    if bins not in (None, "log"):
        raise SettingsError(f"bins must be log, quantile or quantile:N with N from 2 to 1000, got {bins!r}")
    return None


def find_column(where: ColumnRef, names: Sequence[str], table: str, what: str) -> str:
    """The name of a column; an unknown column raises an error with similar names."""
    if isinstance(where, str) and where in names:
        return where
    position = where if isinstance(where, int) else int(where) if where.isdecimal() else -1
    if 0 <= position < len(names):
        return names[position]
    if isinstance(where, int):
        raise DataError(f"{table}: there is no column {where} for the {what}: positions go from 0 to {len(names) - 1}.")
    raise DataError(f"{table}: there is no column {quoted(where)} for the {what}{did_you_mean(where, names)}")
