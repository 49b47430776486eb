"""Splits off held-out rows by a hash of their features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.errors import SettingsError
from thresher.sources.base import Source, Wrapped


class HeldOut(Wrapped):
    """The rows with a hash below ``fraction`` (the held-out rows), or all others.

    The hash depends only on the features of a row. The same row is therefore on the same side in every file, order
    and run, and copies of a row are never on both sides.
    """

    def __init__(self, source: Source, fraction: float, *, held: bool, seed: int = 0) -> None:
        if not 0 < fraction < 1:
            raise SettingsError(f"the held-out fraction must be between 0 and 1, got {fraction}")
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
        # The hash needs the whole row, so unwanted keys are dropped after it.
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


def row_shares(batch: Batch, seed: int) -> NDArray[np.float64]:
    """A number of [0, 1) for each row: the hash of its features."""
    hashes = _native.row_hashes(batch.indptr, batch.keys, batch.values, seed)
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


def hold_out(source: Source, fraction: float, *, seed: int = 0) -> tuple[Source, Source]:
    """Split a source into training rows and the held-out ``fraction`` of its rows."""
    return HeldOut(source, fraction, held=False, seed=seed), HeldOut(source, fraction, held=True, seed=seed)
