"""Decoys: beside its own features, each row has those of another row, as features that cannot matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.units import DenseColumns
from thresher.sources.base import Source, Wrapped
from thresher.sources.transforms.holdout import Split

#: Bytes of a feature of a sampled row: its key, value and number of copies. While the sample is made, it takes four
#: times as many: there are up to twice the rows, and those that stay are copied.
FEATURE_BYTES = 16
#: A feature of fewer sampled rows is rare.
_RARE = 30
#: Salts of the names of decoys, and of the choice of one among the copies of a feature.
_NAMED, _COPY = 0x2545F4914F6CDD1D, 0xD6E8FEB86659FD93


class RowSample:
    """Rows whose features are the decoys of other rows: all rows, or those of the least hashes that fit.

    A feature of the sample stands for as many features of the data as it would otherwise be too frequent: it has that
    number of *copies*, and a row draws one of them. So decoys of each frequency are about as many as features are,
    although most rare features are in no sampled row. A column that every row has is one decoy. Features of fewer than
    30 sampled rows are dealt out among these rows anew each time one is drawn: decoys that always stand in the same few
    rows would share one effect, of which a fit selects one.

    Parameters
    ----------
    source : Source
        Read once, and again to count the features of the sample if it has not all rows.
    seed : int
    room : int
        The most features and rows of the sample together; more only if that is a single row.
    """

    def __init__(self, source: Source, seed: int, room: int) -> None:
        self.seed, self.total_rows = seed, 0
        self.words = np.empty(0, np.uint64)
        self.rows = Batch(np.zeros(1, np.int64), np.empty(0, np.uint64), None)
        self._dropped: np.uint64 | None = None  # the least hash of the rows that are left out
        for batch, _ in source.batches(want_labels=False):
            self.total_rows += len(batch)
            self._add(batch)
            if self.rows.nnz + len(self.rows) > 2 * room:
                self._thin_out(room)
        self._thin_out(room)
        self.complete = self._dropped is None
        if self.complete:  # copies of a row share their decoys: each row once
            self.words, first = np.unique(self.words, return_index=True)
            self.rows = self.rows.take(first)
            self.copies = np.ones(self.rows.nnz, np.uint32)
        else:
            self.copies = self._copies(source)

    def _add(self, batch: Batch) -> None:
        words = self._words(batch)
        if self._dropped is not None:
            stay = np.flatnonzero(words < self._dropped)
            batch, words = batch.take(stay), words[stay]
        features = Batch(batch.indptr, batch.keys, batch.values)
        self.words = np.concatenate([self.words, words])
        self.rows = Batch.concat([self.rows, features]) if len(self.rows) else features

    def _thin_out(self, room: int) -> None:
        """Keep the rows of the least hashes, as many as there is room for; whatever the batches were."""
        order = np.argsort(self.words, kind="stable")
        sizes = np.cumsum(np.diff(self.rows.indptr)[order] + 1)
        stay = max(1, int(np.searchsorted(sizes, room, side="right")))
        if stay < len(order):
            self._dropped = self.words[order[stay]]
        self.words, self.rows = self.words[order[:stay]], self.rows.take(order[:stay])

    def _copies(self, source: Source) -> NDArray[np.uint32]:
        """The number of copies of each feature of each row; 0 of a rare feature, whose copies are in ``rare``."""
        keys, number, sampled = np.unique(self.rows.keys, return_inverse=True, return_counts=True)
        present = np.zeros(len(keys), np.int64)
        for batch, _ in source.batches(keys=keys, want_labels=False):
            present += np.bincount(np.searchsorted(keys, batch.keys), minlength=len(keys))
        frequency = sampled * (self.total_rows / max(1, len(self.words)))
        copies = np.maximum(1, np.rint(frequency / np.maximum(1, present))).astype(np.uint32)
        if source.dense_columns is not None:
            dense = np.isin(keys, source.dense_columns.keys)
            copies[dense], sampled[dense] = 1, _RARE
        rare = (sampled < _RARE)[number]
        self.rare, self.rare_copies = np.flatnonzero(rare), copies[number[rare]]
        return np.where(rare, np.uint32(0), copies[number])

    def of(self, batch: Batch, number: int) -> Batch:
        """The decoys of the rows of a batch, in one of many draws: features alone."""
        words = self._words(batch)
        if self.complete:  # a permutation: the row that many places later in the order of the hashes
            at = np.searchsorted(self.words, words) + 1 + number
            at %= max(1, len(self.words))
        else:
            drawn = _native.hash_keys(words, number + 1) >> np.uint64(32)
            at = (drawn * np.uint64(len(self.words)) >> np.uint64(32)).astype(np.int64)
        lengths = np.diff(self.rows.indptr)[at]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        entry = np.arange(indptr[-1]) + np.repeat(self.rows.indptr[at] - indptr[:-1], lengths)
        copies = self.copies[entry]
        within = (np.arange(len(entry)) - np.repeat(indptr[:-1], lengths)).astype(np.uint64)
        chance = _native.hash_keys(np.repeat(words, lengths) + within, _COPY)
        if len(rare := np.flatnonzero(copies == 0)):
            which = (chance[rare] >> np.uint64(32)) * np.uint64(len(self.rare)) >> np.uint64(32)
            entry[rare], copies[rare] = self.rare[which], self.rare_copies[which]
            chance[rare] = _native.hash_keys(chance[rare], _COPY)
        number_of = (chance >> np.uint64(32)) * copies.astype(np.uint64) >> np.uint64(32)
        values = None if self.rows.values is None else self.rows.values[entry]
        return Batch(indptr, decoy_keys(self.rows.keys[entry], number_of), values)

    def _words(self, batch: Batch) -> NDArray[np.uint64]:
        return _native.row_hashes(batch.indptr, batch.keys, batch.values, Split.DECOYS.salted(self.seed))


def real_keys(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The keys of features beside decoys: even hashes, so that ties favour neither."""
    return _native.hash_keys(keys, _NAMED) & ~np.uint64(1)


