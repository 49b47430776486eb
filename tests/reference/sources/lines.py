"""What the twins of the line parsers share: numbers, rows, and a loop over lines."""

import math
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

NUMBER = rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


class BadLine(ValueError):
    """A line that the format does not allow."""


class Row(NamedTuple):
    """One row; `y` is a tuple of labels where several are allowed."""

    keys: list[int]
    values: list[float]
    y: float | tuple[float, ...]
    weight: float
    qid: int
    names: list[bytes]


def number(text: bytes) -> float:
    """A decimal number, which may be too large (and then is infinite); no nan, no inf, no underscores."""
    if not re.fullmatch(NUMBER, text):
        raise BadLine(text)
    return float(text)


def finite(x: float) -> float:
    """A number that is one."""
    if not math.isfinite(x):
        raise BadLine(x)
    return x


def single(x: float) -> float:
    """A number rounded to single precision, where it must still be finite."""
    with np.errstate(over="ignore", under="ignore"):
        return finite(float(np.float32(x)))


def without_newline(line: bytes) -> bytes:
    """A line without its end, one carriage return included."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def words(text: bytes) -> list[bytes]:
    """What stands between blanks, which are spaces and tabs and nothing else."""
    return [word for word in re.split(rb"[ \t]+", text) if word]


def parse(line_parser: Callable[..., Row | None], text: bytes, **options) -> tuple[list[Row], list[int]]:
    """All rows of a text that ends in a newline, and the numbers of its bad lines."""
    rows, bad = [], []
    for i, line in enumerate(text.split(b"\n")[:-1]):
        try:
            row = line_parser(line + b"\n", **options)
        except BadLine:
            bad.append(i)
        else:
            if row is not None:
                rows.append(row)
    return rows, bad
