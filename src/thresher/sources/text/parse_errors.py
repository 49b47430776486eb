"""Malformed lines: an error that states the location and the remedy, or a counted skip."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Cursor
from thresher.errors import DataError
from thresher.sources.base import OnError
from thresher.sources.files.paths import Part

log = logging.getLogger("thresher.sources")

_ADVICE = 'Correct it, or skip such {} with on_error="skip" (--on-error skip).'
#: The number of skipped lines of a file that are logged; all are counted.
_MAX_LOGGED = 5


class SkipCounts:
    """The number of skipped lines of each file; shared by the copies of a source."""

    def __init__(self) -> None:
        self._parts: dict[Part, int] = {}

    def set(self, part: Part, count: int, what: str, *, n_files: int) -> None:
        """Store the count of a file that was read to its end. Log it once, and only if there are several files."""
        if self._parts.get(part, 0) != count and n_files > 1:
            log.warning("%s: %d malformed %s were skipped", part.name, count, what)
        self._parts[part] = count

    def files(self) -> dict[str, int]:
        """The counts by file name, without files that had none."""
        found: dict[str, int] = {}
        for part, count in list(self._parts.items()):  # a second thread may add one
            if count:
                found[part.name] = found.get(part.name, 0) + count
        return found


class ReadPosition:
    """The position of a reader in a file, and the handling of malformed input there."""

    def __init__(self, part: Part, on_error: OnError, cursor: Cursor) -> None:
        self.part = part
        self.on_error = on_error
        self.cursor = cursor
        self._reported = 0

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

    def report_long_line(self, text: bytes, cap: int) -> None:
        """Report and count a skipped line over the cap, which starts with ``text``."""
        what = f"the line is longer than {cap} bytes, the cap for this memory, at {_cut(text)}"
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
                "rows (cache=True, --cache), or write it to a file first."
            )
        self.report_damage(DataError(f"{self.part.name}: the file is empty. Check how it was made."))

    def count_skipped(self, n: int) -> None:
        """Add ``n`` skipped lines to the cursor."""
        cursor = self.cursor
        self.cursor = replace(cursor, skipped=cursor.skipped + n, here=cursor.here + n)

    def _line(self, line: int, column: int) -> str:
        if self.on_error == "skip" and self._reported >= _MAX_LOGGED:
            return ""  # not logged: do not count the lines before the part
        return f"line {line + self._lines_before}, column {column}"

    def _report(self, where: str, what: str, such: str = "lines") -> None:
        self._reported += 1
        if self.on_error == "skip" and self._reported > _MAX_LOGGED:
            return
        message = f"{self.part.name}: {where}: {what}."
        if self.on_error == "stop":
            raise DataError(f"{message} {_ADVICE.format(such)}")
        log.warning("skipped: %s", message)

    @cached_property
    def _lines_before(self) -> int:
        return lines_before(self.part)


def lines_before(part: Part) -> int:
    """Count the lines that start before a part of a file; needed only for messages."""
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
