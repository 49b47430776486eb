"""Reads the blocks of a source in a random order, or in order and with their boundaries."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.sources.base import Source, Wrapped
from thresher.sources.blocks import BLOCK_BYTES, MAX_BLOCKS, SMALLEST_BLOCK, Blocks, Permutation

#: From this number on blocks grow to their usual size.
_MANY_BLOCKS = 2048
#: The batches of a source that is being read.
Started = Iterator[tuple[Batch, Cursor]]


class Permuted(Wrapped):
    """The blocks of a source in an order that follows from the seed; the rows of a block stay in order.

    A cursor holds the number of blocks before its block and, as ``past``, the rows read from that. Its ``inner`` tells
    it from a cursor of the source: with one of those, which an earlier version of Thresher may have stored, the pass
    is read to its end in the order of the source.
    """

    def __init__(self, source: Source, blocks: Blocks, seed: int) -> None:
        super().__init__(source)
        self.blocks_read = blocks
        self.seed = seed

    def _with(self, source: Source) -> Source:
        return source.permuted(self.seed)

    def _settings(self) -> str:
        return f":permuted:{self.seed}"

    def permuted(self, seed: int) -> Source:
        return self

    def shards(self, n: int) -> list[Source]:
        """The source itself: each shard would have other blocks."""
        return Source.shards(self, n)

    def files(self) -> list[str]:
        """No names, unless all rows are of one file."""
        found = super().files()
        return found if len(found) == 1 else []

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        return self.blocks_read.where(batch, row)

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        if start != Cursor() and start.inner is None:
            yield from self.source._read(rows, start, only, want_names, want_labels)
            return
        count, total = self.blocks_read.count, self.total_bytes or 0
        order = Permutation(count, self.seed)
        row = start.row
        numbers = (order[at] for at in range(start.offset, count))
        for batch, at, past, skipped in self.blocks_read.read(numbers, rows, only, want_names, want_labels):
            row += len(batch)
            done = start.offset + at
            read = total * (done + 1) // count
            yield (
                batch,
                Cursor(offset=done, row=row, past=past, inner=Cursor(), read=read, skipped=start.skipped + skipped),
            )


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
        from thresher.sources.text.text_blocks import TextBlocks

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
