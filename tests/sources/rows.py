"""The few rows every source is made from, what must come out, and the registry of the kinds of sources."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from thresher.core.batch import Batch
from thresher.sources.base import Source


@dataclass(frozen=True)
class Row:
    """One example; ``features`` are (column, value) pairs, columns ascending and values not zero."""

    features: tuple[tuple[int, float], ...]
    y: float
    weight: float = 1.0


WIDTH = 9


def example_rows(n: int = 17) -> list[Row]:
    """A fixed small list: an empty row, rows of all ones, a copy, and values that single precision holds."""
    rng = np.random.default_rng(5)
    rows = []
    for i in range(n):
        columns = np.flatnonzero(rng.random(WIDTH) < 0.4)
        values = np.where(rng.random(len(columns)) < 0.3, 1.0, rng.integers(-40, 41, len(columns)) / 4 + 0.125)
        weight = float(rng.choice([1.0, 1.0, 0.5, 3.0]))
        rows.append(Row(tuple(zip(columns.tolist(), values.tolist(), strict=True)), float(i % 3), weight))
    rows[4] = replace(rows[4], features=())
    rows[7] = replace(rows[7], features=((0, 1.0), (8, 1.0)))
    rows[15] = replace(rows[15], features=rows[3].features)
    return rows


@dataclass(frozen=True)
class Expected:
    """A row as it must come out: its features as (name, key) and value, label and weight."""

    names: tuple[str, ...]
    keys: tuple[int, ...]
    values: tuple[float, ...]
    y: Any
    weight: float


def row_of(row: Row, name: Callable[[int], str], key: Callable[[int], int], weighted: bool = True) -> Expected:
    """A row whose features all are columns."""
    columns = [column for column, _ in row.features]
    values = tuple(value for _, value in row.features)
    names, keys = tuple(map(name, columns)), tuple(map(key, columns))
    return Expected(names, keys, values, row.y, row.weight if weighted else 1.0)


def names_its_line(where: str, batch: Batch, row: int) -> bool:
    """Whether a message names the line of a row: files count from 1, data in memory counts rows from 0."""
    assert batch.line is not None
    line = batch.line[row]
    return re.search(rf"\bline {line}\b|\brow {line - 1}\b", where) is not None


@dataclass(frozen=True)
class Kind:
    """A kind of source. ``make(folder, rows)`` builds it; ``expect(rows)`` is what must come out, in order.

    ``order`` is "same" where rows come in the order of the data, "permuted" where they come in another, and
    "some" where some are left out. ``labelled`` is False where labels cannot be left out of the data.
    """

    make: Callable[[Path, list[Row]], Source]
    expect: Callable[[list[Row]], list[Expected]]
    order: str = "same"
    unlabelled: Callable[[Path, list[Row]], Source] | None = None
    shards: int = 1  # how many pieces shards(10) must give at least
    leads_back: Callable[[str, Batch, int], bool] = names_its_line  # whether `where` leads back to a row of a batch


KINDS: dict[str, Kind] = {}
