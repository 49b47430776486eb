"""The values of a column of a table, for the rules that look at its first rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.labels import is_missing, plain_label
from thresher.sources.tables.arrow_columns import binary_array, is_number, is_text, one_array, to_floats


@dataclass(frozen=True)
class Numbers:
    """A column of numbers, NaN where one is missing."""

    values: NDArray[np.float64]

    @property
    def present(self) -> NDArray[np.float64]:
        """The values that are not missing."""
        return self.values[~np.isnan(self.values)]

    @property
    def missing(self) -> int:
        """The number of rows without a value."""
        return int(np.isnan(self.values).sum())

    def distinct(self, rows: int | None = None) -> int:
        """The number of distinct values in the first rows, missing ones not counted."""
        found = np.unique(self.values[:rows])
        return len(found) - int(np.isnan(found).sum())

    def codes(self) -> tuple[NDArray[np.int64], list[Any]]:
        """The number of each row's value among the distinct values, -1 if it is missing; and these values."""
        found, where = np.unique(self.values, return_inverse=True)
        return np.where(np.isnan(self.values), -1, where), found[~np.isnan(found)].tolist()


@dataclass(frozen=True)
class Texts:
    """A column of texts: an Arrow array of bytes."""

    values: Any

    def count(self, text: bytes) -> int:
        """The number of rows with this value."""
        return int(self.values.to_pylist().count(text))  # pyarrow would load pandas to compare with a Python value

    @property
    def missing(self) -> int:
        """The number of rows without a value."""
        return int(self.values.null_count)

    def distinct(self, rows: int | None = None) -> int:
        """The number of distinct values in the first rows, missing ones not counted."""
        some = self.values.slice(0, rows)
        return len(some.unique()) - bool(some.null_count)

    def codes(self) -> tuple[NDArray[np.int64], list[Any]]:
        """The number of each row's value among the distinct values, -1 if it is missing; and these values."""
        coded = self.values.dictionary_encode()
        return np.nan_to_num(to_floats(coded.indices), nan=-1.0).astype(np.int64), _decoded(coded.dictionary)

    def first(self, rows: int) -> list[str]:
        """The values in the first rows, without missing ones."""
        return _decoded(self.values.slice(0, rows).drop_null())


def _decoded(texts: Any) -> list[str]:
    return [text.decode("utf-8", "replace") for text in texts.to_pylist()]


def column_values(column: Any) -> Numbers | Texts | None:
    """The values of an Arrow column; None for lists, times and other types, and if the column is damaged."""
    import pyarrow as pa
    import pyarrow.types as kinds

    kind = column.type.value_type if kinds.is_dictionary(column.type) else column.type
    if not is_text(kind) and (not is_number(kind) or kinds.is_decimal(kind)):
        return None
    try:
        column.validate(full=True)
    except pa.ArrowException:
        return None  # reading reports it
    values = one_array(column)
    return Texts(values.cast(pa.large_binary())) if is_text(kind) else Numbers(to_floats(values))


def label_values(y: NDArray[Any]) -> Numbers | Texts:
    """The values of labels in memory."""
    labels = [None if is_missing(label) else plain_label(label) for label in y.tolist()]
    if not any(isinstance(label, str) for label in labels):
        return Numbers(np.array([np.nan if label is None else label for label in labels], np.float64))
    return Texts(binary_array([None if label is None else str(label).encode() for label in labels]))
