"""Complementary pairs: which half of each pair a row belongs to, by salted bits of its hash."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch
from thresher.sources.base import Source
from thresher.sources.transforms.holdout import Split, groups_of, row_words

Sides = NDArray[np.int8]

#: The distance of the seeds of two pairs, for regions of sequences.
_SEEDS_APART = 1_000_003


class Pairs:
    """The halves of the rows of a source.

    Copies of a row, and rows of one group if the user's test rows are groups, are in one half of each pair. Fragments
    of sequences are divided by regions: those that overlap both halves of a pair are in neither.

    Parameters
    ----------
    source : Source
        Where the batches come from.
    seed : int
    """

    def __init__(self, source: Source, seed: int) -> None:
        self.source, self._seed = source, seed
        self._by = groups_of(source) is not None

    @property
    def by_words(self) -> bool:
        """Whether a word for each row gives its halves."""
        return not self.source.overlapping

    def words(self, batch: Batch) -> NDArray[np.uint64]:
        """The word of each row."""
        seed = Split.PAIRS.salted(self._seed)
        return row_words(batch, seed, grid=self.source.hash_grid, by=self._by)

    @staticmethod
    def bits(words: NDArray[np.uint64], pair: int) -> Sides:
        """The half of a pair, 0 or 1, that each row belongs to."""
        return (_native.hash_keys(words, pair) >> np.uint64(63)).astype(np.int8)

    def sides(self, batch: Batch, pairs: Iterable[int]) -> Sides:
        """The half of each of these pairs that each row belongs to (pairs x rows): 0, 1, or -1 for neither."""
        if self.by_words:
            words = self.words(batch)
            return np.stack([self.bits(words, pair) for pair in pairs])
        seed = Split.PAIRS.salted(self._seed)
        each = [self.source.sides(0.5, seed + pair * _SEEDS_APART & (1 << 64) - 1, batch, True) for pair in pairs]
        return np.stack(each)
