"""Blocks of a source: pieces that can be read in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from thresher import _native
from thresher.core.batch import Batch

#: The usual size of a block, and the size of the blocks of small data. Smaller blocks mix the rows better, larger ones
#: are read faster.
BLOCK_BYTES, SMALLEST_BLOCK = 64 << 10, 16 << 10
#: About the largest number of blocks: those of more data are larger.
MAX_BLOCKS = 1 << 18
#: The bits of `Batch.line` that hold the line; the others hold a number that tells which file or block it is a line of.
LINE_BITS = 40


class BlockRows(NamedTuple):
    """Rows of blocks that were read one after the other.

    ``at`` is the number of blocks before that of the last row, ``past`` the number of its rows so far, ``skipped`` the
    number of malformed lines in all blocks so far, and ``here`` the number of those in the block of the last row.
    """

    batch: Batch
    at: int
    past: int
    skipped: int
    here: int = 0


class Blocks(ABC):
    """Consecutive pieces of a source, each with some of its rows, that can be read in any order.

    They follow from the data alone, never from the sizes of batches or of reads.
    """

    #: The number of blocks.
    count: int

    @abstractmethod
    def read(
        self, numbers: Iterator[int], rows: int, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[BlockRows]:
        """Yield the rows of the blocks with these numbers; the other parameters are those of `Source.batches`."""

    @abstractmethod
    def where(self, batch: Batch, row: int) -> str:
        """`Source.where`, for a batch of any block."""


def tagged(batch: Batch, tag: int) -> Batch:
    """The batch with a number added to its lines, which tells what they are lines of."""
    return batch if batch.line is None else replace(batch, line=batch.line + (tag << LINE_BITS))


def split_tag(line: int) -> tuple[int, int]:
    """The number that `tagged` added to a line, and the line."""
    return line >> LINE_BITS, line & ((1 << LINE_BITS) - 1)
