"""Readers of columns: in a fixed order, or in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.sparse_columns import CSCColumns
from thresher.columns.types import Ids

#: A feature's key (its position unless it has another), its name if it has one, and its column.
NamedColumn = tuple[int, str | None, Any]


class ColumnReader(ABC):
    """Reads columns one after the other."""

    #: The number of columns and their length, if known.
    size: int | None = None
    rows: int | None = None
    #: Whether features are identified by name rather than by position.
    named = False
    rewindable = True
    labels: Any = None

    @abstractmethod
    def columns(self, start: int, order: NDArray[np.int64] | None, at_once: int) -> Iterator[NamedColumn]:
        """The columns from position ``start`` of the order on, of which at most ``at_once`` are in memory."""

    @abstractmethod
    def describe(self) -> str:
        """A short description for messages."""

    def identity(self) -> bytes:
        """What a resumed run must find unchanged: the description, the shape and the first columns."""
        digest = [repr((self.describe(), self.size, self.rows)).encode()]
        if self.rewindable:
            for number, name, column in islice(self.columns(0, None, 1), 8):
                digest.append(repr((number, name)).encode() + _content(column))
        return b"\0".join(digest)


def _content(column: Any) -> bytes:
    try:
        return np.asarray(column, np.float32).tobytes()
    except (TypeError, ValueError):  # not a column of numbers: the scan reports or skips it
        return b""


class IndexedReader(ColumnReader):
    """Reads columns in any order, several at a time."""

    size: int
    names: Sequence[str] | None = None
    #: The key of the first column, if columns of another stream precede it.
    first = 0
    #: Whether `read_sparse` gives the columns without their zeros.
    sparse = False

    @property
    def named(self) -> bool:  # type: ignore[override]
        return self.names is not None

    def columns(self, start: int, order: NDArray[np.int64] | None, at_once: int) -> Iterator[NamedColumn]:
        for at in range(start, self.size, at_once):
            stop = min(at + at_once, self.size)
            numbers = np.arange(at, stop) if order is None else order[at:stop]
            for number, column in zip(numbers.tolist(), self.read(numbers), strict=True):
                yield self.key(number), None if self.names is None else self.names[number], column

    def key(self, number: int) -> int:
        """The key of a feature without a name."""
        return int(self.keys(np.array([number]))[0])

    def keys(self, numbers: NDArray[np.int64]) -> Ids:
        """The keys of features without names."""
        return (self.first + numbers).astype(np.uint64)

    @abstractmethod
    def read(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        """These columns."""

    def read_sparse(self, numbers: NDArray[np.int64], max_values: int) -> CSCColumns:
        """The first of these columns: at least one, and no more than have ``max_values`` values together."""
        raise NotImplementedError


def adjacent(numbers: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """The numbers as a slice if they are consecutive: slicing a matrix is faster than gathering its columns."""
    if len(numbers) and (np.diff(numbers) == 1).all():
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers
