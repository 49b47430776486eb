"""What the memory plans of working-set methods share."""

from __future__ import annotations

from dataclasses import dataclass

from thresher.core.memory import MB, PAGE, ReadLimits
from thresher.sources.base import Source

#: Batches alive at once, each of a block's text and what it is parsed into.
_BATCHES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingSetPlan:
    """What the plans of all working-set methods share. Without a ``memory`` (0) there is nothing to keep within.

    Attributes
    ----------
    outputs : int
        Problems that are solved.
    block : int
        Bytes of text read at a time.
    """

    memory: int
    outputs: int
    block: int

    @staticmethod
    def block_of(memory: int) -> int:
        """The block of text that suits the memory."""
        return max(16 << 10, min(MB, memory // 128)) if memory else MB

    @property
    def buffers(self) -> int:
        """Text and batches on their way."""
        return _BATCHES * self.block * 15 // 4

    @property
    def slack(self) -> int:
        """What a heap keeps to itself, and arrays that are there for a moment."""
        return self.memory // 16

    @property
    def left(self) -> int:
        """What that and reading leave."""
        return max(0, self.memory - self.slack - self.buffers)

    @property
    def limits(self) -> ReadLimits:
        """What reading may hold."""
        if not self.memory:
            return ReadLimits()
        return ReadLimits(block=self.block - 2 * PAGE, line_cap=min(16 * MB, self.memory // 4), window=self.memory // 4)


def rows_in_plan(source: Source) -> tuple[int, str]:
    """The number of rows a plan report counts, and the words for it: one row where the number is unknown."""
    rows = source.total_rows
    return (1, "for each row; their number is not known yet") if rows is None else (rows, f"for {rows} rows")
