"""The common part of the memory plans of the working-set methods."""

from __future__ import annotations

from dataclasses import dataclass

from thresher.core.memory import MB, PAGE, ReadLimits
from thresher.sources.base import Source

#: Batches in memory at a time, each with its text and its parsed rows.
_BATCHES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingSetPlan:
    """The common part of the memory plans. ``memory`` 0 means no limit.

    Attributes
    ----------
    outputs : int
        The number of problems.
    block : int
        Bytes of text per read.
    """

    memory: int
    outputs: int
    block: int

    @staticmethod
    def block_of(memory: int) -> int:
        """The block size for this much memory."""
        return ReadLimits.of(memory).block + 2 * PAGE if memory else MB

    @property
    def buffers(self) -> int:
        """Bytes of text and batches that are being read."""
        return _BATCHES * self.block * 15 // 4

    @property
    def slack(self) -> int:
        """Bytes for heap overhead and short-lived arrays."""
        return self.memory // 16

    @property
    def available(self) -> int:
        """Bytes besides slack and buffers."""
        return max(0, self.memory - self.slack - self.buffers)

    @property
    def limits(self) -> ReadLimits:
        """The limits for reading."""
        return ReadLimits.of(self.memory) if self.memory else ReadLimits()


def rows_in_plan(source: Source) -> tuple[int, str]:
    """The number of rows a plan report counts, and the words for it: one row where the number is unknown."""
    rows = source.total_rows
    return (1, "for each row; their number is not known yet") if rows is None else (rows, f"for {rows} rows")
