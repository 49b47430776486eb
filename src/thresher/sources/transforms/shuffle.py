"""Shuffles the rows of any source through a bounded buffer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.sources.base import Source, Wrapped


class Shuffled(Wrapped):
    """Fill a buffer with rows, yield them permuted, fill it again.

    A buffer ends with the row that brings it to ``rows`` rows or ``features`` features, whatever the batches of the
    source are. Its permutation follows from the seed and the number of rows before it. A cursor therefore holds the
    start of its buffer and the number of rows yielded from it, and reading resumes there with the same rows.
    """

    def __init__(self, source: Source, *, seed: int, rows: int, features: int) -> None:
        super().__init__(source)
        self.seed = seed
        self.rows = rows
        self.features = features

    def _with(self, source: Source) -> Source:
        return Shuffled(source, seed=self.seed, rows=self.rows, features=self.features)

    def _settings(self) -> str:
        return f":shuffled:{self.seed}:{self.rows}:{self.features}"

    def permuted(self, seed: int) -> Source:
        return self

    def shards(self, n: int) -> list[Source]:
        """The source itself: a buffer spans the parts that shards would split."""
        return Source.shards(self, n)

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        inner = cursor.inner or Cursor()
        here = self.source.where(replace(inner, part=min(inner.part, cursor.part)), batch, row)
        if inner.part == cursor.part:
            return here
        return f"{here} (or that line of one of the next files: the shuffle buffer spans several)"

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        emitted = start.offset  # rows of the buffer that were already yielded
        first = start.row - emitted  # rows before the buffer
        for buffer, begin, end in self._buffers(start.inner or Cursor(), want_names, want_labels):
            order = np.random.default_rng([self.seed, first]).permutation(len(buffer))
            for at in range(emitted, max(1, len(buffer)), rows):
                batch = buffer.take(order[at : at + rows])
                done = at + len(batch)
                last = done == len(buffer)
                place = Cursor(
                    part=begin.part if last else end.part,  # with `inner.part`: the first and last file of the buffer
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
        """Yield the rows in buffers, each with the cursors before and behind it."""
        held: list[Batch] = []
        n = nnz = 0
        begin = before = start
        batch = None
        # A buffer ends after a number of features, so all are read; `only` is applied later.
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
        elif batch is not None and len(batch) == 0:  # its cursor counts skipped lines
            yield batch, begin, before