def decoy_keys(keys: NDArray[np.uint64], copy: NDArray[np.uint64] | int = 0) -> NDArray[np.uint64]:
    """The keys of the decoys of these features: odd hashes."""
    return _native.hash_keys(_native.hash_keys(keys, _COPY) + np.asarray(copy, np.uint64), _NAMED) | np.uint64(1)


def are_decoys(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which features of a fit to `WithDecoys` are decoys."""
    return (keys & np.uint64(1)).astype(np.bool_)


class WithDecoys(Wrapped):
    """The rows of a source, each with the features of another row as decoys.

    A decoy has the values of a real feature, is as frequent, and stands beside the decoys of the features that it
    stands beside; but it is in rows that say nothing about the labels. The hash of a row says whose features it gets:
    the same in every order and pass. Keys are hashes that tell decoys from others, without names.

    Parameters
    ----------
    sample : RowSample
        Rows of the same source.
    number : int
        The number of the draw.
    """

    def __init__(self, source: Source, sample: RowSample, number: int) -> None:
        super().__init__(source)
        self.space = FeatureSpace("index")
        self.sample, self.number = sample, number

    def _with(self, source: Source) -> Source:
        return WithDecoys(source, self.sample, self.number)

    def _settings(self) -> str:
        return f":decoys:{self.sample.seed}:{self.number}"

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        return self._shuffled_within(seed, rows=rows, features=features)

    @property
    def dense_columns(self) -> DenseColumns | None:
        dense = self.source.dense_columns
        if dense is None:
            return None
        return DenseColumns(np.concatenate([real_keys(dense.keys), decoy_keys(dense.keys)]))

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        for batch, cursor in self.source._read(rows, start, None, False, want_labels):
            both = _beside(batch, self.sample.of(batch, self.number))
            yield (both if only is None else both.keep(only)), cursor


def _beside(batch: Batch, decoys: Batch) -> Batch:
    """The rows of a batch, each with its decoys behind its own features."""
    own, more = np.diff(batch.indptr), np.diff(decoys.indptr)
    mine = np.arange(batch.nnz) + np.repeat(decoys.indptr[:-1], own)
    others = np.arange(decoys.nnz) + np.repeat(batch.indptr[1:], more)
    keys = np.empty(batch.nnz + decoys.nnz, np.uint64)
    keys[mine], keys[others] = real_keys(batch.keys), decoys.keys
    values = None
    if batch.values is not None or decoys.values is not None:
        values = np.ones(len(keys), np.float32)
        if batch.values is not None:
            values[mine] = batch.values
        if decoys.values is not None:
            values[others] = decoys.values
    return replace(batch, indptr=batch.indptr + decoys.indptr, keys=keys, values=values, names=None)
