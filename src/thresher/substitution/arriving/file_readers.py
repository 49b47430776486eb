"""Columns that arrive from files: tables of which only some columns are ever read, and folders of columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import DataError, SettingsError, UnreadableError
from thresher.sources.dataframes import arrow_table
from thresher.substitution.arriving.column_reader import Numbered


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
