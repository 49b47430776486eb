"""One scan over arriving features: blocks of checked columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.sparse_columns import CSCColumns
from thresher.columns.types import Ids
from thresher.substitution.arriving.column_reader import ColumnReader, IndexedReader

CONSTANT = "is constant"
_NOT_FINITE = "has a missing or infinite number (in single precision)"


class BadColumn(Exception):
    """A column that cannot be used; the message says why."""


class Block(NamedTuple):
    """Features that arrive together: ``columns`` is features x rows in single precision, dense or sparse."""

    ids: Ids
    columns: NDArray[np.float32] | CSCColumns
    names: list[str] | None
    #: Features of the scan that have arrived up to and with this block, skipped ones included.
    reached: int

    @property
    def dense(self) -> NDArray[np.float32]:
        """The columns with their zeros."""
        return self.columns.toarray() if isinstance(self.columns, CSCColumns) else self.columns


@dataclass(frozen=True)
class Scan:
    """One pass over the features of a reader.

    Parameters
    ----------
    rows : int
        The length that every column must have.
    order : array, optional
        The positions of the features in the order in which they arrive.
    keep : array, optional
        Rows to use of every column.
    block : int
        Dense columns to hold at a time.
    sparse_block : int
        Sparse columns to hold at a time, in the same memory.
    on_bad_column : callable
        Called with the name of a column that cannot be used, and what is wrong with it.
    dropped : callable, optional
        Whether the feature of a name never arrives.
    """

    reader: ColumnReader
    rows: int
    order: NDArray[np.int64] | None
    keep: NDArray[np.int64] | None
    block: int
    sparse_block: int
    on_bad_column: Callable[[str, str], None]
    dropped: Callable[[str], bool] | None = None

    def blocks(self, start: int) -> Iterator[Block]:
        """The blocks from position ``start`` on."""
        if isinstance(self.reader, IndexedReader) and self.reader.sparse:
            return self._sparse_blocks(self.reader, start)
        return self._dense_blocks(start)

    def _dense_blocks(self, start: int) -> Iterator[Block]:
        held = np.empty((self.block, self.rows if self.keep is None else len(self.keep)), np.float32)
        ids: list[int] = []
        names: list[str] = []
        reached = start
        for number, name, column in self.reader.columns(start, self.order, self.block):
            reached += 1
            if self.dropped is not None and self.dropped(name or f"x{number}"):
                continue
            try:
                held[len(ids)] = _checked(column, self.rows, self.keep)
            except BadColumn as error:
                self.on_bad_column(name or f"x{number}", str(error))
                continue
            ids.append(number if name is None else _native.hash_bytes(name.encode()))
            names.append(name or "")
            if len(ids) == self.block:
                yield self._block(np.array(ids, np.uint64), held, names, reached)
                ids, names = [], []
                held = np.empty_like(held)
        if ids or reached > start:
            yield self._block(np.array(ids, np.uint64), held[: len(ids)], names, reached)

    def _sparse_blocks(self, reader: IndexedReader, start: int) -> Iterator[Block]:
        # Values take 8 bytes each and get half of the memory of a dense block; ids, names and counts get the rest.
        max_values = max(1, self.block * self.rows // 2)
        max_columns = min(self.sparse_block, max(self.block, self.block * self.rows // 32))
        while start < reader.size:
            stop = min(start + max_columns, reader.size)
            numbers = np.arange(start, stop) if self.order is None else self.order[start:stop]
            columns = reader.read_sparse(numbers, max_values)
            if 8 * len(columns.rows) > columns.n_columns * columns.n_rows:
                columns = columns.head(self.block)  # the solver makes columns this full dense
            numbers = numbers[: columns.n_columns]
            start += len(numbers)
            columns = (columns if self.keep is None else columns.take_rows(self.keep)).without_zeros()
            good = np.ones(len(numbers), bool)
            if self.dropped is not None:
                good = np.array([not self.dropped(_name(reader, number)) for number in numbers.tolist()], bool)
            for at, fault in _faults(columns).items():
                if good[at]:
                    self.on_bad_column(_name(reader, int(numbers[at])), fault)
                good[at] = False
            if not good.all():
                numbers, columns = numbers[good], columns.take_columns(good)
            names = [] if reader.names is None else [reader.names[number] for number in numbers.tolist()]
            hashed = [_native.hash_bytes(name.encode()) for name in names]
            yield self._block(np.array(hashed, np.uint64) if names else reader.keys(numbers), columns, names, start)

    def _block(self, ids: Ids, columns: NDArray[np.float32] | CSCColumns, names: list[str], reached: int) -> Block:
        return Block(ids, columns, names if self.reader.named else None, reached)


def _name(reader: IndexedReader, number: int) -> str:
    """The name of a feature, or the letter x and its key."""
    name = None if reader.names is None else reader.names[number]
    return name or f"x{reader.key(number)}"


def _checked(column: Any, rows: int, keep: NDArray[np.int64] | None) -> NDArray[np.float32]:
    """The rows to use of a column in single precision; BadColumn if it cannot be used."""
    try:
        with np.errstate(over="ignore"):
            values = np.asarray(column, dtype=np.float32)
    except (TypeError, ValueError):
        raise BadColumn("is no column of numbers") from None
    if values.ndim == 2 and 1 in values.shape:
        values = values.reshape(-1)
    if values.ndim != 1 or len(values) != rows:
        shape = len(values) if values.ndim == 1 else "x".join(map(str, values.shape))
        raise BadColumn(f"has {shape} rows, and the labels {rows}")
    if keep is not None:
        values = values[keep]
    if not np.isfinite(values).all():
        raise BadColumn(_NOT_FINITE)
    if len(values) and values.min() == values.max():
        raise BadColumn(CONSTANT)
    return values


def _faults(columns: CSCColumns) -> dict[int, str]:
    """What is wrong with each column that cannot be used, by position in rising order."""
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
