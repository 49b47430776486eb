"""The rows of any source in another order, through a bounded buffer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.memory import ReadLimits
from thresher.sources.base import Source


class Shuffled(Source):
    """Fill a buffer with rows, hand them out permuted, fill it again.

    A buffer ends with the row that brings it to ``rows`` rows or ``features`` features, whatever
    the batches are that the rows come in, and its order follows from the seed and the number of
    rows before it. So a cursor is the place where its buffer starts and how much of it was handed
    out, and reading goes on from there with the very same rows.
    """

    def __init__(self, source: Source, *, seed: int, rows: int, features: int) -> None:
        self.source = source
        self.seed = seed
        self.rows = rows
        self.features = features
        self.space = source.space
        self.rewindable = source.rewindable
        self.total_bytes = source.total_bytes
        self.total_rows = source.total_rows

    def fingerprint(self) -> str:
        return f"{self.source.fingerprint()}:shuffled:{self.seed}:{self.rows}:{self.features}"

    def describe(self) -> str:
        return self.source.describe()

    def reading(self) -> dict[str, Any] | None:
        return self.source.reading()

    def limited(self, limits: ReadLimits) -> Source:
        return Shuffled(self.source.limited(limits), seed=self.seed, rows=self.rows, features=self.features)

    def files(self) -> list[str]:
        return self.source.files()

    def skipped_files(self) -> dict[str, int]:
        return self.source.skipped_files()

    def prepare(self) -> None:
        self.source.prepare()

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        inner = cursor.inner or Cursor()
        here = self.source.where(replace(inner, part=min(inner.part, cursor.part)), batch, row)
        if inner.part == cursor.part:
            return here
        return f"{here} (or that line of a file soon after it: the shuffle buffer spans several)"

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        emitted = start.offset  # rows of the buffer handed out already
        first = start.row - emitted  # rows before the buffer
        for buffer, begin, end in self._buffers(start.inner or Cursor(), want_names, want_labels):
            order = np.random.default_rng([self.seed, first]).permutation(len(buffer))
            for at in range(emitted, max(1, len(buffer)), rows):
                batch = buffer.take(order[at : at + rows])
                done = at + len(batch)
                last = done == len(buffer)
                place = Cursor(
                    part=begin.part if last else end.part,  # with the inner part: the first and last of the buffer
                    offset=0 if last else done,
                    row=first + done,
                    inner=end if last else begin,
                    read=end.read,
                    skipped=end.skipped,
                )
                yield (batch if only is None else batch.keep(only)), place
            emitted = 0
            first += len(buffer)

    def _buffers(self, start: Cursor, want_names: bool, want_labels: bool) -> Iterator[tuple[Batch, Cursor, Cursor]]:
        """The rows in buffers, each with the cursors around it."""
        held: list[Batch] = []
        n = nnz = 0
        begin = before = start
        batch = None
        # All features are asked for, since they decide where a buffer ends; `only` is applied later.
        for batch, after in self.source.batches(start=start, want_names=want_names, want_labels=want_labels):
            offset = before.skip if before is start else 0
            taken = 0
            while taken < len(batch):
                nnz_after = nnz + (batch.indptr[taken + 1 :] - batch.indptr[taken])
                full = (n + np.arange(1, len(batch) - taken + 1) >= self.rows) | (nnz_after >= self.features)
                reached = taken + (int(np.argmax(full)) + 1 if full.any() else len(batch) - taken)
                held.append(batch.take(slice(taken, reached)) if (taken, reached) != (0, len(batch)) else batch)
                n += reached - taken
                nnz += int(batch.indptr[reached] - batch.indptr[taken])
                taken = reached
                if full.any():
                    end = after if taken == len(batch) else replace(before, skip=offset + taken)
                    yield Batch.concat(held), begin, end
                    held, n, nnz, begin = [], 0, 0, end
            before = after
        if held:
            yield Batch.concat(held), begin, before
        elif batch is not None and len(batch) == 0:  # only its cursor matters
            yield batch, begin, before
