"""How a search for stand-ins divides its memory."""

from __future__ import annotations

from typing import NamedTuple

from thresher.core.memory import DEFAULT_MEMORY, parse_size

#: The most projections of a column, and the fewest; bytes of one.
MOST_BITS, _LEAST_BITS, _PROJECTION_BYTES = 64, 8, 8
#: Bytes of a key of a summary, with its stream and weight, and some to spare; and while it is merged: before sorting
#: and after.
_ENTRY_BYTES, _MERGED_BYTES = 24, 96
#: Bytes of a pair of columns with its sum, while pairs are collected.
_PAIR_BYTES = 64


#: Bytes of program code that the search loads.
_PROGRAM_BYTES = 20 << 20


def search_bytes(memory: str | int | None) -> int:
    """The most bytes of a search; None: the default of online methods."""
    return parse_size(DEFAULT_MEMORY if memory is None else memory)


class Room(NamedTuple):
    """The sizes of what a search holds.

    Attributes
    ----------
    keys : int
        Keys counted in all rows, to find common columns.
    waiting : int
        Additions that wait to be merged into summaries, and multiplications at a time.
    of_rows : int
        Keys of all summaries of what stands in the rows of selected features.
    projections : int
        Projections, of all columns together.
    pairs : int
        Pairs of columns whose cosine is computed.
    """

    keys: int
    waiting: int
    of_rows: int
    projections: int
    pairs: int

    @classmethod
    def of(cls, memory: str | int | None) -> Room:
        """The room in this memory; None: the default of online methods."""
        allowed = search_bytes(memory)
        allowed = max(allowed // 2, allowed - _PROGRAM_BYTES)
        return cls(
            keys=max(1024, allowed // (8 * _MERGED_BYTES)),
            waiting=max(4096, allowed // (8 * _MERGED_BYTES)),
            of_rows=max(1024, allowed // (3 * _ENTRY_BYTES)),
            projections=max(1024, allowed // (16 * _PROJECTION_BYTES)),
            pairs=max(1024, allowed // (4 * _PAIR_BYTES)),
        )

    def bits(self, columns: int) -> int:
        """The number of projections of each of some columns."""
        bits = MOST_BITS
        while bits > _LEAST_BITS and bits * columns > self.projections:
            bits //= 2
        return bits
