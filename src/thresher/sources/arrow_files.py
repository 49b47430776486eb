"""Parquet and Arrow IPC files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from thresher import _native
from thresher.batch import Batch, Cursor, Names
from thresher.errors import DataError, SettingsError, UnreadableError
from thresher.sources import open as opening
from thresher.sources.csv_tables import _no_cells, no_target, whole_files
from thresher.sources.faults import OnError, Place
from thresher.sources.guess import SAMPLE_ROWS, table_form
from thresher.sources.open import Part, PathLike, find_parts
from thresher.sources.schema import Schema, Where, nearest
from thresher.sources.source import ReadLimits, Source
from thresher.space import FeatureSpace

#: Rows of Arrow data at a time, and bytes of a column of Parquet that are read at a time.
_ROWS, _BUFFER = 8192, 1 << 16
_PARQUET, _IPC_FILE = b"PAR1", b"ARROW1"


@dataclass(frozen=True, kw_only=True)
class ArrowFileSource(Source):
    """Parquet or Arrow IPC files, of which only the needed columns are read."""

    parts: tuple[Part, ...]
    form: Any  # a RowForm
    on_error: OnError = "stop"
    limits: ReadLimits = field(default_factory=ReadLimits)

    space = FeatureSpace("token")

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise SettingsError(f'on_error is "stop" or "skip", not {self.on_error!r}')

    @property
    def format(self) -> str:
        """The format's name, as options and messages use it."""
        return "parquet"

    @property
    def total_bytes(self) -> int | None:  # type: ignore[override]
        return opening.stored_size(self.parts)

    def limited(self, limits: ReadLimits) -> Source:
        return replace(self, limits=limits)

    def fingerprint(self) -> str:
        return opening.fingerprint(self.parts, format=self.format, on_error=self.on_error, form=self.form.identity())

    def describe(self) -> str:
        first = self.parts[0].name
        return first if len(self.parts) == 1 else f"{first} and {len(self.parts) - 1} more"

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        name = self.parts[cursor.part].name
        return name if batch.line is None else f"{name}, row {batch.line[row] - 1} (counted from 0)"

    def shards(self, n: int) -> list[Source]:
        """Whole files."""
        return whole_files(self, n)

    def reading(self) -> dict[str, Any]:
        """How to read other files in the same way."""
        return {"form": self.form.identity()}

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        options = {"skip": self.on_error == "skip", "want_names": want_names, "only": only}
        cursor = start
        for number in range(start.part, len(self.parts)):
            if number != start.part:
                cursor = replace(cursor, part=number, offset=0, line=0)
            for batch, cursor in self._read_part(self.parts[number], cursor, rows, want_labels, options):
                yield batch, cursor

    def _read_part(
        self, part: Part, start: Cursor, rows: int, want_labels: bool, options: dict[str, Any]
    ) -> Iterator[tuple[Batch, Cursor]]:
        place = Place(part, self.on_error, start)
        read_before, stored = opening.stored_size(self.parts[: start.part]) or 0, opening.stored_size([part]) or 0
        features = max(1, self.limits.block // 9)
        skipped = start.skipped
        pieces = _Pieces(part, self.form, want_labels)
        for table, first, group, share in pieces.read(start.offset, place):
            at = 0
            while at < table.num_rows:
                n = min(rows, table.num_rows - at, max(1, features // max(1, self.form.width)))
                some = table.slice(at, n)
                arrays = dict(zip(some.column_names, some.columns, strict=True))
                try:
                    made = self.form.rows(
                        arrays, n, rows=n, features=features, labels_optional=not want_labels, **options
                    )
                except ValueError as error:  # of what no sound file holds, such as offsets that fall
                    place.broken(damaged(part, error))
                    break
                before, at = at, at + made["consumed"]
                batch = _batch(made, first + before)
                place.cursor = replace(
                    place.cursor,
                    offset=first + at,
                    line=first + at,
                    row=place.cursor.row + len(batch),
                    read=read_before + max(1, int(stored * share)),
                    skipped=place.cursor.skipped + made["skipped"],
                )
                if len(batch):
                    skipped = place.cursor.skipped
                    yield batch, place.cursor
                for column, row, what in made["faults"]:
                    place.row(f"{group}row {first + before + row} (counted from 0), column {column!r}", what)
        if place.cursor.skipped > skipped:
            # Bad rows behind the last good one: they are counted in the cursor of a batch of no rows.
            made = self.form.rows(_no_cells(self.form.needed), 0, rows=1, **options)
            yield _batch(made, 0), replace(place.cursor, part=start.part + 1, offset=0, line=0)


def _batch(made: dict[str, Any], rows_before: int) -> Batch:
    names = None if made["names"] is None else Names(made["names"], made["text"], made["prefixes"])
    return Batch(
        made["indptr"],
        made["keys"],
        made["values"],
        made["y"],
        weight=made["weight"],
        names=names,
        line=made["line"] + (rows_before + 1),
    )


class _Pieces:
    """The needed columns of a file, some rows at a time."""

    def __init__(self, part: Part, form: Any, want_labels: bool) -> None:
        self._part = part
        self._form = form
        self._want_labels = want_labels

    def read(self, offset: int, place: Place) -> Iterator[tuple[Any, int, str, float]]:
        """(table, number of its first row, "row group 3, " for messages, share of the file read) from row ``offset``."""
        import pyarrow as pa

        try:
            file = opened(self._part)
        except UnreadableError:
            raise
        except DataError as error:
            place.broken(error)
            return
        with file:
            pieces = file.pieces(offset, self._columns(file.names))
            while True:
                try:
                    piece = next(pieces, None)
                except (pa.ArrowException, OSError) as error:
                    place.broken(damaged(self._part, error))
                    return
                if piece is None:
                    return
                yield flat(piece[0]), *piece[1:]

    def _columns(self, names: list[str]) -> list[str]:
        if self._form.labels.target is None and self._want_labels:
            raise no_target(self._part.name, names)
        optional = [] if self._want_labels else self._form.labels.needed
        for name in self._form.needed:
            if name not in names and name not in optional:
                raise DataError(f"{self._part.name}: there is no column {name!r}{nearest(name, names)}")
        return [name for name in self._form.needed if name in names]


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


class _ParquetFile:
    def __init__(self, path: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
        empty = pa.table({f.name: pa.array([], f.type) for f in self._file.schema_arrow})
        self.names: list[str] = list(flat(empty).column_names)

    def __enter__(self) -> _ParquetFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def pieces(self, offset: int, columns: list[str]) -> Iterator[tuple[Any, int, str, float]]:
        import pyarrow as pa

        first, total = 0, max(1, self._file.metadata.num_rows)
        for number in range(self._file.num_row_groups):
            end = first + self._file.metadata.row_group(number).num_rows
            if end > offset:
                group = f"row group {number}, "
                batches = self._file.iter_batches(_ROWS, row_groups=[number], columns=columns, use_threads=False)
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

        self._map = pa.memory_map(path)
        self._open = pa.ipc.open_stream if stream else pa.ipc.open_file
        self._stream = stream
        empty = self._open(self._map).schema.empty_table()
        self._tops: list[str] = list(empty.column_names)
        self.names: list[str] = list(flat(empty).column_names)

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
    try:
        with open(part.path, "rb") as file:
            head = file.read(6)
    except FileNotFoundError:
        with opening._raw_file(part.path):
            raise
    except OSError as error:
        raise UnreadableError(f"{part.path}: cannot be read ({error.strerror}).") from None
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
        return file.names, pa.table({name: pa.array([], pa.null()) for name in file.names})


def scan_parquet(
    paths: PathLike | Iterable[PathLike],
    *,
    target: Where | None = None,
    weight: Where | None = None,
    numeric: Iterable[Where] | None = None,
    categorical: Iterable[Where] | None = None,
    ignored: Iterable[Where] | None = None,
    others: str | None = None,
    bins: str | None = None,
    missing: str | None = None,
    schema: Schema | Mapping[str, Any] | PathLike | None = None,
    on_error: OnError = "stop",
) -> ArrowFileSource:
    """Read tables in Parquet or Arrow IPC (also Feather) files; only the columns that are needed.

    Numbers are features of their column's name with their value, text and categories make features ``column=value``.
    A list of texts makes one for each; a list of numbers ``column[0]``, ``column[1]``, …; a map from texts to numbers
    ``column=key`` with the number for a value; a struct counts as columns ``column.field``.

    Parameters
    ----------
    paths : path, glob, folder, or several of these
    target, weight, numeric, categorical, ignored, others, bins, missing, schema
        Which columns are what, see `thresher.scan_csv`. Those not mentioned go by their types.
    on_error : {"stop", "skip"}
        What to do about a bad row or a damaged file: raise `DataError`, or count it and go on.
    """
    parts = find_parts(paths)
    options = {
        "target": target,
        "weight": weight,
        "numeric": numeric,
        "categorical": categorical,
        "ignored": ignored,
        "others": others,
        "bins": bins,
        "missing": missing,
    }
    names, sample = arrow_layout(parts)
    form = table_form(Schema.of(schema, options), names, sample, parts[0].name)
    return ArrowFileSource(parts=tuple(parts), form=form, on_error=on_error)
