"""Matrices in memory: NumPy arrays and SciPy sparse matrices."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.units import HASH_GRID, DenseColumns, Units
from thresher.errors import DataError
from thresher.sources.base import Source

#: The largest number of features per batch, so that a native call stays short at any width.
MAX_BATCH_FEATURES = 1 << 20
#: A shuffle buffer holds this many rows.
_FEW_ROWS = 4096


class LabelSets:
    """Several labels per row, from an indicator matrix: row i has label j if entry (i, j) is 1."""

    def __init__(self, matrix: Any) -> None:
        import scipy.sparse as sp

        self.matrix = sp.csr_matrix(matrix)
        self.matrix.eliminate_zeros()
        if not (self.matrix.data == 1).all():
            raise DataError("y should be a 1d array, or a matrix of 0 and 1 with one column per label.")
        self.columns = int(self.matrix.shape[1])

    @classmethod
    def of(cls, y: Any, n: int) -> LabelSets | None:
        """The label sets of ``n`` rows, or None if ``y`` is not a matrix of several columns."""
        if isinstance(y, cls):
            return y
        shape = np.shape(y)
        if y is None or len(shape) != 2 or (shape[1] < 2 and not hasattr(y, "tocsr")):
            return None
        if shape[0] != n:
            raise DataError(f"y has {shape[0]} entries for {n} rows: pass one entry per row.")
        return cls(y if hasattr(y, "tocsr") else np.asarray(y))

    def rows(self, which: slice | NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The concatenated labels of these rows, and the start of each row's labels."""
        part = self.matrix[which]
        return part.indices.astype(np.float64), part.indptr.astype(np.int64)


class RowLabels:
    """The labels and weights of ``n`` rows in memory, checked. Rows of weight 0 are dropped.

    Attributes
    ----------
    y : array or None
        One label per row.
    sets : LabelSets or None
        Several labels per row.
    weight : array or None
    order : array or None
        The rows to use, in this order; None: all.
    """

    def __init__(self, n: int, y: Any, weight: Any = None, order: NDArray[np.int64] | None = None) -> None:
        self.n = n
        self.sets = LabelSets.of(y, n)
        self.y: NDArray[Any] | None = _checked_column(None if self.sets is not None else y, n, "y")
        self.weight = None if weight is None else to_float32(_checked_column(weight, n, "sample_weight"))
        if self.weight is not None and not (np.isfinite(self.weight).all() and (self.weight >= 0).all()):
            raise DataError("sample_weight must be finite and not negative.")
        if order is None and self.weight is not None and not self.weight.all():
            order = np.flatnonzero(self.weight)
            if not len(order):
                raise DataError("`sample_weight` is zero for every row: there is nothing to learn from.")
        self.order = order

    def batch(self) -> Batch:
        """The labels and weights of the rows to use, without features."""
        rows = slice(None) if self.order is None else self.order
        y, y_indptr = (None if self.y is None else self.y[rows], None) if self.sets is None else self.sets.rows(rows)
        weight = None if self.weight is None else self.weight[rows]
        line = np.arange(1, self.n + 1)[rows]
        return Batch(np.zeros(len(line) + 1, np.int64), np.empty(0, np.uint64), None, y, y_indptr, weight, line=line)


