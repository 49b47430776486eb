"""Readers of Parquet and Arrow IPC files: the needed columns, some rows at a time."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Any

from thresher.core.memory import ReadLimits
from thresher.errors import DataError, ThresherError
from thresher.sources.files.paths import Part, Stream, is_remote, stored_size
from thresher.sources.tables.arrow_columns import is_text
from thresher.sources.tables.infer import SAMPLE_ROWS

#: The largest number of rows of a piece, about its largest size in bytes, and the read buffer of a Parquet column.
_MAX_ROWS, _MAX_BYTES, _BUFFER = 8192, 4 << 20, 1 << 16
_PARQUET, _IPC_FILE = b"PAR1", b"ARROW1"


def damaged(name: str, error: Exception) -> DataError:
    """The error for a file that pyarrow cannot read."""
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DataError(f"{name}: the file is damaged or cut short ({first}). Fetch or write it again.")


@contextmanager
def arrow_errors(name: str) -> Iterator[None]:
    """Turn every failure of pyarrow in this block into the error of a damaged file.

    A damaged file makes pyarrow raise errors of many kinds besides its own, among them `UnicodeDecodeError` for a
    name, `KeyError` for a column and `OverflowError` for a size.
    """
    try:
        yield
    except ThresherError:
        raise
    except Exception as error:
        raise damaged(name, error) from None


def flatten(table: Any) -> Any:
    """Replace struct columns by columns ``outer.inner``."""
    import pyarrow.types as kinds

    while any(kinds.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table


def flat_names(fields: Any, outer: str = "") -> list[str]:
    """The column names of the flattened table."""
    import pyarrow.types as kinds

    names: list[str] = []
    for one in fields:
        name = f"{outer}{one.name}"
        names += flat_names(one.type, f"{name}.") if kinds.is_struct(one.type) else [name]
    return names


def _remote_file(path: str) -> Any:
    from thresher.sources.files.remote import RemoteFile

    return RemoteFile(path, _BUFFER)


class _ParquetFile:
    def __init__(self, part: Part) -> None:
        import pyarrow.parquet as pq

        source = _remote_file(part.path) if is_remote(part.path) else part.path
        self._file = pq.ParquetFile(source, buffer_size=_BUFFER, pre_buffer=False)
        self.names = flat_names(self._file.schema_arrow)
        self._groups: Container[int] = range(self._file.num_row_groups)
        if part.begin or part.end is not None:
            end = math.inf if part.end is None else part.end
            starts = self.group_starts(stored_size([Part(part.path)]) or 0)
            self._groups = {number for number, start in enumerate(starts) if part.begin <= start < end}

    def group_starts(self, size: int) -> list[int]:
        """About the first byte of each row group of a file of this size, by its rows: see `_rows_of`."""
        starts, first, metadata = [], 0, self._file.metadata
        for number in range(self._file.num_row_groups):
            starts.append(size * first // max(1, metadata.num_rows))
            first += metadata.row_group(number).num_rows
        return starts

    def __enter__(self) -> _ParquetFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def _rows_of(self, number: int) -> int:
        """The number of rows of a row group to read at a time.

        The size is that of all columns, also of those that are not needed: pyarrow does not catch the exceptions of
        the metadata of a column (``column(i)``), so one wrong bit in it would end the process.
        """
        group = self._file.metadata.row_group(number)
        rows: int = _MAX_BYTES * group.num_rows // max(1, group.total_byte_size)
        return max(16, min(_MAX_ROWS, rows))

    def _batches(self, number: int, columns: list[str]) -> Iterator[Any]:
        rows = self._rows_of(number)
        return iter(self._file.iter_batches(rows, row_groups=[number], columns=columns, use_threads=False))

    def pieces(self, offset: int, columns: list[str]) -> Iterator[tuple[Any, int, str, float]]:
        import pyarrow as pa

        first, total = 0, max(1, self._file.metadata.num_rows)
        for number in range(self._file.num_row_groups):
            end = first + self._file.metadata.row_group(number).num_rows
            if end > offset and number in self._groups:
                group = f"row group {number}, "
                batches = self._batches(number, columns)
                at = first
                while True:
                    try:
                        batch = next(batches, None)
                    except Exception as error:
                        raise OSError(f"row group {number}{self._damaged_column(number, columns)}: {error}") from None
                    if batch is None:
                        break
                    begin = max(0, offset - at)
                    if begin < len(batch):
                        table = pa.Table.from_batches([batch.slice(begin)])
                        yield table, at + begin, group, (at + len(batch)) / total
                    at += len(batch)
            first = end

    def _damaged_column(self, number: int, columns: list[str]) -> str:
        """The first column of a row group that cannot be read alone, as messages call it."""
        for column in columns:
            try:
                for _ in self._batches(number, [column]):
                    pass
            except Exception:
                return f", column {column!r}"
        return ""


class _IpcFile:
    def __init__(self, path: str, stream: bool) -> None:
        import pyarrow as pa

        self._map = pa.PythonFile(_remote_file(path), "r") if is_remote(path) else pa.memory_map(path)
        self._open = pa.ipc.open_stream if stream else pa.ipc.open_file
        self._stream = stream
        schema = self._open(self._map).schema
        self._tops: list[str] = list(schema.names)
        self.names = flat_names(schema)

    def __enter__(self) -> _IpcFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._map.close()

    def pieces(self, offset: int, columns: list[str]) -> Iterator[tuple[Any, int, str, float]]:
        import pyarrow as pa

        # A struct column is read as a whole.
        tops = [i for i, top in enumerate(self._tops) if any(c == top or c.startswith(f"{top}.") for c in columns)]
        self._map.seek(0)
        file = self._open(self._map, options=pa.ipc.IpcReadOptions(included_fields=tops, use_threads=False))
        at, number, size = 0, 0, max(1, self._map.size())
        many = None if self._stream else file.num_record_batches
        while many is None or number < many:
            group = f"record batch {number}, "
            try:
                batch = file.read_next_batch() if self._stream else file.get_batch(number)
                validate(batch)
            except StopIteration:
                return
            except Exception as error:
                raise OSError(f"record batch {number}: {error}") from None
            share = self._map.tell() / size if self._stream else (number + 1) / (many or 1)
            for begin in range(max(0, offset - at), len(batch), _MAX_ROWS):
                yield pa.Table.from_batches([batch.slice(begin, _MAX_ROWS)]), at + begin, group, share
            at += len(batch)
            number += 1


def validate(table: Any) -> None:
    """Check what pyarrow trusts when it reads a table or a record batch: sizes, offsets, entries of dictionaries.

    Texts may be anything: those that are not UTF-8 are rows that reading reports.
    """
    import pyarrow as pa
    import pyarrow.types as kinds

    table.validate()
    for column in table.columns:
        kind = column.type
        if kinds.is_string(kind) or kinds.is_large_string(kind):
            column = column.cast(pa.binary() if kinds.is_string(kind) else pa.large_binary())  # without a copy
        if kinds.is_dictionary(kind) or kinds.is_nested(kind) or is_text(kind):
            column.validate(full=True)


def split_arrow(part: Part, n: int) -> list[Part]:
    """Split a Parquet file into up to ``n`` ranges of whole row groups; an Arrow file stays whole."""
    size = stored_size([part])
    if n == 1 or part.begin or part.end is not None or size is None:
        return [part]
    with open_arrow(part) as file, arrow_errors(part.name):
        if not isinstance(file, _ParquetFile):
            return [part]
        starts = sorted(set(file.group_starts(size)))
    n = min(n, len(starts))
    bounds = [starts[len(starts) * i // n] for i in range(n)]
    return [Part(part.path, a, b) for a, b in zip(bounds, [*bounds[1:], size], strict=True)] or [part]


def open_arrow(part: Part) -> Any:
    """Open a Parquet or IPC file; its first bytes show which."""
    if part.once:
        raise DataError(f"{part.name}: Parquet and Arrow files cannot be read from a pipe. Write it to a file.")
    with Stream(part.path, window_limit=ReadLimits().window) as stream:
        if stream.compression is not None:
            raise DataError(
                f"{part.name}: the whole file is compressed ({stream.compression}), so it cannot be read from its end. "
                "Decompress it first: Parquet and Arrow compress their own columns."
            )
        head = bytearray(6)
        head = head[: stream.readinto(memoryview(head))]
    if not head:
        raise DataError(f"{part.name}: the file is empty. Check how it was made.")
    with arrow_errors(part.name):
        return _ParquetFile(part) if head.startswith(_PARQUET) else _IpcFile(part.path, head != _IPC_FILE)


def arrow_layout(parts: list[Part]) -> tuple[list[str], Any]:
    """The column names of a file, and its first rows."""
    import pyarrow as pa

    with open_arrow(parts[0]) as file, arrow_errors(parts[0].name):
        for table, _, _, _ in file.pieces(0, file.names):
            found = flatten(table).slice(0, SAMPLE_ROWS)
            return file.names, pa.table({name: found.column(name).combine_chunks() for name in file.names})
        return file.names, pa.table({name: pa.nulls(0) for name in file.names})
