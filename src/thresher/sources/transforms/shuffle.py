"""Shuffles the rows of any source: its blocks come in a random order, and their rows through a bounded buffer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.sources.base import Source, Wrapped
from thresher.sources.blocks import Blocks

#: Bytes of a feature in the buffer: key and value, the word of its name and 32 bytes of text. Longer names are usual up
#: to `USUAL_NAME` bytes; each byte over that counts too.
FEATURE_BYTES, USUAL_NAME = 12 + 8 + 32, 64
_ROUNDS = 6
#: Places permuted at a time.
_PLACES = 256
_WORD = (1 << 64) - 1


class Permutation:
    """A random permutation of ``range(n)`` that takes no memory.

    A Feistel network permutes the numbers of an even number of bits; a number beyond ``n`` is permuted again until it
    is below ``n`` (cycle walking).

    Examples
    --------
    >>> order = Permutation(5, seed=1)
    >>> sorted(order[i] for i in range(5))
    [0, 1, 2, 3, 4]
    """

    def __init__(self, n: int, seed: int) -> None:
        self._n = n
        self._half = max(1, ((n - 1).bit_length() + 1) // 2)
        words = [_mix(_mix(seed & _WORD) + i) for i in range(2 * _ROUNDS)]
        self._keys = list(zip(words[::2], words[1::2], strict=True))

    def __getitem__(self, i: int) -> int:
        return int(self.take(np.array([i]))[0])

    def take(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers at some places."""
        found = self._permuted(places.astype(np.uint64))
        while len(again := np.flatnonzero(found >= np.uint64(self._n))):
            found[again] = self._permuted(found[again])
        return found.astype(np.int64)

    def _permuted(self, i: NDArray[np.uint64]) -> NDArray[np.uint64]:
        half = np.uint64(self._half)
        high, low = i >> half, i & np.uint64((1 << self._half) - 1)
        for shift, factor in self._keys:
            high, low = low, high ^ (low + np.uint64(shift)) * np.uint64(factor | 1) >> np.uint64(64 - self._half)
        return high << half | low


def _mix(word: int) -> int:
    """A hash of 64 bits (the finalizer of SplitMix64)."""
    word = (word + 0x9E3779B97F4A7C15) & _WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31


def _in_order(order: Permutation, places: range) -> Iterator[int]:
    """The numbers at places, some hundred at a time: one by one they take longer than reading their blocks."""
    for at in range(0, len(places), _PLACES):
        yield from order.take(np.array(places[at : at + _PLACES])).tolist()


class Permuted(Wrapped):
    """The blocks of a source in an order that follows from the seed; the rows of a block stay in order.

    A cursor holds the number of blocks before its block and, as ``past``, the rows read from that. Its ``inner`` tells
    it from a cursor of the source: with one of those, which an earlier version of Thresher may have stored, the pass
    is read to its end in the order of the source.

    Parameters
    ----------
    part, parts : int
        Read every ``parts``-th block of that order only, from number ``part`` on.
    """

    def __init__(self, source: Source, blocks: Blocks, seed: int, part: int = 0, parts: int = 1) -> None:
        super().__init__(source)
        self.blocks_read = blocks
        self.seed = seed
        self.part, self.parts = part, parts
        if parts > 1:
            self.total_rows = None
            self.total_bytes = None if source.total_bytes is None else source.total_bytes // parts

    def _with(self, source: Source) -> Source:
        return source.permuted(self.seed)

    def _settings(self) -> str:
        return f":permuted:{self.seed}" + (f":{self.part}/{self.parts}" if self.parts > 1 else "")

    def permuted(self, seed: int) -> Source:
        return self

    @property
    def most_parts(self) -> int:
        return self.blocks_read.count

    def nth_part(self, part: int, parts: int) -> Source:
        return Permuted(self.source, self.blocks_read, self.seed, part, parts)

    def shards(self, n: int) -> list[Source]:
        """The source itself: each shard would have other blocks."""
        return Source.shards(self, n)

    def files(self) -> list[str]:
        """No names, unless all rows are of one file."""
        found = super().files()
        return found if len(found) == 1 else []

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        return self.blocks_read.where(batch, row)

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        if start != Cursor() and start.inner is None:
            yield from self.source._read(rows, start, only, want_names, want_labels)
            return
        count, total = self.blocks_read.count, self.total_bytes or 0
        order = Permutation(count, self.seed)
        row = start.row
        skipped_before = start.skipped - start.here  # the block of the cursor is read again from its start
        mine = range(self.part, count, self.parts)
        numbers = _in_order(order, mine[start.offset :])
        for batch, at, past, skipped, here in self.blocks_read.read(numbers, rows, only, want_names, want_labels):
            row += len(batch)
            done = start.offset + at
            read = total * (done + 1) // len(mine)
            counts = {"read": read, "skipped": skipped_before + skipped, "here": here}
            yield batch, Cursor(offset=done, row=row, past=past, inner=Cursor(), **counts)


class Shuffled(Wrapped):
    """Fill a buffer with rows, yield them permuted, fill it again.

    A buffer ends with the row that brings it to ``rows`` rows or to the size of ``features`` features with names of
    usual length, whatever the batches of the source are. Its permutation follows from the seed and the number of rows
    before it. A cursor therefore holds the start of its buffer and the number of rows yielded from it, and reading
    resumes there with the same rows.
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
        for held, begin, end in self._buffers(start.inner or Cursor(), want_names, want_labels):
            buffer = self._permuted(held, first)
            batch = buffer
            for at in range(emitted, max(1, len(buffer)), rows):
                batch = buffer if at == 0 and len(buffer) <= rows else buffer.take(slice(at, at + rows))
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
            del buffer, batch  # before the next buffer is filled

    def _permuted(self, held: list[Batch], first: int) -> Batch:
        """The rows of a buffer, permuted; ``first`` rows are before it. They are no longer in ``held``."""
        n = sum(map(len, held))
        # One row may be larger than a usual buffer, so it is not copied.
        order = np.random.default_rng([self.seed, first]).permutation(n) if n > 1 else None
        buffer = Batch.concat(held) if order is None else Batch.gather(held, order)
        held.clear()
        return buffer

    def _buffers(
        self, start: Cursor, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[list[Batch], Cursor, Cursor]]:
        """Yield the rows in buffers, each with the cursors before and behind it."""
        held: list[Batch] = []
        n = size = 0
        begin = before = start
        batch = None
        # A buffer ends after a number of features, so all are read; `only` is applied later.
        for batch, after in self.source.batches(start=start, want_names=want_names, want_labels=want_labels):
            offset = before.skip if before is start else 0
            sizes = batch.sizes(feature=FEATURE_BYTES, usual_name=USUAL_NAME)
            taken = 0
            while taken < len(batch):
                size_after = size + (sizes[taken + 1 :] - sizes[taken])
                full = (n + np.arange(1, len(batch) - taken + 1) >= self.rows) | (
                    size_after >= FEATURE_BYTES * self.features
                )
                reached = taken + (int(np.argmax(full)) + 1 if full.any() else len(batch) - taken)
                part = batch.take(slice(taken, reached)) if (taken, reached) != (0, len(batch)) else batch
                held.append(part.compact(USUAL_NAME))
                n += reached - taken
                size += int(sizes[reached] - sizes[taken])
                taken = reached
                if full.any():
                    end = after if taken == len(batch) else replace(before, skip=offset + taken)
                    del part
                    yield held, begin, end
                    n, size, begin = 0, 0, end
            before = after
        if held:
            yield held, begin, before
        elif batch is not None and len(batch) == 0:  # its cursor counts skipped lines
            yield [batch], begin, before
