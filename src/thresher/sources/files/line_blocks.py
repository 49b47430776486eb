"""Splits a byte stream into blocks of whole lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.memory import PAGE, ReadLimits
from thresher.sources.files.paths import Part, Stream

_NEWLINE = 10


class LineBlocks:
    """The lines of a part of a stream from the offset ``start``, in blocks of whole lines.

    Each block is ``(bytes, size, offset)``: an array that ends in a newline and has ``_native.padding`` readable bytes
    behind its ``size``, and its offset in the stream. Lines over the cap are skipped; ``too_long(first bytes, cap)`` is
    called for each. If rows may span lines, ``last_row_end(block, size)`` gives the end of the last whole row. If the
    stream is damaged, the blocks end with the last whole line before the damage, and ``stream.failure`` is set.
    """

    def __init__(
        self,
        stream: Stream,
        part: Part,
        start: int,
        limits: ReadLimits,
        too_long: Callable[[bytes, int], None],
        last_row_end: Callable[[NDArray[np.uint8], int], int] | None = None,
    ) -> None:
        self._stream = stream
        self._cap = limits.line_cap
        # No block can hold a whole line over the cap, so the skipped lines do not depend on the block boundaries.
        self._block = min(limits.block, limits.line_cap + 1)
        self._end = part.end
        self._too_long = too_long
        self._last_row_end = last_row_end
        #: The offset of the first line that was not yielded yet.
        self.offset = start
        self._carry = np.empty(0, np.uint8)  # read, but not a whole line yet
        if start > 0:
            stream.seek(start)
        elif part.begin > 0:
            # A shard starts at the first line that begins at or after its first byte.
            stream.seek(part.begin - 1)
            self.offset = part.begin - 1
            self._skip_line()

    def __iter__(self) -> Iterator[tuple[NDArray[np.uint8], int, int]]:
        finished = False
        while not finished and (self._end is None or self.offset < self._end):
            held = len(self._carry)
            # A line longer than the block makes the block grow, up to the cap and its newline.
            want = max(self._block, min(2 * held, self._cap + 1))
            block = self._new_block(want + 1 + _native.padding)
            block[:held] = self._carry
            size = held + self._stream.readinto(memoryview(block.data)[held:want])
            finished = size < want
            if finished and self._stream.failure is None and size > 0 and block[size - 1] != _NEWLINE:
                block[size] = _NEWLINE
                size += 1
            whole = self._whole(block, size, finished)
            self._carry = block[whole:size]
            if whole:
                yield block, self._within(block, whole), self.offset
                self.offset += whole
            elif len(self._carry) > self._cap:
                self._too_long(self._carry[:64].tobytes(), self._cap)
                self._skip_line()

    def _whole(self, block: NDArray[np.uint8], size: int, finished: bool) -> int:
        """The number of bytes of a block in whole lines, or in whole rows if rows may span lines."""
        if self._last_row_end is None:
            return _native.after_last_newline(block, 0, size)
        return size if finished and self._stream.failure is None else self._last_row_end(block, size)

    def _new_block(self, size: int) -> NDArray[np.uint8]:
        """Allocate a block in which each byte has the same offset within its page as in the file.

        Copying from the page cache takes up to five times as long if the two offsets differ slightly.
        """
        block = _native.new_block(size + PAGE)
        return block[(self.offset - block.ctypes.data) % PAGE :]

    def _within(self, block: NDArray[np.uint8], size: int) -> int:
        """The size of a block cut to the lines that start before the end of the part."""
        if self._end is None or self.offset + size <= self._end:
            return size
        last_start = self._end - self.offset - 1
        return last_start + int(np.argmax(block[last_start:size] == _NEWLINE)) + 1

    def _skip_line(self) -> None:
        """Read to the end of the current line, and keep the bytes read after it."""
        while True:
            newlines = np.flatnonzero(self._carry == _NEWLINE)
            used = int(newlines[0]) + 1 if len(newlines) else len(self._carry)
            self.offset += used
            self._carry = self._carry[used:]
            if len(newlines):
                return
            scratch = np.empty(self._block, np.uint8)
            self._carry = scratch[: self._stream.readinto(scratch.data)]
            if not len(self._carry):
                return
