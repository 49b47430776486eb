"""Blocks of a source: pieces that can be read in any order, and a permutation of their numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch

#: The usual size of a block, and the size of the blocks of small data. Smaller blocks mix the rows better, larger ones
#: are read faster.
BLOCK_BYTES, SMALLEST_BLOCK = 64 << 10, 16 << 10
#: About the largest number of blocks: those of more data are larger.
MAX_BLOCKS = 1 << 18
#: The bits of `Batch.line` that hold the line; the others hold a number that tells which file or block it is a line of.
_LINE_BITS = 40
_ROUNDS = 6
_WORD = (1 << 64) - 1


class BlockRows(NamedTuple):
    """Rows of blocks that were read one after the other.

    ``at`` is the number of blocks before that of the last row, ``past`` the number of its rows so far, and ``skipped``
    the number of malformed lines in all blocks so far.
    """

    batch: Batch
    at: int
    past: int
    skipped: int


class Blocks(ABC):
    """Consecutive pieces of a source, each with some of its rows, that can be read in any order.

    They follow from the data alone, never from the sizes of batches or of reads.
    """

    #: The number of blocks.
    count: int

    @abstractmethod
    def read(
        self,
        numbers: Iterator[int],
        rows: int,
        only: _native.KeyIndex | None,
        want_names: bool,
        want_labels: bool,
    ) -> Iterator[BlockRows]:
        """Yield the rows of the blocks with these numbers; the other parameters are those of `Source.batches`."""

    @abstractmethod
    def where(self, batch: Batch, row: int) -> str:
        """`Source.where`, for a batch of any block."""


def tagged(batch: Batch, tag: int) -> Batch:
    """The batch with a number added to its lines, which tells what they are lines of."""
    return batch if batch.line is None else replace(batch, line=with_tags(batch.line, np.int64(tag)))


def with_tags(lines: NDArray[np.int64], tags: NDArray[np.int64] | np.int64) -> NDArray[np.int64]:
    """Lines with these numbers added."""
    return lines + (tags << np.int64(_LINE_BITS))


def split_tag(line: int) -> tuple[int, int]:
    """The number that `tagged` added to a line, and the line."""
    return line >> _LINE_BITS, line & ((1 << _LINE_BITS) - 1)


class Permutation:
    """A random permutation of ``range(n)`` that takes no memory.

    A Feistel network permutes the numbers of an even number of bits; a number beyond ``n`` is permuted again until it
    is below ``n`` (cycle walking).

    Examples
    --------
    >>> order = Permutation(5, seed=1)
    >>> sorted(order[i] for i in range(5))
    [0, 1, 2, 3, 4]
    """

    def __init__(self, n: int, seed: int) -> None:
        self._n = n
        self._half = max(1, ((n - 1).bit_length() + 1) // 2)
        words = [_mix(_mix(seed & _WORD) + i) for i in range(2 * _ROUNDS)]
        self._keys = list(zip(words[::2], words[1::2], strict=True))

    def __getitem__(self, i: int) -> int:
        half = self._half
        mask = (1 << half) - 1
        while True:
            high, low = i >> half, i & mask
            for shift, factor in self._keys:
                high, low = low, high ^ ((low + shift) * (factor | 1) & _WORD) >> (64 - half)
            i = high << half | low
            if i < self._n:
                return i


def _mix(word: int) -> int:
    """A hash of 64 bits (the finalizer of SplitMix64)."""
    word = (word + 0x9E3779B97F4A7C15) & _WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31
