"""The base of sources that change the batches of another source."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from thresher.core.batch import Batch, Cursor
from thresher.core.memory import ReadLimits
from thresher.sources.base import Source


class Wrapped(Source):
    """A source that changes the batches of another one; cursors are the other's own."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.space = source.space
        self.rewindable = source.rewindable
        self.total_bytes = source.total_bytes
        self.total_rows = source.total_rows
        self.multilabel = source.multilabel
        self.label_columns = source.label_columns

    @abstractmethod
    def _with(self, source: Source) -> Source:
        """The same change of another source."""

    def _settings(self) -> str:
        """What of this change a fingerprint must hold."""
        return ""

    def fingerprint(self) -> str:
        return f"{self.source.fingerprint()}{self._settings()}"

    def shards(self, n: int) -> list[Source]:
        return [self._with(shard) for shard in self.source.shards(n)]

    def limited(self, limits: ReadLimits) -> Source:
        return self._with(self.source.limited(limits))

    def files(self) -> list[str]:
        return self.source.files()

    def skipped_files(self) -> dict[str, int]:
        return self.source.skipped_files()

    def prepare(self) -> None:
        self.source.prepare()

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        return self.source.where(cursor, batch, row)

    def describe(self) -> str:
        return self.source.describe()

    def reading(self) -> dict[str, Any] | None:
        return self.source.reading()
