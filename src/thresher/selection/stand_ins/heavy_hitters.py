"""The heaviest keys of several streams in bounded memory: Misra-Gries summaries.

A summary holds at most ``room`` keys. When it would hold more, the weight of the heaviest key that has no room is
subtracted from all of them [1]_. What is subtracted in all, the error of the stream, is at most its weight divided by
``room + 1``: a key weighs at least what the summary says, and at most that and the error.

References
----------
.. [1] P. K. Agarwal, G. Cormode, Z. Huang, J. M. Phillips, Z. Wei, K. Yi, "Mergeable Summaries", TODS 38, 2013.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: Bytes of a key in a summary: its stream, itself and its weight.
ENTRY_BYTES = 24


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
        self._streams, self._keys, self._weights = np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0)
        self._waiting: list[tuple[Numbers, Keys, Floats]] = []
        self._count = 0

    def add(self, streams: Numbers, keys: Keys, weights: Floats) -> bool:
        """Add weighted keys of streams; whether this merged them."""
        self._waiting.append((streams, keys, weights))
        self._count += len(keys)
        if self._count < self._most_waiting:
            return False
        self._merge()
        return True

    def entries(self) -> tuple[Numbers, Keys, Floats]:
        """The streams, keys and least weights of all entries, by stream and key."""
        self._merge()
        return self._streams, self._keys, self._weights

    def drop(self, least: Floats) -> None:
        """Drop the keys that weigh less than ``least`` of their stream, whatever the error is."""
        stays = self._weights + self.error[self._streams] >= least[self._streams]
        self._keep(stays)

    def _keep(self, stays: NDArray[np.bool_]) -> None:
        self._streams, self._keys, self._weights = self._streams[stays], self._keys[stays], self._weights[stays]

    def _merge(self) -> None:
        if not self._waiting:
            return
        parts = [(self._streams, self._keys, self._weights), *self._waiting]
        self._waiting, self._count = [], 0
        streams, keys, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.lexsort((keys, streams))
        streams, keys, weights = streams[order], keys[order], weights[order]
        first = np.ones(len(keys), np.bool_)
        first[1:] = (streams[1:] != streams[:-1]) | (keys[1:] != keys[:-1])
        starts = np.flatnonzero(first)
        self._streams, self._keys = streams[starts], keys[starts]
        self._weights = np.add.reduceat(weights, starts) if len(starts) else weights
        self._shorten()

    def _shorten(self) -> None:
        """Subtract from each stream with too many keys the weight of the heaviest that has no room."""
        sizes = np.bincount(self._streams, minlength=len(self.error))
        full = np.flatnonzero(sizes > self._room)
        if not len(full):
            return
        heaviest_first = np.lexsort((-self._weights, self._streams))
        places = (np.cumsum(sizes) - sizes)[full] + self._room
        cut = np.zeros(len(self.error))
        cut[full] = self._weights[heaviest_first[places]]
        self.error += cut
        self._weights = self._weights - cut[self._streams]
        self._keep(self._weights > 0)
