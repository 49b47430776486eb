"""Reports the progress of a further pass over the data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.memory import Watch
from thresher.sources.base import Source, Wrapped


class Watched(Wrapped):
    """The same rows; each batch is reported as progress of a phase.

    Parameters
    ----------
    phase : str
        What the pass is for, as *naming features*.
    """

    def __init__(self, source: Source, watch: Watch, phase: str) -> None:
        super().__init__(source)
        self.watch = watch
        self.phase = phase

    def _with(self, source: Source) -> Source:
        return Watched(source, self.watch, self.phase)

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        self.watch.show(phase=self.phase)
        reading: Any = self.source._read(rows, start, only, want_names, want_labels)
        with closing(reading):
            for batch, cursor in reading:
                yield batch, cursor
                self.watch.show(phase=self.phase, **self.source.counts_at(cursor))
