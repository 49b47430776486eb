"""Readers of columns in files, which load only the requested columns, and of files of labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.display import did_you_mean, quoted, shown_path
from thresher.errors import DataError, SettingsError, UnreadableError
from thresher.sources.dataframes import arrow_table
from thresher.sources.tables.arrow_readers import arrow_errors, validate
from thresher.substitution.arriving.column_reader import IndexedReader

_PARQUET_ENDINGS = (".parquet", ".pq")
ARROW_ENDINGS = (*_PARQUET_ENDINGS, ".arrow", ".feather")


class TableReader(IndexedReader):
    """Reads the columns of an Arrow table, or of a Parquet or Arrow file."""

    def __init__(self, data: Any, target: str | None) -> None:
        self.path = None if arrow_table(data) is not None else os.fspath(data)
        self._select, columns, self.rows = _open_table(data if self.path is None else self.path)
        if target is not None and target not in columns:
            raise SettingsError(
                f"the table has no column {quoted(target)} for the labels{did_you_mean(str(target), columns)}"
            )
        self.names = [name for name in columns if name != target]
        self.size = len(self.names)
        self.labels = None
        if target is not None:
            with arrow_errors(self._name):
                self.labels = self._select([target]).column(0).to_numpy()

    @property
    def _name(self) -> str:
        return self.path or "the table"

    def read(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        assert self.names is not None
        with arrow_errors(self._name):
            table = self._select([self.names[number] for number in numbers.tolist()])
            return [_numbers(column) for column in table.columns]

    def describe(self) -> str:
        return f"{self.size} columns of {'a table' if self.path is None else shown_path(self.path)}"


class FolderReader(IndexedReader):
    """Reads a folder of files of one column each, in the order of their names."""

    def __init__(self, path: str) -> None:
        self.path = path
        files = sorted(file for file in Path(path).iterdir() if file.is_file() and not file.name.startswith("."))
        self.files = files
        self.names = [file.stem for file in files]
        self.size = len(files)
        if not files:
            raise DataError(f"{path}: the folder is empty; each of its files should hold a column.")
        if len(set(self.names)) < len(files):
            raise DataError(f"{path}: two files differ only in their ending and would be the same feature. Rename one.")

    def read(self, numbers: NDArray[np.int64]) -> Iterable[Any]:
        return (_file_column(self.files[number]) for number in numbers.tolist())

    def describe(self) -> str:
        return f"{self.size} columns in {shown_path(self.path)}"

    def identity(self) -> bytes:
        return repr([(file.name, file.stat().st_size) for file in self.files]).encode()


def _open_table(data: Any) -> tuple[Callable[[list[str]], Any], list[str], int]:
    """A function that reads some columns of a table by name, the names of all columns, and the number of rows."""
    if not isinstance(data, str):
        return data.select, list(data.column_names), data.num_rows
    import pyarrow as pa

    if not os.path.isfile(data):
        raise UnreadableError(f"{data}: no such file.")
    with arrow_errors(data):
        if data.endswith(_PARQUET_ENDINGS):
            import pyarrow.parquet as pq

            file = pq.ParquetFile(data, memory_map=True)
            return (
                lambda names: file.read(columns=names).select(names),
                list(file.schema_arrow.names),
                file.metadata.num_rows,
            )
        table = pa.ipc.open_file(pa.memory_map(data)).read_all()  # memory-mapped: nothing is loaded yet
        validate(table)
        return table.select, list(table.column_names), table.num_rows


def has_only_numbers(path: str) -> bool:
    """Whether every column of a Parquet or Arrow file is numeric, so that columns need no encoding by rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with arrow_errors(path):
            parquet = path.endswith(_PARQUET_ENDINGS)
            schema = pq.read_schema(path) if parquet else pa.ipc.open_file(pa.memory_map(path)).schema
    except DataError:
        return False
    return all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in schema.types)


def _numbers(column: Any) -> Any:
    """The numbers of a column; text if it has none, which the scan then reports as a bad column."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return "no numbers"
    return column.to_numpy()


def load_npy(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Map the array of a ``.npy`` file; its header is compared with the size of the file before anything is read.

    Unlike `numpy.load`, it opens neither archives nor pickles.
    """
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise UnreadableError(f"{os.fspath(path)}: {error.strerror or error}.") from None
    except Exception as error:  # NumPy parses the header as Python, which can fail in many ways
        raise DataError(f"{os.fspath(path)}: not a .npy file of numbers ({error}). Write it again.") from None


def _file_column(path: Path) -> Any:
    try:
        if path.suffix == ".npy":
            return np.array(load_npy(path))
        return np.loadtxt(path, dtype=np.float32, ndmin=1)
    except (ValueError, OSError):
        return "no numbers"


def read_labels(path: str | os.PathLike[str]) -> Any:
    """Read labels from a ``.npy`` file, or from a text file with one label a line."""
    path = os.fspath(path)
    if path.endswith(".npy"):
        return np.array(load_npy(path))
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except OSError as error:
        raise UnreadableError(f"{path}: {error.strerror or error}.") from None
    except ValueError as error:
        raise DataError(f"{path}: not a file of labels ({error}).") from None
    try:
        return np.array([float(line) for line in lines])
    except ValueError:
        return np.array(lines, dtype=object)