class InMemory(Source):
    """A source with all rows in memory, readable in any order.

    A subclass implements `_rows`, which returns a batch of the features of some rows.
    """

    def __init__(self, n: int, y: Any = None, weight: Any = None, order: NDArray[np.int64] | None = None) -> None:
        self.labelled = labelled = RowLabels(n, y, weight, order)
        self._labels = labelled.sets
        self.multilabel = self._labels is not None
        self.label_columns = None if self._labels is None else self._labels.columns
        self.y, self.weight, self.order = labelled.y, labelled.weight, labelled.order
        self.n = n
        self.total_rows = n if self.order is None else len(self.order)

    @abstractmethod
    def _rows(self, rows: slice | NDArray[np.int64], want_names: bool) -> Batch:
        """The features of these rows."""

    @abstractmethod
    def _with_order(self, order: NDArray[np.int64]) -> Source:
        """The same data, restricted to these rows in this order."""

    @abstractmethod
    def _content(self) -> Iterator[Any]:
        """The arrays that the fingerprint hashes."""

    @abstractmethod
    def _max_batch_rows(self) -> int:
        """The number of rows that keeps a batch within `MAX_BATCH_FEATURES`."""

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        if want_labels and self.y is None and self._labels is None:
            raise DataError("the data has no labels: pass y.")
        total = self.n if self.order is None else len(self.order)
        step = max(1, min(rows, self._max_batch_rows()))
        for at in range(start.row, total, step):
            stop = min(at + step, total)
            which = slice(at, stop) if self.order is None else self.order[at:stop]
            batch = self._rows(which, want_names)
            y, y_indptr = None if self.y is None else self.y[which], None
            if self._labels is not None:
                y, y_indptr = self._labels.rows(which)
            weight = None if self.weight is None else self.weight[which]
            line = np.arange(at, stop) if self.order is None else self.order[at:stop]
            batch = replace(batch, y=y, y_indptr=y_indptr, weight=weight, line=line + 1)
            yield (batch if only is None else batch.keep(only)), Cursor(row=stop)

    @property
    def targets(self) -> Any:
        """The targets, for another source of the same rows."""
        return self.y if self._labels is None else self._labels

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        return row_in_memory(batch, row)

    def shards(self, n: int) -> list[Source]:
        super().shards(n)
        order = np.arange(self.n) if self.order is None else self.order
        return [self._with_order(piece) for piece in np.array_split(order, max(1, min(n, len(order))))]

    mixes = True

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        order = np.arange(self.n) if self.order is None else self.order
        return self._with_order(np.random.default_rng(seed).permutation(order))

    def permuted(self, seed: int) -> Source:
        """All rows permuted, unless they are so few that a shuffle buffer holds them all."""
        few = self.n <= min(_FEW_ROWS, self._max_batch_rows() // 4)
        return self if few else self.shuffled(seed, rows=0, features=0)

    @property
    def most_parts(self) -> int:
        return len(self.order) if self.order is not None else self.n

    def nth_part(self, part: int, parts: int) -> Source:
        order = np.arange(self.n) if self.order is None else self.order
        return self._with_order(order[part::parts])

    def fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        digest.update(f"{type(self).__name__}:{self.space}:{self.n}".encode())
        labels = () if self._labels is None else (self._labels.matrix.indptr, self._labels.matrix.indices)
        for content in (*self._content(), self.y, *labels, self.weight, self.order):
            if content is not None:
                array = np.asarray(content)
                digest.update(f"{array.dtype}{array.shape}".encode())
                written = repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).data
                digest.update(written)
        return digest.hexdigest()


