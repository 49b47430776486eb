"""Reads and parses batches on a second thread."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.sources.base import Source, Wrapped


class ReadAhead(Wrapped):
    """The batches of a source, read and parsed ahead on a second thread."""

    def __init__(self, source: Source, depth: int = 2) -> None:
        super().__init__(source)
        self.depth = depth

    def _with(self, source: Source) -> Source:
        return ReadAhead(source, self.depth)

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        reading = self.source._read(rows, start, only, want_names, want_labels)
        ahead = _native.Ahead(reading, self.depth)
        try:
            yield from ahead
        finally:
            ahead.close()
            if isinstance(reading, Generator):
                reading.close()  # close files now, not with the last reference
