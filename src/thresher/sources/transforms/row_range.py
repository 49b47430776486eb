"""The first rows and the last rows of a source, in the order of the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.memory import Watch
from thresher.errors import DataError, SettingsError
from thresher.sources.arrays import InMemory
from thresher.sources.base import Source, Wrapped
from thresher.sources.files.paths import stored_size
from thresher.sources.text.line_formats import LineSource
from thresher.sources.transforms.watched import Watched

#: The most positions to keep while rows are counted.
_POSITIONS = 1024


class RowRange(Wrapped):
    """The rows from a cursor on, up to a row of the source.

    Its cursors are those of the source. Its rows come in order: an external shuffle writes them, not those of the
    source, to its file.
    """

    row_by_row = False

    def __init__(self, source: Source, begin: Cursor, end: int) -> None:
        super().__init__(source)
        self.begin = begin
        self.end = end
        self.total_rows = end - begin.row

    def _with(self, source: Source) -> Source:
        return RowRange(source, self.begin, self.end)

    def _settings(self) -> str:
        return f":rows:{self.begin.row}:{self.end}"

    @property
    def mixes(self) -> bool:
        return False

    def permuted(self, seed: int) -> Source:
        return self

    def shards(self, n: int) -> list[Source]:
        """The source itself: each shard would count its rows from its own start."""
        return Source.shards(self, n)

    def counts_at(self, cursor: Cursor) -> dict[str, Any]:
        return super().counts_at(replace(cursor, row=cursor.row - self.begin.row))

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        if start.row >= self.end:
            return
        if start == Cursor():
            start = self.begin
        for batch, cursor in self.source._read(rows, start, only, want_names, want_labels):
            beyond = cursor.row - self.end
            if beyond <= 0:
                yield batch, cursor
            elif beyond < len(batch):
                yield batch.take(slice(len(batch) - beyond)), replace(cursor, row=self.end)
            if beyond >= 0:
                return


def split_last(source: Source, fraction: float, watch: Watch) -> tuple[Source, Source]:
    """Split a source into its first rows and the last ``fraction`` of them, which takes a pass to count the rows."""
    if not source.rewindable:
        raise SettingsError(
            f"{source.describe()}: the last rows of data that can be read only once are known too late: write it to a "
            "file first, or hold out rows by their content (`holdout`)"
        )
    if source.overlapping:
        raise SettingsError(
            f"{source.describe()}: fragments are in a random order, so the last ones are not new: leave out "
            "`holdout_last`, and `holdout` holds out regions of the sequences"
        )
    if isinstance(source, Wrapped) and source.row_by_row:
        first, last = split_last(source.source, fraction, watch)
        return source._with(first), source._with(last)
    if isinstance(source, InMemory):
        order = np.arange(source.n) if source.order is None else source.order
        at = _first_held(len(order), fraction, source)
        return source._with_order(order[:at]), source._with_order(order[at:])
    total, begin = _find(source, fraction, watch)
    if isinstance(source, LineSource) and source.blocks() is not None:
        return _split_lines(source, begin)
    return RowRange(source, Cursor(), begin.row), RowRange(source, begin, total)


def _first_held(total: int, fraction: float, source: Source) -> int:
    """The number of rows before the held-out ones."""
    held = round(fraction * total)
    if not 0 < held < total:
        raise DataError(
            f"{source.describe()}: {fraction:g} of {total} rows leaves none on one side. Choose another fraction."
        )
    return total - held


def _find(source: Source, fraction: float, watch: Watch) -> tuple[int, Cursor]:
    """The number of rows, and the cursor before the last of them."""
    total, places, step = source.total_rows, [Cursor()], 1
    if total is None:
        row = 0
        for number, (_, cursor) in enumerate(Watched(source, watch, "counting rows").batches(want_labels=False)):
            row = cursor.row
            if number % step == 0:
                places.append(cursor)
            if len(places) > _POSITIONS:
                places, step = places[::2], 2 * step
        total = row
    at = _first_held(total, fraction, source)
    place = max((place for place in places if place.row <= at), key=lambda place: place.row)
    while place.row < at:
        _, place = next(iter(source.batches(at - place.row, start=place, want_labels=False)))
    return total, place


def _split_lines(source: LineSource, begin: Cursor) -> tuple[Source, Source]:
    """Split plain files at a byte, so that both sides can be read in any order."""
    number = begin.part
    cut = [replace(source.parts[number], end=begin.offset), replace(source.parts[number], begin=begin.offset)]
    first, last = ([part] if stored_size([part]) else [] for part in cut)  # no empty part between two files
    return (
        replace(source, parts=(*source.parts[:number], *first)),
        replace(source, parts=(*last, *source.parts[number + 1 :])),
    )
