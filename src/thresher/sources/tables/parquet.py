"""Parquet and Arrow IPC files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import ReadLimits
from thresher.display import quoted
from thresher.errors import DataError, UnreadableError
from thresher.sources.base import OnError, Source, check_on_error
from thresher.sources.files.paths import Part, PathLike, find_parts, fingerprint, stored_size
from thresher.sources.files.reader import ReadPosition, SkipCounts
from thresher.sources.tables.arrow_readers import arrow_errors, arrow_layout, damaged, flatten, open_arrow, split_arrow
from thresher.sources.tables.infer import infer_table
from thresher.sources.tables.row_encoder import (
    EncodedSource,
    RowEncoder,
    column_positions,
    identity_of,
    to_batch,
    with_group_column,
    with_id_column,
)
from thresher.sources.tables.schema import ColumnRef, Schema
from thresher.sources.text.line_formats import group_parts


@dataclass(frozen=True, kw_only=True)
class ParquetSource(EncodedSource):
    """Parquet or Arrow IPC files; only the needed columns are read."""

    parts: tuple[Part, ...]
    encoder: RowEncoder
    on_error: OnError = "stop"
    limits: ReadLimits = field(default_factory=ReadLimits)
    skips: SkipCounts = field(default_factory=SkipCounts, compare=False, repr=False)

    space = FeatureSpace("token")
    parses_files = True

    def __post_init__(self) -> None:
        check_on_error(self.on_error)

    @property
    def format(self) -> str:
        """The name of the format in options and messages."""
        return "parquet"

    @property
    def total_bytes(self) -> int | None:  # type: ignore[override]
        return stored_size(self.parts)

    def limited(self, limits: ReadLimits) -> Source:
        return replace(self, limits=limits)

    def fingerprint(self) -> str:
        return fingerprint(self.parts, format=self.format, on_error=self.on_error, form=identity_of(self.encoder))

    def files(self) -> list[str]:
        return [part.name for part in self.parts]

    def skipped_files(self) -> dict[str, int]:
        return self.skips.files()

    def describe(self) -> str:
        first = self.parts[0].name
        return first if len(self.parts) == 1 else f"{first} and {len(self.parts) - 1} more"

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        name = self.parts[cursor.part].name
        return name if batch.line is None else f"{name}, row {batch.line[row] - 1} (counted from 0)"

    def shards(self, n: int) -> list[Source]:
        """Whole files if there are enough, else ranges of the row groups of Parquet files."""
        super().shards(n)
        per_file = -(-n // len(self.parts))
        pieces = [piece for part in self.parts for piece in split_arrow(part, per_file)]
        return [replace(self, parts=some) for some in group_parts(pieces, n)]

    def reading(self) -> dict[str, Any]:
        """The columns."""
        return {"form": self.encoder.to_dict()}

    def with_ids(self, column: str | None = None) -> Source:
        return with_id_column(self, column)

    def grouped(self, column: str, *, feature: bool = False) -> Source:
        return with_group_column(self, column, feature)

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        options = {"skip": self.on_error == "skip", "want_names": want_names, "only": only}
        cursor = start
        for number in range(start.part, len(self.parts)):
            if number != start.part:
                cursor = replace(cursor, part=number, offset=0, line=0, here=0)
            reading = self._read_part(self.parts[number], cursor, rows, want_labels, options)
            for batch, cursor in reading:
                yield batch, cursor

    def _pieces(self, part: Part, want_labels: bool) -> Any:
        return _Pieces(part, self.encoder, want_labels)

    def _read_part(
        self, part: Part, start: Cursor, rows: int, want_labels: bool, options: dict[str, Any]
    ) -> Iterator[tuple[Batch, Cursor]]:
        import pyarrow as pa

        position = ReadPosition(part, self.on_error, start)
        read_before, stored = stored_size(self.parts[: start.part]) or 0, stored_size([part]) or 0
        features = self.limits.batch_features
        skipped = start.skipped
        pieces = self._pieces(part, want_labels)
        for table, first, group, share in pieces.read(start.offset, position):
            at = 0
            while at < table.num_rows:
                n = min(rows, table.num_rows - at, max(1, features // max(1, self.encoder.width)))
                some = table.slice(at, n)
                arrays = dict(zip(some.column_names, some.columns, strict=True))
                try:
                    encoded = self.encoder.rows(
                        arrays, n, rows=n, features=features, labels_optional=not want_labels, **options
                    )
                except (ValueError, pa.ArrowException) as error:  # a corrupt array, for example with descending offsets
                    position.report_damage(damaged(part.name, error))
                    break
                before, at = at, at + encoded["consumed"]
                batch = to_batch(encoded, encoded["line"] + (first + before + 1))
                position.cursor = replace(
                    position.cursor,
                    offset=first + at,
                    line=first + at,
                    row=position.cursor.row + len(batch),
                    read=read_before + max(1, int(stored * share)),
                )
                position.count_skipped(encoded["skipped"])
                if len(batch):
                    skipped = position.cursor.skipped
                    yield batch, position.cursor
                for column, row, what in encoded["faults"]:
                    position.report_row(
                        f"{group}row {first + before + row} (counted from 0), column {quoted(column)}", what
                    )
        self.skips.set(part, position.cursor.here, "rows", n_files=len(self.parts))
        if position.cursor.skipped > skipped:
            # The cursor of an empty batch counts the malformed rows behind the last good one.
            encoded = self.encoder.rows({}, 0, rows=1, **options)
            yield (
                to_batch(encoded, encoded["line"]),
                replace(position.cursor, part=start.part + 1, offset=0, line=0, here=0),
            )


class _Pieces:
    """The needed columns of a file, some rows at a time."""

    def __init__(self, part: Part, encoder: RowEncoder, want_labels: bool) -> None:
        self._part = part
        self._encoder = encoder
        self._want_labels = want_labels

    def read(self, offset: int, position: ReadPosition) -> Iterator[tuple[Any, int, str, float]]:
        """Yield tables from row ``offset`` on, with their first row, its row group, and the share of the file read."""
        try:
            file = open_arrow(self._part)
        except UnreadableError:
            raise
        except DataError as error:
            position.report_damage(error)
            return
        with file:
            pieces = file.pieces(
                offset, list(column_positions(self._encoder, file.names, self._part.name, not self._want_labels))
            )
            while True:
                try:
                    with arrow_errors(self._part.name):
                        piece = next(pieces, None)
                        table = None if piece is None else flatten(piece[0])
                except UnreadableError:
                    raise
                except DataError as error:
                    position.report_damage(error)
                    return
                if piece is None:
                    return
                yield table, *piece[1:]


def scan_parquet(
    paths: PathLike | Iterable[PathLike],
    *,
    target: ColumnRef | None = None,
    weight: ColumnRef | None = None,
    numeric: Iterable[ColumnRef] | None = None,
    categorical: Iterable[ColumnRef] | None = None,
    times: Iterable[ColumnRef] | None = None,
    texts: Iterable[ColumnRef] | None = None,
    ignored: Iterable[ColumnRef] | None = None,
    others: str | None = None,
    bins: str | None = None,
    missing: str | None = None,
    schema: Schema | Mapping[str, Any] | PathLike | None = None,
    on_error: OnError = "stop",
) -> ParquetSource:
    """Read tables in Parquet or Arrow IPC (Feather) files; only the needed columns are read.

    A numeric column is a feature with a value; text and categories make features ``column=value``. A list of texts
    makes one feature for each text; a list of numbers makes ``column[0]``, ``column[1]``, …; a map from texts to
    numbers makes ``column=key`` with the number as value; a struct is a set of columns ``column.field``.

    Parameters
    ----------
    paths : path, glob, folder, or several of these
    target, weight, numeric, categorical, times, texts, ignored, others, bins, missing, schema
        The columns, see `thresher.scan_csv`. The kinds of all other columns follow from their types.
    on_error : {"stop", "skip"}
        Whether a malformed row or a damaged file raises `DataError` or is counted and skipped.
    """
    parts = find_parts(paths)
    options = {
        "target": target,
        "weight": weight,
        "numeric": numeric,
        "categorical": categorical,
        "times": times,
        "texts": texts,
        "ignored": ignored,
        "others": others,
        "bins": bins,
        "missing": missing,
    }
    names, sample = arrow_layout(parts)
    encoder = infer_table(Schema.of(schema, options), names, sample, parts[0].name)
    return ParquetSource(parts=tuple(parts), encoder=encoder, on_error=on_error)