class DenseSource(InMemory):
    """A dense matrix; zeros are dropped. With ``units``, its columns are standardised, in double precision."""

    def __init__(
        self, x: NDArray[Any], y: Any = None, weight: Any = None, order: Any = None, units: Units | None = None
    ) -> None:
        _check_matrix(x)
        super().__init__(x.shape[0], y, weight, order)
        self.x = x
        self.space = FeatureSpace("column", x.shape[1])
        self.units = units
        self.hash_grid = 0.0 if units is None else HASH_GRID

    @property
    def dense_columns(self) -> DenseColumns | None:
        return DenseColumns(np.arange(self.x.shape[1], dtype=np.uint64)) if self.x.shape[1] else None

    def in_units(self, units: Units) -> Source:
        """The same rows with their columns in these units."""
        return DenseSource(self.x, self.targets, self.weight, self.order, units)

    def matrix_rows(self, step: int) -> Iterator[NDArray[np.float64]]:
        """Copies of the rows in their order, ``step`` at a time, checked."""
        for at in range(0, self.total_rows or 0, step):
            stop = min(at + step, self.total_rows or 0)
            rows = slice(at, stop) if self.order is None else self.order[at:stop]
            block = np.array(self._matrix(rows), np.float64)
            if not np.isfinite(to_float32(block)).all():
                self._rows(rows, want_names=False)  # raises an error that says where
            yield block

    def matrix_at(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """A copy of some rows, by their number."""
        return np.array(self._matrix(rows), np.float64)

    def _with_order(self, order: NDArray[np.int64]) -> Source:
        return DenseSource(self.x, self.targets, self.weight, order, self.units)

    def _max_batch_rows(self) -> int:
        return MAX_BATCH_FEATURES // max(1, int(self.x.shape[1]))

    def _matrix(self, rows: slice | NDArray[np.int64]) -> NDArray[Any]:
        """Some rows of the matrix, in single or double precision."""
        block = self.x[rows]
        dtype = np.float32 if block.dtype in (np.float16, np.float32) else np.float64
        try:
            return np.ascontiguousarray(block, dtype=dtype)
        except (TypeError, ValueError) as error:
            raise DataError(f"the matrix has an entry that is not a number: {error}.") from None

    def _rows(self, rows: slice | NDArray[np.int64], want_names: bool) -> Batch:
        dense = self._matrix(rows)
        if self.units is not None and np.isfinite(to_float32(dense)).all():
            dense = self.units.apply(np.array(dense, np.float64))
        indptr, keys, values, bad_row, bad_column = _native.dense_rows(dense)
        if bad_row >= 0:
            raise _not_finite(dense[bad_row, bad_column], rows, bad_row, self._column(bad_column))
        return Batch(indptr, keys, values)

    def _column(self, at: int) -> int:
        """The position in the array of a column of `_matrix`."""
        return at

    def _content(self) -> Iterator[Any]:
        yield self.x

    def describe(self) -> str:
        return f"array of {self.x.shape[0]} x {self.x.shape[1]}"


class MaskedSource(DenseSource):
    """A dense matrix without some of its columns; the others keep their positions."""

    def __init__(self, x: NDArray[Any], *rest: Any, masked: NDArray[np.uint64]) -> None:
        super().__init__(x, *rest)
        self.masked = masked
        self._left = np.setdiff1d(np.arange(x.shape[1], dtype=np.uint64), masked)

    @property
    def dense_columns(self) -> DenseColumns | None:
        return DenseColumns(self._left) if len(self._left) else None

    def in_units(self, units: Units) -> Source:
        return MaskedSource(self.x, self.targets, self.weight, self.order, units, masked=self.masked)

    def _with_order(self, order: NDArray[np.int64]) -> Source:
        return MaskedSource(self.x, self.targets, self.weight, order, self.units, masked=self.masked)

    def _matrix(self, rows: slice | NDArray[np.int64]) -> NDArray[Any]:
        return np.take(super()._matrix(rows), self._left, axis=1)

    def _rows(self, rows: slice | NDArray[np.int64], want_names: bool) -> Batch:
        batch = super()._rows(rows, want_names)
        return replace(batch, keys=self._left[batch.keys])

    def _column(self, at: int) -> int:
        return int(self._left[at])

    def _content(self) -> Iterator[Any]:
        yield from super()._content()
        yield self.masked


class SparseSource(InMemory):
    """A SciPy sparse matrix, converted to CSR."""

    def __init__(self, x: Any, y: Any = None, weight: Any = None, order: Any = None) -> None:
        _check_matrix(x)
        super().__init__(x.shape[0], y, weight, order)
        self.x = x.tocsr()
        self.space = FeatureSpace("column", x.shape[1])

    def _with_order(self, order: NDArray[np.int64]) -> Source:
        return SparseSource(self.x, self.targets, self.weight, order)

    def _max_batch_rows(self) -> int:
        return max(1, MAX_BATCH_FEATURES * self.n // max(1, int(self.x.nnz)))

    def _rows(self, rows: slice | NDArray[np.int64], want_names: bool) -> Batch:
        # A slice of CSR rows is a view; rows in another order are copied.
        first, last = (rows.start, rows.stop) if isinstance(rows, slice) else (0, 0)
        if isinstance(rows, slice):
            begin, end = self.x.indptr[first], self.x.indptr[last]
            indptr = (self.x.indptr[first : last + 1] - begin).astype(np.int64)
            keys, values = self.x.indices[begin:end].astype(np.uint64), self.x.data[begin:end]
        else:
            some = self.x[rows]
            indptr, keys, values = some.indptr.astype(np.int64), some.indices.astype(np.uint64), some.data
        narrow = to_float32(values)
        if not np.isfinite(narrow).all():
            at = int(np.flatnonzero(~np.isfinite(narrow))[0])
            bad_row = int(np.searchsorted(indptr, at, side="right")) - 1
            raise _not_finite(values[at], rows, bad_row, int(keys[at]))
        return Batch(indptr, keys, narrow)

    def _content(self) -> Iterator[Any]:
        yield from (self.x.indptr, self.x.indices, self.x.data)

    def describe(self) -> str:
        return f"sparse matrix of {self.x.shape[0]} x {self.x.shape[1]}"


def _check_matrix(x: Any) -> None:
    """Raise unless ``x`` is a 2d array of real numbers."""
    if x.ndim != 2:
        raise DataError(
            f"expected a 2d array of rows and columns, got {x.ndim} dimension(s). "
            "Reshape your data; a single column is x.reshape(-1, 1)."
        )
    if x.dtype.kind == "c":
        raise DataError("Complex data not supported: pass real and imaginary parts as columns.")


def row_in_memory(batch: Batch, row: int) -> str:
    """A row of a batch, as messages call it."""
    return "some row" if batch.line is None else f"row {batch.line[row] - 1} (counted from 0)"


def to_float32(values: NDArray[Any]) -> NDArray[np.float32]:
    """Convert to single precision; values that are too large become infinite, for the caller to reject."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _not_finite(value: Any, rows: slice | NDArray[np.int64], row: int, column: int) -> DataError:
    number = rows.start + row if isinstance(rows, slice) else rows[row]
    kind = "NaN" if np.isnan(value) else "infinity or a value too large for dtype('float32')"
    return DataError(
        f"Input X contains {kind}: row {number}, column {column} (counted from 0). Drop or fill such values; "
        "in a DataFrame missing values are ignored."
    )


def _checked_column(column: Any, n: int, name: str) -> NDArray[Any]:
    """Check a column of one entry per row; return it as floats or as objects (strings)."""
    if column is None:
        return None  # type: ignore[return-value]
    array = np.asarray(column)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        raise DataError(f"{name} should be a 1d array, got an array of shape {array.shape} instead.")
    if len(array) != n:
        raise DataError(f"{name} has {len(array)} entries for {n} rows: pass one entry per row.")
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    return array.astype(object)
