"""The heaviest keys of several streams in bounded memory: Misra-Gries summaries.

A summary holds at most ``room`` keys. When it would hold more, the weight of the heaviest key that has no room is
subtracted from all of them [1]_. What is subtracted in all, the error of the stream, is at most its weight divided by
``room + 1``: a key weighs at least what the summary says, and at most that and the error.

References
----------
.. [1] P. K. Agarwal, G. Cormode, Z. Huang, J. M. Phillips, Z. Wei, K. Yi, "Mergeable Summaries", TODS 38, 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]


#: Summaries are merged in parts of about this number of keys, so that only a part exists twice.
_PART = 1 << 16


class Entries(NamedTuple):
    """Weighted keys of streams."""

    streams: Numbers
    keys: Keys
    weights: Floats

    @classmethod
    def joined(cls, parts: Sequence[Entries]) -> Entries:
        """Concatenate some entries."""
        if not parts:
            return cls(np.empty(0, np.int32), np.empty(0, np.uint64), np.empty(0))
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def take(self, which: NDArray[Any] | slice) -> Entries:
        """Some of the entries."""
        return Entries(self.streams[which], self.keys[which], self.weights[which])

    def summed(self) -> Entries:
        """One entry for each stream and key, in this order."""
        order = np.lexsort((self.keys, self.streams))
        streams, keys, weights = self.take(order)
        first = np.ones(len(keys), np.bool_)
        first[1:] = (streams[1:] != streams[:-1]) | (keys[1:] != keys[:-1])
        starts = np.flatnonzero(first)
        return Entries(streams[starts], keys[starts], np.add.reduceat(weights, starts) if len(starts) else weights)


class HeavyHitters:
    """The summaries of some streams of weighted keys.

    Additions wait until ``waiting`` of them can be merged at once, which depends on their number alone.

    Attributes
    ----------
    error : array of shape (streams,)
        The error of each stream.
    """

    def __init__(self, streams: int, room: int, waiting: int) -> None:
        self.error = np.zeros(streams)
        self._room, self._most_waiting = room, waiting
        self._streams_of_part = max(1, _PART // room)
        self._parts = [Entries.joined([])] * -(-streams // self._streams_of_part)
        self._waiting: list[Entries] = []
        self._count = 0

    def add(self, streams: NDArray[Any], keys: Keys, weights: Floats) -> bool:
        """Add weighted keys of streams; whether this merged them."""
        self._waiting.append(Entries(streams.astype(np.int32), keys, weights))
        self._count += len(keys)
        if self._count < self._most_waiting:
            return False
        self._merge()
        return True

    def entries(self) -> Entries:
        """The streams, keys and least weights of all entries, by stream and key."""
        self._merge()
        return Entries.joined(self._parts)

    def drop(self, least: Floats) -> None:
        """Drop the keys that weigh less than ``least`` of their stream, whatever the error is."""
        for at, part in enumerate(self._parts):
            self._parts[at] = part.take(part.weights + self.error[part.streams] >= least[part.streams])

    def _merge(self) -> None:
        added, self._waiting, self._count = Entries.joined(self._waiting), [], 0
        if not len(added.keys):
            return
        added = added.summed()
        ends = np.searchsorted(added.streams, np.arange(1, len(self._parts) + 1) * self._streams_of_part)
        start = 0
        for at, end in enumerate(ends.tolist()):
            if end > start:
                both = Entries.joined([self._parts[at], added.take(slice(start, end))])
                self._parts[at] = self._shortened(both.summed())
            start = end

    def _shortened(self, part: Entries) -> Entries:
        """Subtract from each stream with too many keys the weight of the heaviest that has no room."""
        first = int(part.streams[0])
        sizes = np.bincount(part.streams - first)
        full = np.flatnonzero(sizes > self._room)
        if not len(full):
            return part
        heaviest_first = np.lexsort((-part.weights, part.streams))
        places = (np.cumsum(sizes) - sizes)[full] + self._room
        cut = np.zeros(len(sizes))
        cut[full] = part.weights[heaviest_first[places]]
        self.error[first : first + len(cut)] += cut
        weights = part.weights - cut[part.streams - first]
        return part._replace(weights=weights).take(weights > 0)
