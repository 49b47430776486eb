"""How far a working-set run has come."""

from __future__ import annotations

import time
from collections.abc import Callable

from thresher.core.batch import Batch, Cursor
from thresher.core.memory import resident
from thresher.core.progress import Progress
from thresher.sources.base import Source


class Watch:
    """Counts what is read and tells whoever wants to know; the passes are one of reading and one an iteration.

    Parameters
    ----------
    source : Source
        What is read.
    expected : int
        Iterations there will be, if all goes well.
    """

    def __init__(self, source: Source, expected: int) -> None:
        self.rows = 0
        self.tell: Callable[[Progress], None] = lambda progress: None
        self._source = source
        self._expected = expected
        self.features = self._read = 0
        self._started = time.monotonic()
        self._resident = self._most_resident = resident()

    def seen(self, batch: Batch, cursor: Cursor) -> None:
        """A batch of the first reading."""
        self.rows += len(batch)
        self.features += batch.nnz
        self._read = cursor.read
        self.at(None)

    def at(self, rounds: int | None) -> None:
        """So many iterations are done; None while the data is read."""
        self._most_resident = max(self._most_resident, resident())
        reading = rounds is None
        self.tell(
            Progress(
                rows=self.rows,
                features=self.features,
                passes=max(rounds or 0, self._expected) + 1,
                passes_done=0 if rounds is None else rounds + 1,
                read=self._read if reading else 0,
                total_bytes=self._source.total_bytes,
                rows_in_pass=self.rows if reading else 0,
                total_rows=self._source.total_rows,
                seconds=time.monotonic() - self._started,
                grown=self._most_resident - self._resident,
            )
        )
