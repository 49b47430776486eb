"""One scan over features that arrive: blocks of columns, each of them checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.sparse_columns import CSCColumns
from thresher.columns.types import Ids
from thresher.substitution.arriving.column_reader import Arrivals, Faulty, Numbered

CONSTANT = "is constant"
_NOT_FINITE = "has a missing or infinite number (in single precision)"


class Block(NamedTuple):
    """Features that have arrived: ``columns`` is features x rows, in single precision, or what is not zero of it."""

    ids: Ids
    columns: NDArray[np.float32] | CSCColumns
    names: list[str] | None
    #: How many features of the scan have arrived with it, those skipped included.
    reached: int

    @property
    def whole(self) -> NDArray[np.float32]:
        """Its columns with all their numbers."""
        return self.columns.toarray() if isinstance(self.columns, CSCColumns) else self.columns


@dataclass(frozen=True)
class Scan:
    """Features in an order.

    Parameters
    ----------
    rows : int
        How long columns must be.
    order : array, optional
        The numbers of the features in the order they are to come.
    keep : array, optional
        Rows to take of every column.
    block, wide : int
        Whole columns to hold at a time; and how many at most of columns with few numbers, in the same room.
    faulty : callable
        Told of a column that cannot be used: its name, and what is wrong.
    """

    arrivals: Arrivals
    rows: int
    order: NDArray[np.int64] | None
    keep: NDArray[np.int64] | None
    block: int
    wide: int
    faulty: Callable[[str, str], None]

    def blocks(self, start: int) -> Iterator[Block]:
        """From number ``start`` on."""
        if isinstance(self.arrivals, Numbered) and self.arrivals.sparse:
            return self._by_numbers(self.arrivals, start)
        return self._whole(start)

    def _whole(self, start: int) -> Iterator[Block]:
        held = np.empty((self.block, self.rows if self.keep is None else len(self.keep)), np.float32)
        ids: list[int] = []
        names: list[str] = []
        reached = start
        for number, name, column in self.arrivals.columns(start, self.order, self.block):
            reached += 1
            try:
                held[len(ids)] = _checked(column, self.rows, self.keep)
            except Faulty as fault:
                self.faulty(name or f"x{number}", str(fault))
                continue
            ids.append(number if name is None else _native.hash_bytes(name.encode()))
            names.append(name or "")
            if len(ids) == self.block:
                yield self._block(np.array(ids, np.uint64), held, names, reached)
                ids, names = [], []
                held = np.empty_like(held)
        if ids or reached > start:
            yield self._block(np.array(ids, np.uint64), held[: len(ids)], names, reached)

    def _by_numbers(self, arrivals: Numbered, start: int) -> Iterator[Block]:
        """Half of the room is for numbers, eight bytes each, the rest for what there is to say of columns."""
        most = max(1, self.block * self.rows // 2)
        wide = min(self.wide, max(self.block, self.block * self.rows // 32))
        while start < arrivals.size:
            stop = min(start + wide, arrivals.size)
            numbers = np.arange(start, stop) if self.order is None else self.order[start:stop]
            columns = arrivals.few_numbers(numbers, most)
            if 8 * len(columns.rows) > columns.n_columns * columns.n_rows:
                columns = columns.head(self.block)  # so many that they are made whole
            numbers = numbers[: columns.n_columns]
            start += len(numbers)
            columns = (columns if self.keep is None else columns.take_rows(self.keep)).without_zeros()
            good = np.ones(len(numbers), bool)
            for at, fault in _faults(columns).items():
                good[at] = False
                name = None if arrivals.names is None else arrivals.names[int(numbers[at])]
                self.faulty(name or f"x{arrivals.key(int(numbers[at]))}", fault)
            if not good.all():
                numbers, columns = numbers[good], columns.take_columns(good)
            names = [] if arrivals.names is None else [arrivals.names[number] for number in numbers.tolist()]
            hashed = [_native.hash_bytes(name.encode()) for name in names]
            yield self._block(np.array(hashed, np.uint64) if names else arrivals.keys(numbers), columns, names, start)

    def _block(self, ids: Ids, columns: NDArray[np.float32] | CSCColumns, names: list[str], reached: int) -> Block:
        return Block(ids, columns, names if self.arrivals.named else None, reached)


def _checked(column: Any, rows: int, keep: NDArray[np.int64] | None) -> NDArray[np.float32]:
    """A column as it is used, or what is wrong with it."""
    try:
        with np.errstate(over="ignore"):
            values = np.asarray(column, dtype=np.float32)
    except (TypeError, ValueError):
        raise Faulty("is no column of numbers") from None
    if values.ndim == 2 and 1 in values.shape:
        values = values.reshape(-1)
    if values.ndim != 1 or len(values) != rows:
        shape = len(values) if values.ndim == 1 else "x".join(map(str, values.shape))
        raise Faulty(f"has {shape} rows, and the labels {rows}")
    if keep is not None:
        values = values[keep]
    if not np.isfinite(values).all():
        raise Faulty(_NOT_FINITE)
    if len(values) and values.min() == values.max():
        raise Faulty(CONSTANT)
    return values


def _faults(columns: CSCColumns) -> dict[int, str]:
    """What is wrong with each column that cannot be used, in their order."""
    counts = np.diff(columns.indptr)
    faults = dict.fromkeys(np.flatnonzero(counts == 0).tolist(), CONSTANT)
    for full in np.flatnonzero(counts == columns.n_rows).tolist():
        values = columns.values[columns.indptr[full] : columns.indptr[full + 1]]
        if columns.n_rows and values.min() == values.max():
            faults[full] = CONSTANT
    bad = np.flatnonzero(~np.isfinite(columns.values))
    if len(bad):
        faults |= dict.fromkeys((np.searchsorted(columns.indptr, bad, side="right") - 1).tolist(), _NOT_FINITE)
    return dict(sorted(faults.items()))
