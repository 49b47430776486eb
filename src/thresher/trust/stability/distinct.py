"""The number of distinct keys of a stream, in a fixed number of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native

#: The hashes kept. The standard error is 1 / sqrt(`SIZE`): 0.8 %.
SIZE = 1 << 14
#: The most hashes that wait to be merged with them, and the bytes of both while they are.
_WAITING = 1 << 16
BYTES = 4 * 8 * (SIZE + 2 * _WAITING)
_SEED = 0x2545F4914F6CDD1D


class DistinctKeys:
    """Counts distinct keys by their smallest hashes (KMV): exactly up to `SIZE` of them, approximately beyond.

    If h is the largest of the n smallest of all hashes in [0, 1), about (n - 1) / h are distinct. The result does not
    depend on the order of the keys, on their batches, or on how often each occurs.
    """

    def __init__(self) -> None:
        self._smallest = np.empty(0, np.uint64)
        self._waiting: list[NDArray[np.uint64]] = []
        self._count_waiting = 0

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Add keys."""
        for start in range(0, len(keys), _WAITING):
            hashes = _native.hash_keys(np.ascontiguousarray(keys[start : start + _WAITING]), _SEED)
            if len(self._smallest) == SIZE:
                hashes = hashes[hashes < self._smallest[-1]]
            self._waiting.append(hashes)
            self._count_waiting += len(hashes)
            if self._count_waiting > _WAITING:
                self._merge()

    def _merge(self) -> None:
        self._smallest = np.unique(np.concatenate([self._smallest, *self._waiting]))[:SIZE]
        self._waiting, self._count_waiting = [], 0

    def count(self) -> int:
        """The number of distinct keys."""
        self._merge()
        kept = len(self._smallest)
        if kept < SIZE:
            return kept
        return round((kept - 1) / ((float(self._smallest[-1]) + 1.0) * 2.0**-64))

    def state(self) -> NDArray[np.uint64]:
        """The hashes kept."""
        self._merge()
        return self._smallest

    def restore(self, state: NDArray[Any]) -> None:
        """Continue from a state; ValueError if it is none."""
        if state.dtype != np.uint64 or state.ndim != 1 or len(state) > SIZE or (state[1:] <= state[:-1]).any():
            raise ValueError("the hashes of keys are damaged")
        self._smallest, self._waiting, self._count_waiting = state.copy(), [], 0
