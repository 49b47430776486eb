"""Matrices in memory: ndarray and SciPy sparse."""

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
from thresher.errors import DataError
from thresher.sources.base import Source

#: Features a batch at most, so that one native call stays short whatever the width.
_MOST_FEATURES = 1 << 20


class LabelSets:
    """Any number of labels a row: the columns of an indicator matrix that are 1 (or otherwise not 0)."""

    def __init__(self, matrix: Any) -> None:
        import scipy.sparse as sp

        self.matrix = sp.csr_matrix(matrix)
        self.matrix.eliminate_zeros()
        if not (self.matrix.data == 1).all():
            raise DataError("y should be a 1d array, or a matrix of 0 and 1 with a column for each label.")
        self.columns = int(self.matrix.shape[1])

    @classmethod
    def of(cls, y: Any, n: int) -> LabelSets | None:
        """The labels of ``n`` rows, if this is a matrix of several columns."""
        if isinstance(y, cls):
            return y
        shape = np.shape(y)
        if y is None or len(shape) != 2 or (shape[1] < 2 and not hasattr(y, "tocsr")):
            return None
        if shape[0] != n:
            raise DataError(f"y has {shape[0]} entries for {n} rows: they must be as many.")
        return cls(y if hasattr(y, "tocsr") else np.asarray(y))

    def rows(self, which: slice | NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The labels of these rows, end to end, and where each row's begin."""
        part = self.matrix[which]
        return part.indices.astype(np.float64), part.indptr.astype(np.int64)


class RowLabels:
    """The labels and weights of ``n`` rows in memory, checked. Rows of weight 0 are left out.

    Attributes
    ----------
    y : array or None
        One label a row.
    sets : LabelSets or None
        Several labels a row.
    weight : array or None
    order : array or None
        The rows to use, in this order; None: all.
    """

    def __init__(self, n: int, y: Any, weight: Any = None, order: NDArray[np.int64] | None = None) -> None:
        self.n = n
        self.sets = LabelSets.of(y, n)
        self.y: NDArray[Any] | None = _checked_column(None if self.sets is not None else y, n, "y")
        self.weight = None if weight is None else narrowed(_checked_column(weight, n, "sample_weight"))
        if self.weight is not None and not (np.isfinite(self.weight).all() and (self.weight >= 0).all()):
            raise DataError("sample_weight must be finite and not negative.")
        if order is None and self.weight is not None and not self.weight.all():
            order = np.flatnonzero(self.weight)
            if not len(order):
                raise DataError("sample_weight is zero for every row: there is nothing to learn from.")
        self.order = order

    def batch(self) -> Batch:
        """The labels and weights of the rows to use, without features."""
        rows = slice(None) if self.order is None else self.order
        y, y_indptr = (None if self.y is None else self.y[rows], None) if self.sets is None else self.sets.rows(rows)
        weight = None if self.weight is None else self.weight[rows]
        line = np.arange(1, self.n + 1)[rows]
        return Batch(np.zeros(len(line) + 1, np.int64), np.empty(0, np.uint64), None, y, y_indptr, weight, line=line)


class InMemory(Source):
    """Rows that are all at hand: any order, any slice, no reading.

    A subclass gives `_rows(numbers)`: the batch of these rows, features only.
    """

    def __init__(self, n: int, y: Any = None, weight: Any = None, order: NDArray[np.int64] | None = None) -> None:
        #: The labels and weights.
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
        """The same data, of which only these rows are read, in this order."""

    @abstractmethod
    def _content(self) -> Iterator[Any]:
        """What a fingerprint is taken over: objects with a buffer."""

    @abstractmethod
    def _rows_at_once(self) -> int:
        """How many rows keep a batch within bounds."""

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        if want_labels and self.y is None and self._labels is None:
            raise DataError("the data has no labels: pass y.")
        total = self.n if self.order is None else len(self.order)
        step = max(1, min(rows, self._rows_at_once()))
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
        """The targets as they may be given to another source of the same rows."""
        return self.y if self._labels is None else self._labels

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        return row_in_memory(batch, row)

    def shards(self, n: int) -> list[Source]:
        super().shards(n)
        order = np.arange(self.n) if self.order is None else self.order
        return [self._with_order(piece) for piece in np.array_split(order, max(1, min(n, len(order))))]

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        order = np.arange(self.n) if self.order is None else self.order
        return self._with_order(np.random.default_rng(seed).permutation(order))

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
    """A dense matrix; zeros are left out."""

    def __init__(self, x: NDArray[Any], y: Any = None, weight: Any = None, order: Any = None) -> None:
        _check_matrix(x)
        super().__init__(x.shape[0], y, weight, order)
        self.x = x
        self.space = FeatureSpace("column", x.shape[1])

    def _with_order(self, order: NDArray[np.int64]) -> Source:
        return DenseSource(self.x, self.targets, self.weight, order)

    def _rows_at_once(self) -> int:
        return _MOST_FEATURES // max(1, int(self.x.shape[1]))

    def _rows(self, rows: slice | NDArray[np.int64], want_names: bool) -> Batch:
        block = self.x[rows]
        dtype = np.float32 if block.dtype in (np.float16, np.float32) else np.float64
        try:
            dense = np.ascontiguousarray(block, dtype=dtype)
        except (TypeError, ValueError) as error:
            raise DataError(f"the matrix holds something that is not a number: {error}.") from None
        indptr, keys, values, bad_row, bad_column = _native.dense_rows(dense)
        if bad_row >= 0:
            raise _not_finite(dense[bad_row, bad_column], rows, bad_row, bad_column)
        return Batch(indptr, keys, values)

    def _content(self) -> Iterator[Any]:
        yield self.x

    def describe(self) -> str:
        return f"array of {self.x.shape[0]} x {self.x.shape[1]}"


class SparseSource(InMemory):
    """A SciPy matrix, in compressed rows from here on."""

    def __init__(self, x: Any, y: Any = None, weight: Any = None, order: Any = None) -> None:
        _check_matrix(x)
        super().__init__(x.shape[0], y, weight, order)
        self.x = x.tocsr()
        self.space = FeatureSpace("column", x.shape[1])

    def _with_order(self, order: NDArray[np.int64]) -> Source:
        return SparseSource(self.x, self.targets, self.weight, order)

    def _rows_at_once(self) -> int:
        return max(1, _MOST_FEATURES * self.n // max(1, int(self.x.nnz)))

    def _rows(self, rows: slice | NDArray[np.int64], want_names: bool) -> Batch:
        # A slice of compressed rows is a view; rows in another order are gathered.
        first, last = (rows.start, rows.stop) if isinstance(rows, slice) else (0, 0)
        if isinstance(rows, slice):
            begin, end = self.x.indptr[first], self.x.indptr[last]
            indptr = (self.x.indptr[first : last + 1] - begin).astype(np.int64)
            keys, values = self.x.indices[begin:end].astype(np.uint64), self.x.data[begin:end]
        else:
            taken = self.x[rows]
            indptr, keys, values = taken.indptr.astype(np.int64), taken.indices.astype(np.uint64), taken.data
        narrow = narrowed(values)
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
    """Raise unless this has rows and columns of real numbers."""
    if x.ndim != 2:
        raise DataError(
            f"a matrix of rows and columns is needed, not {x.ndim} dimension(s). "
            "Reshape your data, for one column with x.reshape(-1, 1)."
        )
    if x.dtype.kind == "c":
        raise DataError("Complex data not supported: pass real and imaginary parts as columns.")


def row_in_memory(batch: Batch, row: int) -> str:
    """A row of a batch, as messages call it."""
    return "some row" if batch.line is None else f"row {batch.line[row] - 1} (counted from 0)"


def narrowed(values: NDArray[Any]) -> NDArray[np.float32]:
    """As single precision; what is too large becomes infinite, for the caller to refuse."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _not_finite(value: Any, rows: slice | NDArray[np.int64], row: int, column: int) -> DataError:
    number = rows.start + row if isinstance(rows, slice) else rows[row]
    kind = "NaN" if np.isnan(value) else "infinity or a value too large for dtype('float32')"
    return DataError(
        f"Input X contains {kind}: row {number}, column {column} (counted from 0). Drop or fill such values; "
        "in a DataFrame missing values are passed over."
    )


def _checked_column(column: Any, n: int, name: str) -> NDArray[Any]:
    """A column of one entry a row, as numbers or as objects (strings); None stays None."""
    if column is None:
        return None  # type: ignore[return-value]
    array = np.asarray(column)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        raise DataError(f"{name} should be a 1d array, got an array of shape {array.shape} instead.")
    if len(array) != n:
        raise DataError(f"{name} has {len(array)} entries for {n} rows: they must be as many.")
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    return array.astype(object)
