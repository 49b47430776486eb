"""Where arriving columns come from: one small class for each kind of thing that has columns."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import DataError, SettingsError, UnreadableError
from thresher.families.family import Family, Ids
from thresher.sources.frames import arrow_table

#: A feature's number (or key), its name where it has one, and its column.
Arrival = tuple[int, str | None, Any]
_TABLES = (".parquet", ".pq", ".arrow", ".feather", ".ipc")


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
        return self.first + number

    @abstractmethod
    def take(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        """These columns."""


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
        self.rows, self.size = matrix.shape
        self.names = _checked_names(names, self.size)

    def take(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        return self.matrix[:, numbers].toarray().T  # type: ignore[no-any-return]

    def describe(self) -> str:
        return f"columns of a sparse matrix of {self.rows} x {self.size}"


class TableColumns(Numbered):
    """An Arrow table, or a Parquet or Arrow file of which only some columns are ever read."""

    def __init__(self, data: Any, target: str | None) -> None:
        self.path = None if arrow_table(data) is not None else os.fspath(data)
        self._read, every, self.rows = _table_reader(data if self.path is None else self.path)
        if target is not None and target not in every:
            raise SettingsError(f"there is no column {target!r} to take the labels from: {', '.join(every[:10])}")
        self.names = [name for name in every if name != target]
        self.size = len(self.names)
        self.labels = None if target is None else self._read([target]).column(0).to_numpy()

    def take(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        assert self.names is not None
        table = self._read([self.names[number] for number in numbers.tolist()])
        return (_numbers(column) for column in table.columns)

    def describe(self) -> str:
        return f"{self.size} columns of {self.path or 'a table'}"


class FolderColumns(Numbered):
    """A folder of files of one column each, in the order of their names."""

    def __init__(self, path: str) -> None:
        self.path = path
        files = sorted(file for file in Path(path).iterdir() if file.is_file() and not file.name.startswith("."))
        self.files = files
        self.names = [file.stem for file in files]
        self.size = len(files)
        if not files:
            raise DataError(f"{path}: the folder holds no files, which would be a column each.")
        if len(set(self.names)) < len(files):
            raise DataError(f"{path}: two files have the same name but for its ending: they would be one feature.")

    def take(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        return (_file_column(self.files[number]) for number in numbers.tolist())

    def describe(self) -> str:
        return f"{self.size} columns in {self.path}"

    def identity(self) -> bytes:
        return repr([(file.name, file.stat().st_size) for file in self.files]).encode()


class FamilyColumns(Numbered):
    """Chosen features of a family, by their ids."""

    def __init__(self, family: Family, ids: Ids, of: str = "a family") -> None:
        self.family = family
        self.ids = ids
        self.size = len(ids)
        self.rows = family.rows
        self.of = of

    def key(self, number: int) -> int:
        return int(self.ids[number])

    def take(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        taken = self.family.columns(np.ascontiguousarray(self.ids[numbers]))
        for begin, end in zip(taken.indptr[:-1], taken.indptr[1:], strict=True):
            column = np.zeros(self.family.rows, np.float32)
            column[taken.rows[begin:end]] = taken.values[begin:end]
            yield column

    def describe(self) -> str:
        return f"{self.size} features of {self.of}"


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


def _table_reader(data: Any) -> tuple[Callable[[list[str]], Any], list[str], int]:
    """What reads some columns, all their names, and the number of rows."""
    if not isinstance(data, str):
        return data.select, list(data.column_names), data.num_rows
    import pyarrow as pa

    try:
        if data.endswith((".parquet", ".pq")):
            import pyarrow.parquet as pq

            file = pq.ParquetFile(data, memory_map=True)
            return (
                lambda names: file.read(columns=names).select(names),
                list(file.schema_arrow.names),
                file.metadata.num_rows,
            )
        table = pa.ipc.open_file(pa.memory_map(data)).read_all()  # stays in the file
    except FileNotFoundError:
        raise UnreadableError(f"{data}: no such file.") from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{data}: not a file of columns ({error}).") from None
    return table.select, list(table.column_names), table.num_rows


def _numbers(column: Any) -> Any:
    """A column of a table as numbers; anything else is found out when it is checked."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return "no numbers"
    return column.to_numpy()


def _file_column(path: Path) -> Any:
    try:
        if path.suffix == ".npy":
            return np.load(path)
        return np.loadtxt(path, dtype=np.float32, ndmin=1)
    except (ValueError, OSError):
        return "no numbers"


def _is_named(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str)


def _checked_names(names: Sequence[str] | None, size: int) -> Sequence[str] | None:
    if names is None:
        return None
    names = [str(name) for name in names]
    if len(names) != size or len(set(names)) != size:
        raise SettingsError(f"{len(set(names))} different names for {size} columns: each needs one of its own")
    return names
