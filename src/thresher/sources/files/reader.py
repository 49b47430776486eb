"""How a file is read: blocks of whole lines, the position in it, and malformed input."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Cursor
from thresher.core.memory import LONGEST_LINE, PAGE, ReadLimits, show_size
from thresher.errors import DataError
from thresher.sources.base import OnError
from thresher.sources.files.paths import Part, Stream, is_remote

log = logging.getLogger("thresher.sources")

_ADVICE = 'Correct it, or skip such {} with `on_error="skip"`.'
#: The number of skipped lines of a file that are logged; all are counted.
_MAX_LOGGED = 5
_NEWLINE = 10
#: Between the name of a file and the start of a range of bytes.
_RANGE = "\0"
#: Bytes read beyond the end of a range, for the rest of its last line.
SLACK = 1 << 12


class LineBlocks:
    """The lines of a part of a stream from the offset ``start``, in blocks of whole lines.

    Each block is ``(bytes, size, offset)``: an array that ends in a newline and has ``_native.padding`` readable bytes
    behind its ``size``, and its offset in the stream. Lines over the cap are skipped: ``too_long(first bytes, cap,
    size)`` is called for each; the size of one that is too long for any memory is None. If rows may span lines,
    ``last_row_end(block, size)`` gives the end of the last whole row. If the stream is damaged, the blocks end with the
    last whole line before the damage, and ``stream.failure`` is set.
    """

    def __init__(
        self,
        stream: Stream,
        part: Part,
        start: int,
        limits: ReadLimits,
        too_long: Callable[[bytes, int, int | None], None],
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
        self._carry = np.empty(0, np.uint8)  # read, but not yielded yet
        if start > 0 or part.begin == 0:
            stream.seek(start)
            return
        # A range of bytes starts with the first line that begins at or after its first byte.
        stream.seek(part.begin - 1)
        self.offset = part.begin - 1
        if self._end is not None:
            self._block = min(self._block, self._end - self.offset + SLACK)
        self._skip_line()

    def __iter__(self) -> Iterator[tuple[NDArray[np.uint8], int, int]]:
        finished = stuck = False
        while not finished and (self._end is None or self.offset < self._end):
            held = len(self._carry)
            # A line longer than the block makes the block grow, up to the cap and its newline.
            want = max(self._block, min(2 * held, self._cap + 1))
            if self._end is not None and not stuck:  # hardly more than the range of bytes is needed
                want = max(held, min(want, self._end - self.offset + SLACK))
            block = self._new_block(want + 1 + _native.padding)
            block[:held] = self._carry
            size = held + self._stream.readinto(memoryview(block.data)[held:want])
            finished = size < want
            if finished and self._stream.failure is None and size > 0 and block[size - 1] != _NEWLINE:
                block[size] = _NEWLINE
                size += 1
            whole = self._whole(block, size, finished)
            self._carry = block[whole:size]
            stuck = not whole
            if whole:
                yield block, self._within(block, whole), self.offset
                self.offset += whole
            elif len(self._carry) > self._cap:
                text, begin = self._carry[:64].tobytes(), self.offset
                ended = self._skip_line(LONGEST_LINE)
                self._too_long(text, self._cap, self.offset - begin if ended else None)
                if not ended:
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
        return last_start + block[last_start:size].tobytes().index(b"\n") + 1

    def _skip_line(self, most: int | None = None) -> bool:
        """Read to the end of the current line (or of the range of bytes), and keep the bytes read after it.

        With ``most``, also read beyond the range of bytes; False if the line has more bytes than that.
        """
        begin = self.offset
        while most is None or self.offset - begin <= most:
            newline = self._carry.tobytes().find(b"\n")
            used = newline + 1 if newline >= 0 else len(self._carry)
            self.offset += used
            self._carry = self._carry[used:]
            if newline >= 0 or (most is None and self._end is not None and self.offset >= self._end):
                return True
            scratch = np.empty(self._block, np.uint8)
            self._carry = scratch[: self._stream.readinto(scratch.data)]
            if not len(self._carry):
                return True
        return False


class SkipCounts:
    """The number of skipped lines of each file; shared by the copies of a source."""

    def __init__(self) -> None:
        self._parts: dict[Part, int] = {}

    def set(self, part: Part, count: int, what: str, *, n_files: int) -> None:
        """Store the count of a file that was read to its end. Log it once, and only if there are several files."""
        if self._parts.get(part, 0) != count and n_files > 1:
            log.warning("%s: %d malformed %s were skipped", part.name, count, what)
        self._parts[part] = count

    def add_block(self, part: Part, count: int) -> None:
        """Store the count of a range of bytes of a file that is read out of order."""
        if count:
            self._parts[part] = count

    def files(self) -> dict[str, int]:
        """The counts that are not 0, by file name, or by file name and range of bytes; see `by_file`."""
        found: dict[str, int] = {}
        for part, count in list(self._parts.items()):  # a second thread may add one
            if count:
                found[part.name if part.end is None else f"{part.name}{_RANGE}{part.begin}"] = count
        return found


def by_file(counts: Mapping[str, int]) -> dict[str, int]:
    """Add up the counts of `SkipCounts.files` for each file; the count of a whole file includes its ranges."""
    found: dict[str, int] = {}
    for name in sorted(counts):
        file, is_range, _ = name.partition(_RANGE)
        if not is_range or file not in counts:
            found[file] = found.get(file, 0) + counts[name]
    return found


@dataclass
class Reports:
    """The number of malformed lines of a file that were reported so far."""

    count: int = 0


class ReadPosition:
    """The position of a reader in a file, and the handling of malformed input there."""

    def __init__(self, part: Part, on_error: OnError, cursor: Cursor, reports: Reports | None = None) -> None:
        self.part = part
        self.on_error = on_error
        self.cursor = cursor
        self._reports = reports or Reports()

    def report_faults(
        self, block: NDArray[np.uint8], size: int, at: int, line: int, faults: Iterable[tuple[int, int, str]]
    ) -> None:
        """Report the faults that a parser found in ``block`` from byte ``at`` on, which follows ``line`` lines."""
        for fault_at, lines, what in faults:
            place = at + fault_at
            start = _native.after_last_newline(block, 0, place)
            rest = block[place : min(size, place + 64)].tobytes().split(b"\n")[0]
            shown = f"at {_cut(rest)}" if rest.strip() else f"after {_cut(block[start:place][-40:].tobytes())}"
            self._report(self._line(line + lines + 1, place - start + 1), f"{what}, {shown}")

    def report_record(self, line: int, column: int, what: str) -> None:
        """Report a malformed record of several lines; line and column count from 0."""
        self._report(self._line(line + 1, column + 1), what, "records")

    def report_row(self, where: str, what: str) -> None:
        """Report a malformed row of a table."""
        self._report(where, what, "rows")

    def report_long_line(self, text: bytes, cap: int, size: int | None) -> None:
        """Report and count a skipped line over the cap, which starts with ``text`` and has ``size`` bytes."""
        needed = None if size is None else ReadLimits.memory_for(size)
        if needed is None:
            advice = f"no line may be longer than {show_size(LONGEST_LINE)}"
        else:
            advice = f"it has {size}: pass `memory` of at least {show_size(needed)}"
        what = f"the line is longer than {cap} bytes, the cap for this memory ({advice}), at {_cut(text)}"
        self._report(self._line(self.cursor.line + 1, cap + 1), what)
        self.cursor = replace(self.cursor, line=self.cursor.line + 1)
        self.count_skipped(1)

    def report_damage(self, error: DataError) -> None:
        """Report a file that is damaged, cut short or empty."""
        if self.on_error == "stop":
            raise error
        log.warning("%s Continued without the rest of the file.", error)
        self.count_skipped(1)

    def report_empty(self) -> None:
        """Report a file without a byte."""
        if self.part.once:
            raise DataError(
                f"{self.part.name}: no data arrived. It can be read only once: for several passes cache its "
                "rows (`cache=True`), or write it to a file first."
            )
        self.report_damage(DataError(f"{self.part.name}: the file is empty. Check how it was made."))

    def count_skipped(self, n: int) -> None:
        """Add ``n`` skipped lines to the cursor."""
        if n == 0:
            return
        cursor = self.cursor
        self.cursor = replace(cursor, skipped=cursor.skipped + n, here=cursor.here + n)

    def _line(self, line: int, column: int) -> str:
        if self.on_error == "skip" and self._reports.count >= _MAX_LOGGED:
            return ""  # not logged: do not count the lines before the part
        return f"{line_of_file(self.part, line)}, column {column}"

    def _report(self, where: str, what: str, such: str = "lines") -> None:
        self._reports.count += 1
        if self.on_error == "skip" and self._reports.count > _MAX_LOGGED:
            return
        message = f"{self.part.name}: {where}: {what}."
        if self.on_error == "stop":
            raise DataError(f"{message} {_ADVICE.format(such)}")
        log.warning("skipped: %s", message)


def line_of_file(part: Part, line: int) -> str:
    """A line of a part of a file, for messages; lines of remote files are not counted from their beginning."""
    if part.begin > 0 and is_remote(part.path):
        return f"line {line} behind byte {part.begin}"
    return f"line {line + _lines_before(part)}"


def _lines_before(part: Part) -> int:
    """Count the lines that start before a part of a file."""
    count = 0
    last = b"\n"
    if part.begin == 0:
        return 0
    with open(part.path, "rb") as file:
        left = part.begin
        while left > 0 and (chunk := file.read(min(left, 1 << 20))):
            count += chunk.count(b"\n")
            last = chunk[-1:]
            left -= len(chunk)
    return count + (last != b"\n")


def _cut(text: bytes) -> str:
    """The malformed text, shortened and printable."""
    shown = text[:40].decode("utf-8", "backslashreplace")
    return repr(shown) + ("…" if len(text) > 40 else "")
