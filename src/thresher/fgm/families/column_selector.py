"""The columns that a family is restricted to, by position or by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from thresher import _native
from thresher.core.feature_space import FeatureSpace
from thresher.display import quoted
from thresher.errors import DataError, SettingsError
from thresher.sources.base import Source

Column = int | str
#: The characters that end a namespace, or the column of a table, in a feature's name.
_SEPARATORS = "=^"


def normalize_columns(columns: Iterable[Column] | Column | None) -> tuple[Column, ...] | None:
    """Sort columns, given by position (in general: key) or by name, and drop duplicates; None means all columns."""
    if columns is None:
        return None
    items = [columns] if isinstance(columns, (int, str)) else list(columns)
    numbers = {int(one) for one in items if isinstance(one, (int, np.integer)) and not isinstance(one, bool)}
    names = {one for one in items if isinstance(one, str)}
    others = [one for one in items if isinstance(one, bool) or not isinstance(one, (int, np.integer, str))]
    if not items or others or min(numbers, default=0) < 0:
        raise SettingsError(f"columns must be positions or names, not {columns!r}")
    return (*sorted(numbers), *sorted(names))


def column_keys(columns: Sequence[Column] | None, space: FeatureSpace) -> tuple[int, ...] | None:
    """The keys of these columns in ``space``."""
    if columns is None:
        return None
    return tuple(sorted({key for column in columns for key in _keys(column, space)}))


def check_positions(columns: Sequence[Column] | None, size: int | None) -> None:
    """Raise if a position is not below ``size`` (None: unknown)."""
    highest = max((one for one in columns or () if isinstance(one, int)), default=-1)
    if size is not None and highest >= size:
        raise SettingsError(f"the family uses column {highest}, but the data has columns 0 to {size - 1}")


def names_in(columns: Sequence[Column] | None) -> tuple[str, ...]:
    """The columns that are given by name."""
    return tuple(one for one in columns or () if isinstance(one, str))


def check_names(names: Sequence[str], source: Source) -> None:
    """Raise if one of these names occurs in no row. Reads the data until all of them were found."""
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
        raise DataError(f"{source.describe()}: no row has the feature {quoted(min(missing))}, which the family uses.")


def keys_of_name(name: str, space: FeatureSpace) -> list[int]:
    """The keys that a feature of this name can have: a token's hash depends on where its namespace or column ends."""
    if space.kind == "token":
        text = name.encode("utf-8", "surrogateescape")
        ends = [i + 1 for i, letter in enumerate(text) if chr(letter) in _SEPARATORS]
        parts = [_native.hash_bytes(text[end:], _native.hash_bytes(text[:end], 0)) for end in ends]
        return [_native.hash_bytes(text, 0), *parts]
    digits = name.removeprefix("x") if space.kind == "column" else name
    if space.kind == "kmer" or not digits.isdecimal():
        why = "k-mers have no columns" if space.kind == "kmer" else "this data identifies columns by number"
        raise SettingsError(f"there is no column {quoted(name)}: {why}")
    return [int(digits)]


def _keys(column: Column, space: FeatureSpace) -> list[int]:
    return keys_of_name(column, space) if isinstance(column, str) else [column]
