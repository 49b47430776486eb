"""Readers of columns in memory and of iterables, and the choice of the reader for any data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.sparse_columns import CSCColumns
from thresher.columns.types import Family, Ids
from thresher.errors import DataError, SettingsError
from thresher.sources.dataframes import arrow_table
from thresher.substitution.arriving.column_reader import ColumnReader, IndexedReader, NamedColumn, adjacent
from thresher.substitution.arriving.file_readers import ARROW_ENDINGS, FolderReader, TableReader, load_npy


class MatrixReader(IndexedReader):
    """Reads the columns of an array, which may be memory-mapped."""

    def __init__(self, matrix: NDArray[Any], names: Sequence[str] | None, kind: str = "array") -> None:
        if matrix.ndim != 2:
            raise DataError(f"a matrix of columns has two dimensions (rows x features), not {matrix.ndim}.")
        self.matrix = matrix
        self.rows, self.size = matrix.shape
        self.names = _checked_names(names, self.size)
        self.kind = kind

    def read(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        return np.asarray(self.matrix[:, adjacent(numbers)]).T

    def describe(self) -> str:
        return f"columns of an {self.kind} of {self.rows} x {self.size}"


class ScipyReader(IndexedReader):
    """Reads the columns of a SciPy sparse matrix."""

    def __init__(self, matrix: Any, names: Sequence[str] | None) -> None:
        self.matrix = matrix.tocsc()
        self.sparse = self.matrix.dtype.kind in "buif"
        self.rows, self.size = matrix.shape
        self.names = _checked_names(names, self.size)

    def read(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        return self.matrix[:, numbers].toarray().T  # type: ignore[no-any-return]

    def read_sparse(self, numbers: NDArray[np.int64], max_values: int) -> CSCColumns:
        ends = np.cumsum(np.diff(self.matrix.indptr)[numbers])
        numbers = numbers[: max(1, int(np.searchsorted(ends, max_values, side="right")))]
        part = self.matrix[:, adjacent(numbers)]
        if not part.has_canonical_format:
            part = part.copy()
            part.sum_duplicates()
        with np.errstate(over="ignore"):
            values = part.data.astype(np.float32)
        return CSCColumns(part.indptr.astype(np.int64), part.indices.astype(np.uint32), values, part.shape[0])

    def describe(self) -> str:
        return f"columns of a sparse matrix of {self.rows} x {self.size}"


class FamilyReader(IndexedReader):
    """Reads the columns of some features of a family, by their ids."""

    sparse = True

    def __init__(self, family: Family, ids: Ids, name: str = "a family") -> None:
        self.family = family
        self.ids = ids
        self.size = len(ids)
        self.rows = family.rows
        self.name = name

    def keys(self, numbers: NDArray[np.int64]) -> Ids:
        return self.ids[numbers]

    def read(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        found = self.family.columns(np.ascontiguousarray(self.ids[numbers]))
        for begin, end in zip(found.indptr[:-1], found.indptr[1:], strict=True):
            column = np.zeros(self.family.rows, np.float32)
            column[found.rows[begin:end]] = found.values[begin:end]
            yield column

    def read_sparse(self, numbers: NDArray[np.int64], max_values: int) -> CSCColumns:
        numbers = numbers[: max(1, max_values // max(1, self.family.rows))]
        found = self.family.columns(np.ascontiguousarray(self.ids[numbers]))
        return CSCColumns(found.indptr, found.rows, found.values, self.family.rows)

    def describe(self) -> str:
        return f"{self.size} features of {self.name}"


class StoreReader(FamilyReader):
    """Reads all columns of a column store, by rising key."""

    def __init__(self, store: _native.ColumnStore, pool: _native.ThreadPool, name: str) -> None:
        super().__init__(InMemoryColumns(store, pool, power=0.0), store.keys, name)
        self.store = store
        self.pool = pool

    def read_sparse(self, numbers: NDArray[np.int64], max_values: int) -> CSCColumns:
        indptr, rows, values, _ = self.store.take_some(np.ascontiguousarray(self.ids[numbers]), max_values, self.pool)
        return CSCColumns(indptr, rows, values, self.store.rows)


class IterableReader(ColumnReader):
    """Reads columns from an iterable; a callable that returns one is called again for every scan."""

    def __init__(self, data: Any, names: Sequence[str] | None) -> None:
        self._make: Callable[[], Iterable[Any]] = data if callable(data) else lambda: data
        self.names = names
        self.rewindable = callable(data) or iter(data) is not data
        self._first: Any = None
        if self.rewindable:
            self.named = names is not None or _is_named(next(iter(self._make()), None))
        else:
            self._iterator = iter(data)
            self._first = list(islice(self._iterator, 1))
            self.named = names is not None or bool(self._first and _is_named(self._first[0]))

    def columns(self, start: int, order: NDArray[np.int64] | None, at_once: int) -> Iterator[NamedColumn]:
        if order is not None:
            raise SettingsError("an iterable gives its columns in its own order: leave out `order`")
        items: Iterator[Any] = iter(self._make()) if self.rewindable else self._remaining()
        for number, item in enumerate(islice(items, start, None), start):
            if _is_named(item):
                yield number, str(item[0]), item[1]
            elif self.names is not None:
                if number >= len(self.names):
                    raise DataError(
                        f"column {number} (counted from 0) has no name: names has only {len(self.names)} entries."
                    )
                yield number, self.names[number], item
            elif self.named:
                raise DataError(f"column {number} (counted from 0) has no name, but the first column has one.")
            else:
                yield number, None, item

    def _remaining(self) -> Iterator[Any]:
        first, self._first = self._first or [], []
        yield from first
        yield from self._iterator

    def describe(self) -> str:
        return "columns that are given one by one"

    def identity(self) -> bytes:
        return super().identity() if self.rewindable else b"given once"


def open_columns(data: Any, names: Sequence[str] | None, target: str | None) -> ColumnReader:
    """The reader for data of any kind that `FeatureStream` accepts."""
    if isinstance(data, ColumnReader):
        return data
    table = arrow_table(data)
    is_path = isinstance(data, (str, os.PathLike))
    path = os.fspath(data) if is_path else ""
    is_table = table is not None or path.endswith((*ARROW_ENDINGS, ".ipc"))
    if target is not None and not is_table:
        raise SettingsError("target names a column of a table; pass y for other streams")
    if names is not None and (is_table or os.path.isdir(path)):
        raise SettingsError("these columns have names of their own: leave out names")
    if is_table:
        return TableReader(table if table is not None else path, target)
    if is_path:
        return _open_path(path, names)
    if hasattr(data, "tocsc"):
        return ScipyReader(data, names)
    if isinstance(data, np.ndarray):
        return MatrixReader(data, names)
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], Family):
        return FamilyReader(data[0], np.asarray(data[1], np.uint64))
    if callable(data) or isinstance(data, Iterable):
        return IterableReader(data, names)
    raise SettingsError(f"columns come from an array, a table, a path, an iterable or a callable, not {type(data)}")


def _open_path(path: str, names: Sequence[str] | None) -> ColumnReader:
    if os.path.isdir(path):
        return FolderReader(path)
    if not path.endswith(".npy"):
        raise SettingsError(f"{path}: columns come from a .npy, Parquet or Arrow file, or from a folder of columns")
    matrix = load_npy(path)
    if matrix.dtype.kind not in "biuf":
        raise DataError(f"{path}: an array of {matrix.dtype}, not of numbers. Write an array of floats.")
    return MatrixReader(matrix, names, kind=f"array in {path}")


def _is_named(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)


def _checked_names(names: Sequence[str] | None, size: int) -> Sequence[str] | None:
    if names is None:
        return None
    names = [str(name) for name in names]
    if len(names) != size or len(set(names)) != size:
        raise SettingsError(f"{len(set(names))} different names for {size} columns: each needs one of its own")
    return names
