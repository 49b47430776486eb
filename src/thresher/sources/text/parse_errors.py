"""What happens to bad lines: an error that says where and what to do, or a counted skip."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Cursor
from thresher.errors import DataError
from thresher.sources.files.paths import Part

log = logging.getLogger("thresher.sources")

OnError = Literal["stop", "skip"]
_ADVICE = 'Mend it, or pass over such {} with on_error="skip" (--on-error skip).'
#: How many skipped lines of a file are told of; all are counted.
_TOLD = 5


class Skips:
    """Bad lines passed over, by file; shared by the copies of a source."""

    def __init__(self) -> None:
        self._parts: dict[Part, int] = {}

    def note(self, part: Part, count: int, what: str, *, of: int) -> None:
        """A file was read to its end, and had so many; told once, and only where there are several files."""
        if self._parts.get(part, 0) != count and of > 1:
            log.warning("%s: %d bad %s were skipped", part.name, count, what)
        self._parts[part] = count

    def files(self) -> dict[str, int]:
        """The counts by file, of those that had some."""
        found: dict[str, int] = {}
        for part, count in list(self._parts.items()):  # a second thread may note one more
            if count:
                found[part.name] = found.get(part.name, 0) + count
        return found


class Place:
    """Where reading stands in a file, and what happens to bad lines there."""

    def __init__(self, part: Part, on_error: OnError, cursor: Cursor) -> None:
        self.part = part
        self.on_error = on_error
        self.cursor = cursor
        self._told = 0

    def faults(
        self, block: NDArray[np.uint8], size: int, at: int, line: int, faults: Iterable[tuple[int, int, str]]
    ) -> None:
        """Tell of what a parser found wrong in a stretch of ``block`` that starts at ``at``, after ``line`` lines."""
        for fault_at, lines, what in faults:
            place = at + fault_at
            start = _native.after_last_newline(block, 0, place)
            rest = block[place : min(size, place + 64)].tobytes().split(b"\n")[0]
            shown = f"at {_cut(rest)}" if rest.strip() else f"after {_cut(block[start:place][-40:].tobytes())}"
            self._tell(self._line(line + lines + 1, place - start + 1), f"{what}, {shown}")

    def record(self, line: int, column: int, what: str) -> None:
        """A record of several lines that cannot be used; line and column count from 0."""
        self._tell(self._line(line + 1, column + 1), what, "records")

    def row(self, where: str, what: str) -> None:
        """A row of a table that cannot be used."""
        self._tell(where, what, "rows")

    def too_long(self, text: bytes, cap: int) -> None:
        """A line over the cap, which starts with ``text``, is passed over."""
        what = f"the line is longer than {cap} bytes, the cap for this memory, at {_cut(text)}"
        self._tell(self._line(self.cursor.line + 1, cap + 1), what)
        self.cursor = replace(self.cursor, line=self.cursor.line + 1)
        self.count(1)

    def broken(self, error: DataError) -> None:
        """The file ends badly: damaged, cut short, or empty."""
        if self.on_error == "stop":
            raise error
        log.warning("%s Went on without the rest of it.", error)
        self.count(1)

    def empty(self) -> None:
        """The file holds not a byte."""
        if self.part.once:
            raise DataError(
                f"{self.part.name}: nothing came. It can be read only once: for several passes keep its "
                "rows (cache=True, --cache), or write it to a file first."
            )
        self.broken(DataError(f"{self.part.name}: the file is empty. Check how it was made."))

    def count(self, skipped: int) -> None:
        """So many lines more were passed over."""
        cursor = self.cursor
        self.cursor = replace(cursor, skipped=cursor.skipped + skipped, here=cursor.here + skipped)

    def _line(self, line: int, column: int) -> str:
        if self.on_error == "skip" and self._told >= _TOLD:
            return ""  # nobody will be told
        return f"line {line + self._lines_before}, column {column}"

    def _tell(self, where: str, what: str, such: str = "lines") -> None:
        self._told += 1
        if self.on_error == "skip" and self._told > _TOLD:
            return
        message = f"{self.part.name}: {where}: {what}."
        if self.on_error == "stop":
            raise DataError(f"{message} {_ADVICE.format(such)}")
        log.warning("skipped: %s", message)

    @cached_property
    def _lines_before(self) -> int:
        return lines_before(self.part)


def lines_before(part: Part) -> int:
    """How many lines start before a part of a file; read only when an error must be told."""
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
    """The offending text, short and printable."""
    shown = text[:40].decode("utf-8", "backslashreplace")
    return repr(shown) + ("…" if len(text) > 40 else "")
