"""Parquet and Arrow IPC files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import ReadLimits
from thresher.errors import DataError, SettingsError, UnreadableError
from thresher.sources.base import Source
from thresher.sources.files import paths as opening
from thresher.sources.files.paths import Part, PathLike, find_parts
from thresher.sources.tables.arrow_readers import arrow_layout, damaged, flat, opened
from thresher.sources.tables.infer import table_form
from thresher.sources.tables.row_encoder import RowForm, batch_of, find_needed, no_cells, whole_files
from thresher.sources.tables.schema import Schema, Where
from thresher.sources.text.parse_errors import OnError, Place, Skips


@dataclass(frozen=True, kw_only=True)
class ArrowFileSource(Source):
    """Parquet or Arrow IPC files, of which only the needed columns are read."""

    parts: tuple[Part, ...]
    form: RowForm
    on_error: OnError = "stop"
    limits: ReadLimits = field(default_factory=ReadLimits)
    skips: Skips = field(default_factory=Skips, compare=False, repr=False)

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
                cursor = replace(cursor, part=number, offset=0, line=0, here=0)
            reading = self._read_part(self.parts[number], cursor, rows, want_labels, options)
            for batch, cursor in reading:
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
                batch = batch_of(made, made["line"] + (first + before + 1))
                place.cursor = replace(
                    place.cursor,
                    offset=first + at,
                    line=first + at,
                    row=place.cursor.row + len(batch),
                    read=read_before + max(1, int(stored * share)),
                )
                place.count(made["skipped"])
                if len(batch):
                    skipped = place.cursor.skipped
                    yield batch, place.cursor
                for column, row, what in made["faults"]:
                    place.row(f"{group}row {first + before + row} (counted from 0), column {column!r}", what)
        self.skips.note(part, place.cursor.here, "rows", of=len(self.parts))
        if place.cursor.skipped > skipped:
            # Bad rows behind the last good one: they are counted in the cursor of a batch of no rows.
            made = self.form.rows(no_cells(self.form), 0, rows=1, **options)
            yield batch_of(made, made["line"]), replace(place.cursor, part=start.part + 1, offset=0, line=0, here=0)


class _Pieces:
    """The needed columns of a file, some rows at a time."""

    def __init__(self, part: Part, form: Any, want_labels: bool) -> None:
        self._part = part
        self._form = form
        self._want_labels = want_labels

    def read(self, offset: int, place: Place) -> Iterator[tuple[Any, int, str, float]]:
        """From row ``offset`` on: tables, the number of their first row, where that is, and the share read by then."""
        import pyarrow as pa

        try:
            file = opened(self._part)
        except UnreadableError:
            raise
        except DataError as error:
            place.broken(error)
            return
        with file:
            pieces = file.pieces(
                offset, list(find_needed(self._form, file.names, self._part.name, not self._want_labels))
            )
            while True:
                try:
                    piece = next(pieces, None)
                except (pa.ArrowException, OSError) as error:
                    place.broken(damaged(self._part, error))
                    return
                if piece is None:
                    return
                yield flat(piece[0]), *piece[1:]


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
