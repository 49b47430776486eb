"""Notes where the blocks of a source begin while its rows are written."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.sources.base import Source, Wrapped
from thresher.sources.blocks import BLOCK_BYTES, MAX_BLOCKS, SMALLEST_BLOCK
from thresher.sources.text.text_blocks import TextBlocks

#: From this number on blocks grow to their usual size.
_MANY_BLOCKS = 2048
#: The batches of a source that is being read.
Started = Iterator[tuple[Batch, Cursor]]


class InBlocks(Wrapped):
    """The rows of a source in order, and the row and the number of skipped lines before each of its blocks.

    The blocks of a source that cannot be read out of order end with the row that brings them to a size. It grows with
    the number of rows, so that blocks are small against the data and their number is limited. What is known is that of
    the last pass from the beginning with all features. ``started`` are the batches of a source that cannot be read
    again.
    """

    def __init__(self, source: Source, started: Started | None = None) -> None:
        super().__init__(source)
        self._started = started
        self._restart()

    def _restart(self) -> None:
        self._starts = array("q")
        self._skips = array("q")
        self._last = Cursor()
        self._unit = SMALLEST_BLOCK
        self._size = 0  # of the rows of the current block

    def _with(self, source: Source) -> Source:
        return InBlocks(source)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The rows before each block, and in all."""
        return np.array([*self._starts, self._last.row], np.int64)

    @property
    def skips(self) -> NDArray[np.int64]:
        """The skipped lines before each block, and in all."""
        return np.array([*self._skips, self._last.skipped], np.int64)

    def _begin(self, cursor: Cursor) -> None:
        self._starts.append(cursor.row)
        self._skips.append(cursor.skipped)

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        if start != Cursor() or only is not None:
            yield from self.source._read(rows, start, only, want_names, want_labels)
            return
        self._restart()
        blocks = None if self._started is not None else self.source.blocks()
        if isinstance(blocks, TextBlocks) and blocks.count > 1:
            for batch, cursor in blocks.in_order(rows, want_names, want_labels, self._begin):
                self._last = cursor
                yield batch, cursor
            return
        self._begin(start)
        reading = self._started or self.source._read(rows, start, only, want_names, want_labels)
        for batch, cursor in reading:
            if blocks is None:
                self._cut(batch)
            self._last = cursor
            yield batch, cursor

    def _cut(self, batch: Batch) -> None:
        """Note where blocks begin in the next rows."""
        # About the size of a text: 8 bytes for a feature, 16 for a label.
        ends = self._size + 8 * batch.indptr[1:] + 16 * np.arange(1, len(batch) + 1)
        while (last := int(np.searchsorted(ends, self._unit))) < len(batch):
            self._begin(replace(self._last, row=self._last.row + last + 1))
            ends -= ends[last]
            if len(self._starts) > (_MANY_BLOCKS if self._unit < BLOCK_BYTES else MAX_BLOCKS):
                self._starts, self._skips = self._starts[::2], self._skips[::2]
                self._unit *= 2
        self._size = int(ends[-1]) if len(batch) else self._size
