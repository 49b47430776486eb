"""Labels drawn by chance: the rows of a source, each with the label of another row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.errors import DataError
from thresher.sources.base import Source, Wrapped
from thresher.sources.transforms.holdout import Split, groups_of, row_words

#: The most labels that are drawn from.
MOST_LABELS = 1 << 16


class LabelSample:
    """The labels of all rows, or of `MOST_LABELS` that a hash of their positions chooses.

    Parameters
    ----------
    source : Source
        Read once, without features.
    """

    def __init__(self, source: Source, seed: int) -> None:
        words, labels, row = np.empty(0, np.uint64), np.empty(0), 0
        for batch, _ in source.batches(keys=np.empty(0, np.uint64)):
            if batch.y is None or batch.y_indptr is not None:
                raise DataError(f"{source.describe()}: `permutations` needs one label for each row: leave it out")
            positions = np.arange(row, row + len(batch), dtype=np.uint64)
            row += len(batch)
            words = np.concatenate([words, _native.hash_keys(positions, Split.CHANCE.salted(seed))])
            labels = np.concatenate([labels, batch.y]) if len(labels) else batch.y
            if len(words) > 2 * MOST_LABELS:
                words, labels = _least(words, labels)
        self.labels: NDArray[Any] = _least(words, labels)[1]

    def drawn(self, words: NDArray[np.uint64]) -> NDArray[Any]:
        """The label that each word draws."""
        at = (words >> np.uint64(32)) * np.uint64(len(self.labels)) >> np.uint64(32)
        return self.labels[at.astype(np.intp)]


def _least(words: NDArray[np.uint64], labels: NDArray[Any]) -> tuple[NDArray[np.uint64], NDArray[Any]]:
    order = np.argsort(words, kind="stable")[:MOST_LABELS]
    return words[order], labels[order]


class DrawnLabels(Wrapped):
    """The rows of a source with labels that have nothing to do with them.

    A salted hash of a row draws its label from a sample of all labels. So each draw takes no memory for its rows, and
    gives a row the same label in every order. Copies of a row share a label, and so do rows of one group if the user's
    test rows are groups.

    Parameters
    ----------
    sample : LabelSample
    seed, number : int
        The number of the draw.
    """

    def __init__(self, source: Source, sample: LabelSample, seed: int, number: int) -> None:
        super().__init__(source)
        self.sample, self.seed, self.number = sample, seed, number
        self._by = groups_of(source) is not None

    def _with(self, source: Source) -> Source:
        return DrawnLabels(source, self.sample, self.seed, self.number)

    def _settings(self) -> str:
        return f":drawn-labels:{self.seed}:{self.number}"

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        # The hash needs the whole row, so unwanted keys are dropped after it.
        for batch, cursor in self.source._read(rows, start, None, want_names, want_labels):
            words = row_words(batch, Split.CHANCE.salted(self.seed), grid=self.hash_grid, by=self._by)
            drawn = replace(batch, y=self.sample.drawn(_native.hash_keys(words, self.number + 1)))
            yield (drawn if only is None else drawn.keep(only)), cursor
