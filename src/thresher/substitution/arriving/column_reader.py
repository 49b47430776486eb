"""Columns that arrive in an order, and such that can be had in any."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.sparse_columns import CSCColumns
from thresher.columns.types import Ids

#: A feature's number (or key), its name where it has one, and its column.
Arrival = tuple[int, str | None, Any]


class Faulty(Exception):
    """A column that cannot be used; the message says why."""


class Arrivals(ABC):
    """Columns in an order."""

    #: How many, and how long, where that is known.
    size: int | None = None
    rows: int | None = None
    #: Whether names identify features, rather than positions.
    named = False
    rewindable = True
    labels: Any = None

    @abstractmethod
    def columns(self, start: int, order: NDArray[np.int64] | None, most: int) -> Iterator[Arrival]:
        """From number ``start`` of the order on; ``most`` columns may be held at a time."""

    @abstractmethod
    def describe(self) -> str:
        """For people."""

    def identity(self) -> bytes:
        """What must be the same for a run to go on: what it is, and its first columns."""
        digest = [repr((self.describe(), self.size, self.rows)).encode()]
        if self.rewindable:
            for number, name, column in islice(self.columns(0, None, 1), 8):
                digest.append(repr((number, name)).encode() + np.asarray(column, np.float32).tobytes())
        return b"\0".join(digest)


class Numbered(Arrivals):
    """Columns that can be had in any order, some at a time."""

    size: int
    names: Sequence[str] | None = None
    #: What the first one counts as, where there were others before.
    first = 0

    @property
    def named(self) -> bool:  # type: ignore[override]
        return self.names is not None

    def columns(self, start: int, order: NDArray[np.int64] | None, most: int) -> Iterator[Arrival]:
        for at in range(start, self.size, most):
            stop = min(at + most, self.size)
            numbers = np.arange(at, stop) if order is None else order[at:stop]
            for number, column in zip(numbers.tolist(), self.take(numbers), strict=True):
                yield self.key(number), None if self.names is None else self.names[number], column

    def key(self, number: int) -> int:
        """What a feature without a name is known by."""
        return int(self.keys(np.array([number]))[0])

    def keys(self, numbers: NDArray[np.int64]) -> Ids:
        """What features without names are known by."""
        return (self.first + numbers).astype(np.uint64)

    @abstractmethod
    def take(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        """These columns."""

    #: Whether columns stand by what is not zero in them, as `few_numbers` gives them.
    sparse = False

    def few_numbers(self, numbers: NDArray[np.int64], most: int) -> CSCColumns:
        """The first of these columns: as many as have no more than ``most`` numbers in all, but one at least."""
        raise NotImplementedError
