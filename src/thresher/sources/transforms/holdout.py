"""Splits off held-out rows by a hash of their features or of their group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.errors import SettingsError
from thresher.sources.base import Source, Wrapped

_WORD = (1 << 64) - 1


class Split(Enum):
    """What rows are held out for. Each use has a salt of its own, so that no split says anything about another.

    Splits are nested in this order: the test rows are taken first, then a sample to compare methods on and the rows of
    it that score, then halves of the rows that are left (one split, or complementary pairs), then the folds that choose
    the number of features, then the rows that a fit holds out for its own decisions (passes, refit, calibration). These
    are a random share of what it learns from. Labels drawn by chance and decoys have salts of their own, too.
    """

    TEST = 0  # no salt: the same rows as in the versions that had only this split
    SAMPLE = 0xE7037ED1A0B428DB
    RACE = 0xA0761D6478BD642F
    HALVES = 0x9E3779B97F4A7C15
    PAIRS = 0x8EBC6AF09C88C6E3
    FOLDS = 0xBF58476D1CE4E5B9
    VALIDATION = 0xD1B54A32D192ED03
    CHANCE = 0x589965CC75374CC3
    DECOYS = 0x94D049BB133111EB

    def salted(self, seed: int) -> int:
        """The seed of the hash."""
        return (seed + self.value) & _WORD


class HeldOut(Wrapped):
    """The rows with a hash in a range (the held-out rows), or all others.

    The hash depends only on the features of a row. The same row is therefore on the same side in every file, order
    and run, and copies of a row are never on both sides. Fragments of sequences are held out by regions instead
    (`Source.sides`): those that overlap both sides are on neither.

    Parameters
    ----------
    fraction, start : float
        The range, of [0, 1): ``fraction`` of it from ``start`` on.
    by : str, optional
        The column whose groups stay together (`Source.grouped`): the hash is that of the group. A row without a group
        is one of its own.
    """

    def __init__(
        self,
        source: Source,
        fraction: float,
        *,
        held: bool,
        seed: int = 0,
        split: Split = Split.TEST,
        by: str | None = None,
        start: float = 0.0,
    ) -> None:
        if not 0 < fraction < 1:
            raise SettingsError(f"the held-out fraction must be between 0 and 1, got {fraction}")
        super().__init__(source)
        self.fraction = fraction
        self.held = held
        self.seed = seed
        self.split = split
        self.by = by
        self.start = start
        self.total_rows = None

    def _with(self, source: Source) -> Source:
        return HeldOut(
            source, self.fraction, held=self.held, seed=self.seed, split=self.split, by=self.by, start=self.start
        )

    def _settings(self) -> str:
        split = "" if self.split is Split.TEST else f":{self.split.name.lower()}"
        by = "" if self.by is None else f":by:{self.by}"
        by = ":regions" if self.overlapping else by
        by += f":from:{self.start}" if self.start else ""
        return f":held-out:{self.fraction}:{self.held}:{self.seed}{split}{by}"

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        row, skipped = start.row, start.skipped
        # The hash needs the whole row, so unwanted keys are dropped after it.
        for batch, cursor in self.source.batches(
            rows, start=start.inner, want_names=want_names, want_labels=want_labels
        ):
            chosen = np.flatnonzero(self._sides(batch, want_labels) == self.held)
            if len(chosen) == 0 and cursor.skipped == skipped:
                continue
            kept = batch if len(chosen) == len(batch) else batch.take(chosen)
            row, skipped = row + len(kept), cursor.skipped
            place = Cursor(part=cursor.part, row=row, inner=cursor, read=cursor.read, skipped=cursor.skipped)
            yield (kept if only is None else kept.keep(only)), place

    def _sides(self, batch: Batch, want_labels: bool) -> NDArray[Any]:
        """Whether each row is held out; -1 if it is on neither side."""
        seed = self.split.salted(self.seed)
        if self.overlapping:
            return self.source.sides(self.fraction, seed, batch, want_labels)
        hashes = row_words(batch, seed, grid=self.hash_grid, by=self.by is not None)
        # From an offset on, the difference wraps around below it.
        held: NDArray[np.bool_] = hashes - np.uint64(int(self.start * 2**64)) < np.uint64(int(self.fraction * 2**64))
        return held

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        return self.source.where(replace(cursor.inner or Cursor(), part=cursor.part), batch, row)


def row_words(batch: Batch, seed: int, *, grid: float, by: bool) -> NDArray[np.uint64]:
    """The hash of each row's features, with values in multiples of ``grid``; ``by`` group, that of its group."""
    hashes = _native.row_hashes(batch.indptr, batch.keys, batch.values, seed, grid)
    if by and batch.qid is not None:
        one_key = np.arange(len(batch) + 1, dtype=np.int64)
        of_groups = _native.row_hashes(one_key, batch.qid.astype(np.uint64), None, seed)
        hashes = np.where(batch.qid < 0, hashes, of_groups)
    return hashes


def row_shares(batch: Batch, seed: int, split: Split = Split.VALIDATION) -> NDArray[np.float64]:
    """A number of [0, 1) for each row: the hash of its features."""
    hashes = _native.row_hashes(batch.indptr, batch.keys, batch.values, split.salted(seed))
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


def hold_out(
    source: Source, fraction: float, *, seed: int = 0, split: Split = Split.TEST, by: str | None = None
) -> tuple[Source, Source]:
    """Split a source into training rows and the held-out ``fraction`` of its rows.

    Groups that an earlier split kept together stay together.
    """
    by = by or groups_of(source)
    training, held = (HeldOut(source, fraction, held=held, seed=seed, split=split, by=by) for held in (False, True))
    return training, held


def groups_of(source: Source) -> str | None:
    """The column of the groups that the splits below keep together."""
    while isinstance(source, Wrapped):
        if isinstance(source, HeldOut) and source.by is not None:
            return source.by
        source = source.source
    return None
