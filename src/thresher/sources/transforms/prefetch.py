"""Batches read and parsed on a second thread."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.sources.base import Source
from thresher.sources.transforms.wrapped import Wrapped


class ReadAhead(Wrapped):
    """The same batches, read and parsed on a second thread while the last ones are in use."""

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
                reading.close()  # files are closed now, not when the last reference goes
