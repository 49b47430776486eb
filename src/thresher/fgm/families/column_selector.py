"""Columns that a family is of, chosen by position or by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from thresher import _native
from thresher.core.feature_space import FeatureSpace
from thresher.errors import DataError, SettingsError
from thresher.sources.base import Source

Column = int | str
#: What stands between a namespace, or a column of a table, and what is in it.
_BETWEEN = "=^"


def chosen_columns(columns: Iterable[Column] | Column | None) -> tuple[Column, ...] | None:
    """Columns by position (keys, in general) or by name, each once; None for all."""
    if columns is None:
        return None
    given = [columns] if isinstance(columns, (int, str)) else list(columns)
    numbers = {int(one) for one in given if isinstance(one, (int, np.integer)) and not isinstance(one, bool)}
    names = {one for one in given if isinstance(one, str)}
    others = [one for one in given if isinstance(one, bool) or not isinstance(one, (int, np.integer, str))]
    if not given or others or min(numbers, default=0) < 0:
        raise SettingsError(f"columns are given by position, or by name, unlike {columns!r}")
    return (*sorted(numbers), *sorted(names))


def keys_of(columns: Sequence[Column] | None, space: FeatureSpace) -> tuple[int, ...] | None:
    """The keys of chosen columns in data of these features."""
    if columns is None:
        return None
    return tuple(sorted({key for column in columns for key in _keys(column, space)}))


def check_positions(columns: Sequence[Column] | None, size: int | None, what: str) -> None:
    """Raise where a position is not among the columns."""
    highest = max((one for one in columns or () if isinstance(one, int)), default=-1)
    if size is not None and highest >= size:
        raise SettingsError(f"{what} of column {highest}, and columns go from 0 to {size - 1}")


def names_in(columns: Sequence[Column] | None) -> tuple[str, ...]:
    """Those that are given by name."""
    return tuple(one for one in columns or () if isinstance(one, str))


def check_names(names: Sequence[str], source: Source) -> None:
    """Raise where a column that is given by name occurs nowhere; the data is read up to the last that is missing."""
    if source.space.kind != "token" or not source.rewindable:
        return
    owner = {key: name for name in names for key in keys_of_name(name, source.space)}
    missing = set(names)
    if missing:
        for batch, _ in source.batches(keys=np.array(list(owner), np.uint64), want_labels=False):
            missing -= {owner[key] for key in np.unique(batch.keys).tolist()}
            if not missing:
                return
    if missing:
        raise DataError(f"{source.describe()}: no row has a feature {min(missing)!r}, which the family is to be of.")


def keys_of_name(name: str, space: FeatureSpace) -> list[int]:
    """What keys a feature of this name may have: a token's depends on where its namespace, or column, ends."""
    if space.kind == "token":
        text = name.encode("utf-8", "surrogateescape")
        ends = [i + 1 for i, letter in enumerate(text) if chr(letter) in _BETWEEN]
        parts = [_native.hash_bytes(text[end:], _native.hash_bytes(text[:end], 0)) for end in ends]
        return [_native.hash_bytes(text, 0), *parts]
    digits = name.removeprefix("x") if space.kind == "column" else name
    if space.kind == "kmer" or not digits.isdecimal():
        known = "k-mers have no columns" if space.kind == "kmer" else "columns of this data are known by their numbers"
        raise SettingsError(f"there is no column {name!r}: {known}")
    return [int(digits)]


def _keys(column: Column, space: FeatureSpace) -> list[int]:
    return keys_of_name(column, space) if isinstance(column, str) else [column]
