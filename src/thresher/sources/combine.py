"""Sources made from sources: held-out rows, weights, and reading ahead on a second thread."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.batch import Batch, Cursor
from thresher.errors import DataError, SettingsError
from thresher.sources.source import ReadLimits, Source


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


class HeldOut(Wrapped):
    """The rows whose hash falls below ``fraction`` (the held-out ones), or all the others.

    The hash is of what a row holds (its features, not its label or place), so the same row is
    always on the same side, in any file, order or run, and copies of a row never straddle the two.
    """

    def __init__(self, source: Source, fraction: float, *, held: bool, seed: int = 0) -> None:
        if not 0 < fraction < 1:
            raise SettingsError(f"the held-out fraction lies between 0 and 1, not at {fraction}")
        super().__init__(source)
        self.fraction = fraction
        self.held = held
        self.seed = seed
        self.total_rows = None

    def _with(self, source: Source) -> Source:
        return HeldOut(source, self.fraction, held=self.held, seed=self.seed)

    def _settings(self) -> str:
        return f":held-out:{self.fraction}:{self.held}:{self.seed}"

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        limit = np.uint64(int(self.fraction * 2**64))
        row, skipped = start.row, start.skipped
        # The whole row decides, so unwanted keys are dropped after that and not by the reader.
        for batch, cursor in self.source.batches(
            rows, start=start.inner, want_names=want_names, want_labels=want_labels
        ):
            hashes = _native.row_hashes(batch.indptr, batch.keys, batch.values, self.seed)
            chosen = np.flatnonzero((hashes < limit) == self.held)
            if len(chosen) == 0 and cursor.skipped == skipped:
                continue
            kept = batch if len(chosen) == len(batch) else batch.take(chosen)
            row, skipped = row + len(kept), cursor.skipped
            place = Cursor(part=cursor.part, row=row, inner=cursor, read=cursor.read, skipped=cursor.skipped)
            yield (kept if only is None else kept.keep(only)), place

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        return self.source.where(replace(cursor.inner or Cursor(), part=cursor.part), batch, row)


def hold_out(source: Source, fraction: float, *, seed: int = 0) -> tuple[Source, Source]:
    """Divide a source in two: the rows to learn from, and ``fraction`` of them to test on."""
    return HeldOut(source, fraction, held=False, seed=seed), HeldOut(source, fraction, held=True, seed=seed)


class Weighted(Wrapped):
    """Rows with their importance multiplied by the weight of their class."""

    def __init__(self, source: Source, class_weight: Mapping[Any, float]) -> None:
        super().__init__(source)
        self.class_weight = dict(class_weight)
        if any(not np.isfinite(w) or w < 0 for w in self.class_weight.values()):
            raise SettingsError(f"class weights are finite and not negative, unlike {self.class_weight}")

    def _with(self, source: Source) -> Source:
        return Weighted(source, self.class_weight)

    def _settings(self) -> str:
        return f":weighted:{sorted(self.class_weight.items(), key=str)}"

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        for batch, cursor in self.source._read(rows, start, only, want_names, want_labels):
            if batch.y_indptr is not None:
                raise DataError("class weights need one label a row: these rows have several.")
            if batch.y is not None:
                factor = np.ones(len(batch), np.float32)
                for label, weight in self.class_weight.items():
                    factor[batch.y == label] = weight
                batch = replace(batch, weight=factor if batch.weight is None else batch.weight * factor)
            yield batch, cursor


def balanced_weights(source: Source) -> dict[Any, float]:
    """``n / (classes * n_c)`` for each class c, from one reading of the labels."""
    counts: dict[Any, int] = {}
    no_keys: NDArray[np.uint64] = np.empty(0, np.uint64)
    for batch, _ in source.batches(keys=no_keys):
        if batch.y is None:
            break
        for label, count in zip(*np.unique(batch.y, return_counts=True), strict=True):
            counts[label.item() if hasattr(label, "item") else label] = counts.get(label, 0) + int(count)
    total = sum(counts.values())
    return {label: total / (len(counts) * count) for label, count in counts.items()}


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
