"""Splits off held-out rows by a hash of their features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum

import numpy as np

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.errors import SettingsError
from thresher.sources.base import Source, Wrapped

_WORD = (1 << 64) - 1


class Split(Enum):
    """What rows are held out for. Each use has a salt of its own, so that no split says anything about another.

    Splits are nested in this order: the test rows are taken first, then halves of the rows that are left, then the
    rows that a fit holds out for its own decisions (passes, refit, calibration). These are a random share of what it
    learns from.
    """

    TEST = 0  # no salt: the same rows as in the versions that had only this split
    HALVES = 0x9E3779B97F4A7C15
    VALIDATION = 0xD1B54A32D192ED03

    def salted(self, seed: int) -> int:
        """The seed of the hash."""
        return (seed + self.value) & _WORD


class HeldOut(Wrapped):
    """The rows with a hash below ``fraction`` (the held-out rows), or all others.

    The hash depends only on the features of a row. The same row is therefore on the same side in every file, order
    and run, and copies of a row are never on both sides.
    """

    def __init__(
        self, source: Source, fraction: float, *, held: bool, seed: int = 0, split: Split = Split.TEST
    ) -> None:
        if not 0 < fraction < 1:
            raise SettingsError(f"the held-out fraction must be between 0 and 1, got {fraction}")
        super().__init__(source)
        self.fraction = fraction
        self.held = held
        self.seed = seed
        self.split = split
        self.total_rows = None

    def _with(self, source: Source) -> Source:
        return HeldOut(source, self.fraction, held=self.held, seed=self.seed, split=self.split)

    def _settings(self) -> str:
        split = "" if self.split is Split.TEST else f":{self.split.name.lower()}"
        return f":held-out:{self.fraction}:{self.held}:{self.seed}{split}"

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        limit, seed = np.uint64(int(self.fraction * 2**64)), self.split.salted(self.seed)
        row, skipped = start.row, start.skipped
        # The hash needs the whole row, so unwanted keys are dropped after it.
        for batch, cursor in self.source.batches(
            rows, start=start.inner, want_names=want_names, want_labels=want_labels
        ):
            hashes = _native.row_hashes(batch.indptr, batch.keys, batch.values, seed)
            chosen = np.flatnonzero((hashes < limit) == self.held)
            if len(chosen) == 0 and cursor.skipped == skipped:
                continue
            kept = batch if len(chosen) == len(batch) else batch.take(chosen)
            row, skipped = row + len(kept), cursor.skipped
            place = Cursor(part=cursor.part, row=row, inner=cursor, read=cursor.read, skipped=cursor.skipped)
            yield (kept if only is None else kept.keep(only)), place

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        return self.source.where(replace(cursor.inner or Cursor(), part=cursor.part), batch, row)


def hold_out(source: Source, fraction: float, *, seed: int = 0, split: Split = Split.TEST) -> tuple[Source, Source]:
    """Split a source into training rows and the held-out ``fraction`` of its rows."""
    training, held = (HeldOut(source, fraction, held=held, seed=seed, split=split) for held in (False, True))
    return training, held
