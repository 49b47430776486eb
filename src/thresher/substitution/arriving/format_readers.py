"""Where arriving columns come from: one small class for each kind of thing that has columns."""

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
from thresher.errors import DataError, SettingsError, UnreadableError
from thresher.sources.dataframes import arrow_table
from thresher.substitution.arriving.column_reader import Arrival, Arrivals, Numbered
from thresher.substitution.arriving.file_readers import FolderColumns, TableColumns

_TABLES = (".parquet", ".pq", ".arrow", ".feather", ".ipc")


class MatrixColumns(Numbered):
    """An array, perhaps mapped from a file."""

    def __init__(self, matrix: NDArray[Any], names: Sequence[str] | None, of: str = "array") -> None:
        if matrix.ndim != 2:
            raise DataError(f"a matrix of columns has two dimensions, not {matrix.ndim}: rows x features.")
        self.matrix = matrix
        self.rows, self.size = matrix.shape
        self.names = _checked_names(names, self.size)
        self.of = of

    def take(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        side = len(numbers) and numbers[-1] - numbers[0] == len(numbers) - 1 and (np.diff(numbers) == 1).all()
        part = self.matrix[:, numbers[0] : numbers[-1] + 1] if side else self.matrix[:, numbers]
        return np.asarray(part).T

    def describe(self) -> str:
        return f"columns of an {self.of} of {self.rows} x {self.size}"


class SparseColumns(Numbered):
    """A SciPy matrix, by columns."""

    def __init__(self, matrix: Any, names: Sequence[str] | None) -> None:
        self.matrix = matrix.tocsc()
        self.sparse = self.matrix.dtype.kind in "buif"
        self.rows, self.size = matrix.shape
        self.names = _checked_names(names, self.size)

    def take(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        return self.matrix[:, numbers].toarray().T  # type: ignore[no-any-return]

    def few_numbers(self, numbers: NDArray[np.int64], most: int) -> CSCColumns:
        ends = np.cumsum(np.diff(self.matrix.indptr)[numbers])
        numbers = numbers[: max(1, int(np.searchsorted(ends, most, side="right")))]
        side = bool((np.diff(numbers) == 1).all())
        part = self.matrix[:, int(numbers[0]) : int(numbers[-1]) + 1] if side else self.matrix[:, numbers]
        if not part.has_canonical_format:
            part = part.copy()
            part.sum_duplicates()
        with np.errstate(over="ignore"):
            values = part.data.astype(np.float32)
        return CSCColumns(part.indptr.astype(np.int64), part.indices.astype(np.uint32), values, part.shape[0])

    def describe(self) -> str:
        return f"columns of a sparse matrix of {self.rows} x {self.size}"


class FamilyColumns(Numbered):
    """Chosen features of a family, by their ids."""

    sparse = True

    def __init__(self, family: Family, ids: Ids, of: str = "a family") -> None:
        self.family = family
        self.ids = ids
        self.size = len(ids)
        self.rows = family.rows
        self.of = of

    def keys(self, numbers: NDArray[np.int64]) -> Ids:
        return self.ids[numbers]

    def take(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        taken = self.family.columns(np.ascontiguousarray(self.ids[numbers]))
        for begin, end in zip(taken.indptr[:-1], taken.indptr[1:], strict=True):
            column = np.zeros(self.family.rows, np.float32)
            column[taken.rows[begin:end]] = taken.values[begin:end]
            yield column

    def few_numbers(self, numbers: NDArray[np.int64], most: int) -> CSCColumns:
        numbers = numbers[: max(1, most // max(1, self.family.rows))]
        taken = self.family.columns(np.ascontiguousarray(self.ids[numbers]))
        return CSCColumns(taken.indptr, taken.rows, taken.values, self.family.rows)

    def describe(self) -> str:
        return f"{self.size} features of {self.of}"


class StoreColumns(FamilyColumns):
    """All columns of rows that were read, by rising key."""

    def __init__(self, store: _native.ColumnStore, team: _native.Team, of: str) -> None:
        super().__init__(InMemoryColumns(store, team, power=0.0), store.keys, of)
        self.store = store
        self.team = team

    def few_numbers(self, numbers: NDArray[np.int64], most: int) -> CSCColumns:
        indptr, rows, values, _ = self.store.take_some(np.ascontiguousarray(self.ids[numbers]), most, self.team)
        return CSCColumns(indptr, rows, values, self.store.rows)


class GivenColumns(Arrivals):
    """What an iterable gives; a callable that gives one is asked again for every scan."""

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

    def columns(self, start: int, order: NDArray[np.int64] | None, most: int) -> Iterator[Arrival]:
        if order is not None:
            raise SettingsError("an iterable gives its columns in its own order: leave out order")
        given: Iterator[Any] = iter(self._make()) if self.rewindable else self._rest()
        for number, one in enumerate(islice(given, start, None), start):
            if _is_named(one):
                yield number, str(one[0]), one[1]
            elif self.names is not None:
                if number >= len(self.names):
                    raise DataError(f"a column number {number} (counted from 0), and {len(self.names)} names for them.")
                yield number, self.names[number], one
            elif self.named:
                raise DataError(f"the column number {number} (counted from 0) has no name, and the first one has.")
            else:
                yield number, None, one

    def _rest(self) -> Iterator[Any]:
        first, self._first = self._first or [], []
        yield from first
        yield from self._iterator

    def describe(self) -> str:
        return "columns that are given one by one"

    def identity(self) -> bytes:
        return super().identity() if self.rewindable else b"given once"


def open_arrivals(data: Any, names: Sequence[str] | None, target: str | None) -> Arrivals:
    """The columns of whatever was given."""
    if isinstance(data, Arrivals):
        return data
    table = arrow_table(data)
    is_path = isinstance(data, (str, os.PathLike))
    path = os.fspath(data) if is_path else ""
    of_table = table is not None or path.endswith(_TABLES)
    if target is not None and not of_table:
        raise SettingsError("target names a column of a table; pass y for other streams")
    if names is not None and (of_table or os.path.isdir(path)):
        raise SettingsError("these columns have names of their own: leave out names")
    if of_table:
        return TableColumns(table if table is not None else path, target)
    if is_path:
        return _open_path(path, names)
    if hasattr(data, "tocsc"):
        return SparseColumns(data, names)
    if isinstance(data, np.ndarray):
        return MatrixColumns(data, names)
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], Family):
        return FamilyColumns(data[0], np.asarray(data[1], np.uint64))
    if callable(data) or isinstance(data, Iterable):
        return GivenColumns(data, names)
    raise SettingsError(f"columns come from an array, a table, a path, an iterable or a callable, not {type(data)}")


def _open_path(path: str, names: Sequence[str] | None) -> Arrivals:
    if os.path.isdir(path):
        return FolderColumns(path)
    if not path.endswith(".npy"):
        raise SettingsError(f"{path}: columns come from a .npy, Parquet or Arrow file, or from a folder of such")
    try:
        matrix = np.load(path, mmap_mode="r")
    except OSError as error:
        raise UnreadableError(f"{path}: {error.strerror or error}.") from None
    except ValueError as error:
        raise DataError(f"{path}: not a .npy file of numbers ({error}).") from None
    return MatrixColumns(matrix, names, of=f"array in {path}")


def _is_named(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str)


def _checked_names(names: Sequence[str] | None, size: int) -> Sequence[str] | None:
    if names is None:
        return None
    names = [str(name) for name in names]
    if len(names) != size or len(set(names)) != size:
        raise SettingsError(f"{len(set(names))} different names for {size} columns: each needs one of its own")
    return names
