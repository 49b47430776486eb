"""Parquet and Arrow IPC files, some rows of the needed columns at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thresher.core.memory import ReadLimits
from thresher.errors import DataError
from thresher.sources.files.paths import Part, Stream
from thresher.sources.files.remote import RemoteFile, is_remote
from thresher.sources.tables.infer import SAMPLE_ROWS

#: Rows at a time, about the bytes of them, and the bytes of a column of Parquet that are read at a time.
_ROWS, _PIECE, _BUFFER = 8192, 4 << 20, 1 << 16
_PARQUET, _IPC_FILE = b"PAR1", b"ARROW1"


def damaged(part: Part, error: Exception) -> DataError:
    """What pyarrow says of a file that cannot be read, in our words."""
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DataError(f"{part.name}: the file is damaged or cut short ({first}). Fetch or write it again.")


def flat(table: Any) -> Any:
    """Columns of columns as columns of their own, ``outer.inner``."""
    import pyarrow.types as kinds

    while any(kinds.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table


def flat_names(fields: Any, outer: str = "") -> list[str]:
    """What the columns of such a table are called then."""
    import pyarrow.types as kinds

    names: list[str] = []
    for one in fields:
        name = f"{outer}{one.name}"
        names += flat_names(one.type, f"{name}.") if kinds.is_struct(one.type) else [name]
    return names


class _ParquetFile:
    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pq

        source = RemoteFile(path, _BUFFER) if is_remote(path) else path
        self._file = pq.ParquetFile(source, buffer_size=_BUFFER, pre_buffer=False)
        self.names = flat_names(self._file.schema_arrow)

    def __enter__(self) -> _ParquetFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def _rows_of(self, number: int, columns: list[str]) -> int:
        """Rows of a row group that make no more than some megabytes."""
        group = self._file.metadata.row_group(number)
        tops = {column.partition(".")[0] for column in columns}
        chunks = (group.column(i) for i in range(group.num_columns))
        size = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema.partition(".")[0] in tops)
        return max(16, min(_ROWS, int(_PIECE * group.num_rows // max(1, size))))

    def pieces(self, offset: int, columns: list[str]) -> Iterator[tuple[Any, int, str, float]]:
        import pyarrow as pa

        first, total = 0, max(1, self._file.metadata.num_rows)
        for number in range(self._file.num_row_groups):
            end = first + self._file.metadata.row_group(number).num_rows
            if end > offset:
                group = f"row group {number}, "
                batches = self._file.iter_batches(
                    self._rows_of(number, columns), row_groups=[number], columns=columns, use_threads=False
                )
                at = first
                while True:
                    try:
                        batch = next(batches, None)
                    except (pa.ArrowException, OSError) as error:
                        raise _damaged_group(group, error) from None
                    if batch is None:
                        break
                    begin = max(0, offset - at)
                    if begin < len(batch):
                        table = pa.Table.from_batches([batch.slice(begin)])
                        yield table, at + begin, group, (at + len(batch)) / total
                    at += len(batch)
            first = end


def _damaged_group(group: str, error: Exception) -> Exception:
    return OSError(f"{group[:-2]}: {error}")


class _IpcFile:
    def __init__(self, path: str, stream: bool) -> None:
        import pyarrow as pa

        self._map = pa.PythonFile(RemoteFile(path, _BUFFER), "r") if is_remote(path) else pa.memory_map(path)
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

        # Of a column of columns the whole is read.
        tops = [i for i, top in enumerate(self._tops) if any(c == top or c.startswith(f"{top}.") for c in columns)]
        self._map.seek(0)
        file = self._open(self._map, options=pa.ipc.IpcReadOptions(included_fields=tops, use_threads=False))
        at, number, size = 0, 0, max(1, self._map.size())
        many = None if self._stream else file.num_record_batches
        while many is None or number < many:
            group = f"record batch {number}, "
            try:
                batch = file.read_next_batch() if self._stream else file.get_batch(number)
                batch.validate()
            except StopIteration:
                return
            except (pa.ArrowException, OSError) as error:
                raise _damaged_group(group, error) from None
            share = self._map.tell() / size if self._stream else (number + 1) / (many or 1)
            for begin in range(max(0, offset - at), len(batch), _ROWS):
                yield pa.Table.from_batches([batch.slice(begin, _ROWS)]), at + begin, group, share
            at += len(batch)
            number += 1


def opened(part: Part) -> Any:
    """A Parquet or IPC file, by its first bytes."""
    if part.once:
        raise DataError(f"{part.name}: Parquet and Arrow files cannot come through a pipe: write it to a file.")
    with Stream(part.path, window_limit=ReadLimits().window) as stream:
        if stream.compression is not None:
            raise DataError(
                f"{part.name}: the file as a whole is compressed ({stream.compression}), and cannot be read from its "
                "end. Decompress it first: Parquet and Arrow compress their columns themselves."
            )
        head = bytearray(6)
        head = head[: stream.readinto(memoryview(head))]
    if not head:
        raise DataError(f"{part.name}: the file is empty. Check how it was made.")
    import pyarrow as pa

    try:
        return _ParquetFile(part.path) if head.startswith(_PARQUET) else _IpcFile(part.path, head != _IPC_FILE)
    except (pa.ArrowException, OSError) as error:
        raise damaged(part, error) from None


def arrow_layout(parts: list[Part]) -> tuple[list[str], Any]:
    """What the columns of a file are called, and its first rows."""
    import pyarrow as pa

    with opened(parts[0]) as file:
        try:
            for table, _, _, _ in file.pieces(0, file.names):
                found = flat(table).slice(0, SAMPLE_ROWS)
                return file.names, pa.table({name: found.column(name).combine_chunks() for name in file.names})
        except (pa.ArrowException, OSError) as error:
            raise damaged(parts[0], error) from None
        return file.names, pa.table({name: pa.nulls(0) for name in file.names})
