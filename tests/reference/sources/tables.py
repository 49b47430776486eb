"""Cells of a table to features, by the rule."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Any

import numpy as np

from tests.reference.core.hashing import hash_bytes

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
_WORDS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}


def number(text: str) -> float | None:
    """The number that a text is, blanks apart; NaN for nothing at all, None for something else."""
    text = text.strip(" \t")
    if not text:
        return math.nan
    if text in _WORDS:
        return _WORDS[text]
    return float(text) if _NUMBER.fullmatch(text) and text.isascii() else None


def row(cells: dict[str, str | None], numeric: set[str]) -> tuple[list[int], list[str], list[float]] | None:
    """Keys, names and values of a row; None for one that cannot be used."""
    keys: list[int] = []
    names: list[str] = []
    values: list[Any] = []
    for column, cell in cells.items():
        if cell is None:
            continue
        if column not in numeric:
            keys.append(hash_bytes(cell.encode(), hash_bytes(f"{column}=".encode(), 0)))
            names.append(f"{column}={cell}")
            values.append(1.0)
            continue
        value = number(cell)
        with np.errstate(over="ignore"):
            if value is None or math.isinf(np.float32(value)):
                return None
        if math.isnan(value) or value == 0:
            continue
        keys.append(hash_bytes(column.encode(), 0))
        names.append(column)
        values.append(float(np.float32(value)))
    return keys, names, values


def arrow_row(cells: dict[str, Any]) -> tuple[list[int], list[str], list[float]]:
    """The same of values that have their types already; lists hold either texts or numbers."""
    keys: list[int] = []
    names: list[str] = []
    values: list[float] = []

    def token(column: str, text: str) -> None:
        keys.append(hash_bytes(text.encode(), hash_bytes(f"{column}=".encode(), 0)))
        names.append(f"{column}={text}")
        values.append(1.0)

    def valued(name: str, value: float) -> None:
        if value == value and value != 0:
            keys.append(hash_bytes(name.encode(), 0))
            names.append(name)
            values.append(float(np.float32(value)))

    for column, cell in cells.items():
        if isinstance(cell, str):
            token(column, cell)
        elif isinstance(cell, list):
            for place, value in enumerate(cell):
                token(column, value) if isinstance(value, str) else valued(f"{column}[{place}]", value)
        elif cell is not None:
            valued(column, float(cell))
    return keys, names, values


def time_row(column: str, moment: dt.datetime, *, has_hour: bool) -> tuple[list[int], list[str]]:
    """Keys and names of a date: its year, month, weekday and hour as categories."""
    parts = {"year": f"{moment.year:04}", "month": f"{moment.month:02}", "weekday": DAYS[moment.weekday()]}
    if has_hour:
        parts["hour"] = f"{moment.hour:02}"
    names = [f"{column}.{part}={value}" for part, value in parts.items()]
    keys = [hash_bytes(v.encode(), hash_bytes(f"{column}.{part}=".encode(), 0)) for part, v in parts.items()]
    return keys, names
