"""Rows held out by a hash of what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.errors import SettingsError
from thresher.sources.base import Source
from thresher.sources.transforms.wrapped import Wrapped


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
