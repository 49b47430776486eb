"""Reads the first rows of a source before the fit does, also if it can be read only once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.labels import Label, distinct_labels
from thresher.sources.base import Source, Wrapped


class Peeked(Wrapped):
    """A source whose first rows were read already; the next pass returns them, and then the others.

    That pass reads batches as the first one began to: of the same number of rows, and all features with names.
    """

    def __init__(
        self, source: Source, held: list[tuple[Batch, Cursor]], reading: Iterator[tuple[Batch, Cursor]]
    ) -> None:
        super().__init__(source)
        self._held = held
        self._reading = reading

    def _with(self, source: Source) -> Source:
        return self  # reading has begun, and other limits or an order come too late

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        while self._held:
            batch, cursor = self._held.pop(0)
            yield (batch if only is None else batch.keep(only)), cursor
        for batch, cursor in self._reading:
            yield (batch if only is None else batch.keep(only)), cursor


def peek(source: Source, n: int, *, batch_rows: int) -> tuple[Source, set[Label]]:
    """The distinct labels of the first ``n`` rows, and the source to read from then on."""
    if source.rewindable:
        reading = source.batches(min(n, batch_rows), keys=np.empty(0, np.uint64))
    else:
        reading = source.batches(batch_rows, want_names=not source.space.invertible)
    held: list[tuple[Batch, Cursor]] = []
    found: set[Label] = set()
    left = n
    for batch, cursor in reading:
        found |= distinct_labels(batch.take(slice(left)), partial(source.where, cursor, batch))
        left -= len(batch)
        if not source.rewindable:
            held.append((batch, cursor))
        if left <= 0:
            break
    return (source if source.rewindable else Peeked(source, held, reading)), found
