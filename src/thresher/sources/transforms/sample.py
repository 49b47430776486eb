"""A sample of the rows of a source, held in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.sources.base import Source, Wrapped
from thresher.sources.transforms.holdout import Split, row_shares

#: The bytes that are read of a large source, and the least share of rows: copies of one row have one hash.
_READ, _LEAST_SHARE = 64 << 20, 2.0**-40


class Sample(Wrapped):
    """Some rows of a source, in memory and in any order. What keys mean, and which rows overlap, the source knows."""

    def __init__(self, source: Source, batch: Batch, order: NDArray[np.int64] | None = None) -> None:
        super().__init__(source)
        self.batch = batch
        self.order = np.arange(len(batch)) if order is None else order
        self.total_rows, self.total_bytes = len(self.order), None
        self.rewindable, self.parses_files = True, False

    def _with(self, source: Source) -> Source:
        return Sample(source, self.batch, self.order)

    def _settings(self) -> str:
        keys = np.ascontiguousarray(self.batch.keys)
        digest = hashlib.blake2b(keys.tobytes() + self.order.tobytes(), digest_size=8).hexdigest()
        return f":sample:{len(self.batch)}:{digest}"

    @property
    def mixes(self) -> bool:
        return True

    def permuted(self, seed: int) -> Source:
        return Sample(self.source, self.batch, np.random.default_rng(seed).permutation(self.order))

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        return self.permuted(seed)

    def shards(self, n: int) -> list[Source]:
        return Source.shards(self, n)

    @property
    def most_parts(self) -> int:
        return len(self.order)

    def nth_part(self, part: int, parts: int) -> Source:
        return Sample(self.source, self.batch, self.order[part::parts])

    def files(self) -> list[str]:
        return []

    def skipped_files(self) -> dict[str, int]:
        return {}

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        return f"{self.describe()}, {Source.where(self, cursor, batch, row)} of a sample"

    def counts_at(self, cursor: Cursor) -> dict[str, Any]:
        return {"rows": cursor.row, "rows_in_pass": cursor.row, "total_rows": self.total_rows}

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        for at in range(start.row, len(self.order), rows):
            batch = self.batch.take(self.order[at : at + rows])
            yield (batch if only is None else batch.keep(only)), Cursor(row=at + len(batch))


def take_sample(source: Source, seed: int, *, rows: int, values: int) -> Sample:
    """A sample of at most ``rows`` rows with at most ``values`` values, by a hash of the rows.

    Half of the rows that are held are dropped whenever they are too many. Of a large source, its first 64 MB are read,
    of blocks from all over it if it can be read out of order.
    """
    share = 1.0
    held: list[tuple[Batch, NDArray[np.float64]]] = []
    for whole, cursor in source.permuted(seed).batches(want_names=not source.space.invertible):
        held.append(_below(share, whole, row_shares(whole, seed, Split.SAMPLE)))
        while share > _LEAST_SHARE and (
            sum(len(batch) for batch, _ in held) > rows or sum(batch.nnz for batch, _ in held) > values
        ):
            share /= 2
            held = [_below(share, *each) for each in held]
        if cursor.read > _READ:
            break
    return Sample(source, Batch.concat([batch for batch, _ in held]))


def _below(share: float, batch: Batch, shares: NDArray[np.float64]) -> tuple[Batch, NDArray[np.float64]]:
    """The rows whose hash is below a share of all."""
    chosen = np.flatnonzero(shares < share)
    return (batch, shares) if len(chosen) == len(batch) else (batch.take(chosen), shares[chosen])
