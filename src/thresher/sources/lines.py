"""Text files with one example a line: what LIBSVM and VW files have in common."""

from __future__ import annotations

import logging
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.batch import Batch, Cursor, Names
from thresher.errors import DataError, SettingsError
from thresher.sources import open as opening
from thresher.sources.blocks import LineBlocks
from thresher.sources.open import STDIN, Part, Stream
from thresher.sources.source import ReadLimits, Source

log = logging.getLogger(__name__)

OnError = Literal["stop", "skip"]
_ADVICE = 'Mend it, or pass over such lines with on_error="skip" (--on-error skip).'


@dataclass(frozen=True)
class LineSource(Source):
    """Files of lines, plain or compressed, read one after the other.

    A subclass names its native parser and what keys mean. Sources are values: every method that
    changes something gives a changed copy.
    """

    parts: tuple[Part, ...]
    on_error: OnError = "stop"
    multilabel: bool = False
    limits: ReadLimits = ReadLimits()

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise SettingsError(f'on_error is "stop" or "skip", not {self.on_error!r}')

    @property
    @abstractmethod
    def _parse(self) -> Callable[..., dict[str, Any]]:
        """The native parser of one block."""

    @property
    @abstractmethod
    def format(self) -> str:
        """The format's name, as options and messages use it."""

    @property
    def rewindable(self) -> bool:  # type: ignore[override]
        return all(part.path != STDIN for part in self.parts)

    @property
    def total_bytes(self) -> int | None:  # type: ignore[override]
        return opening.stored_size(self.parts)

    def limited(self, limits: ReadLimits) -> Self:
        return replace(self, limits=limits)

    def fingerprint(self) -> str:
        return opening.fingerprint(self.parts, format=self.format, multilabel=self.multilabel, on_error=self.on_error)

    def describe(self) -> str:
        first = self.parts[0].name
        return first if len(self.parts) == 1 else f"{first} and {len(self.parts) - 1} more"

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        part = self.parts[cursor.part]
        if batch.line is None:
            return part.name
        return f"{part.name}, line {batch.line[row] + _lines_before(part)}"

    def shards(self, n: int) -> list[Source]:
        """Whole files where there are enough, else byte ranges of plain files; a compressed file stays whole."""
        super().shards(n)
        pieces: list[Part] = []
        per_file = -(-n // len(self.parts))
        for part in self.parts:
            pieces += _divided(part, per_file, self.limits)
        n = min(n, len(pieces))
        bounds = [len(pieces) * i // n for i in range(n + 1)]
        return [replace(self, parts=tuple(pieces[a:b])) for a, b in zip(bounds, bounds[1:], strict=False)]

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        cursor = start
        for number in range(start.part, len(self.parts)):
            if number != start.part:
                cursor = replace(cursor, part=number, offset=0, line=0)
            for batch, cursor in self._read_part(self.parts[number], cursor, rows, only, want_names, want_labels):
                yield batch, cursor

    def _read_part(
        self, part: Part, cursor: Cursor, rows: int, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        options = {
            "rows": rows,
            "features": self.limits.block // 9,  # what a block of ordinary text holds, and a bound for any other
            "skip": self.on_error == "skip",
            "labels_optional": not want_labels,
            "multilabel": self.multilabel,
            "want_names": want_names and not self.space.invertible,
            "only": only,
        }
        read_before = opening.stored_size(self.parts[: cursor.part]) or 0
        place = _Place(part, self.on_error, cursor)
        with Stream(part.path, window_limit=self.limits.window) as stream:
            blocks = LineBlocks(stream, part, cursor.offset, self.limits, place.too_long(self.limits.line_cap))
            for block, size, offset in blocks:
                at = 0
                while at < size:
                    parsed = self._parse(block, at, size, **options)
                    place.check(block, size, at, offset, parsed)
                    batch = _batch(block, at, parsed, place.cursor.line)
                    at += parsed["consumed"]
                    place.cursor = replace(
                        place.cursor,
                        offset=offset + at,
                        line=place.cursor.line + parsed["lines"],
                        row=place.cursor.row + len(batch),
                        read=read_before + stream.stored() - part.begin,
                        skipped=place.cursor.skipped + parsed["skipped"],
                    )
                    if len(batch):
                        yield batch, place.cursor
            if stream.failure is not None:
                place.broken(stream.failure)
            elif place.cursor.offset == 0 and part.begin == 0 and part.end is None:
                place.broken(DataError(f"{part.name}: the file is empty. Check how it was made."))


class _Place:
    """Where reading stands in a file, and what happens to bad lines there."""

    def __init__(self, part: Part, on_error: OnError, cursor: Cursor) -> None:
        self.part = part
        self.on_error = on_error
        self.cursor = cursor
        self._told = 0

    def check(self, block: NDArray[np.uint8], size: int, at: int, offset: int, parsed: dict[str, Any]) -> None:
        """Raise for the first fault of a parsed stretch, or tell of the first few."""
        for fault_at, line, what in parsed["faults"]:
            place = at + fault_at
            start = _native.after_last_newline(block, 0, place)
            text = block[start:size][:4096].tobytes().split(b"\n")[0]
            column = place - start + 1
            shown = _cut(text[place - start :])
            number = self.cursor.line + line + 1 + _lines_before(self.part)
            self._report(f"{self.part.name}: line {number}, column {column}: {what}, at {shown}.")

    def too_long(self, cap: int) -> Callable[[int], None]:
        """What `LineBlocks` calls for a line over the cap."""

        def tell(offset: int) -> None:
            self._report(
                f"{self.part.name}: line {self.cursor.line + 1} (byte {offset + 1}): longer than {cap} bytes, "
                "the cap for this memory."
            )
            self.cursor = replace(self.cursor, line=self.cursor.line + 1, skipped=self.cursor.skipped + 1)

        return tell

    def broken(self, error: DataError) -> None:
        """The file ended badly."""
        if self.on_error == "stop":
            raise error
        log.warning("%s Went on without the rest of it.", error)
        self.cursor = replace(self.cursor, skipped=self.cursor.skipped + 1)

    def _report(self, message: str) -> None:
        if self.on_error == "stop":
            raise DataError(f"{message} {_ADVICE}")
        self._told += 1
        if self._told <= 5:
            log.warning("skipped: %s", message)


def _batch(block: NDArray[np.uint8], at: int, parsed: dict[str, Any], lines_before: int) -> Batch:
    names = None
    if parsed["names"] is not None:
        names = Names(parsed["names"], block[at:], parsed["prefixes"])
    return Batch(
        parsed["indptr"],
        parsed["keys"],
        parsed["values"],
        parsed["y"],
        parsed["y_indptr"],
        parsed["weight"],
        names,
        parsed["qid"],
        parsed["line"] + (lines_before + 1),
    )


def _divided(part: Part, n: int, limits: ReadLimits) -> list[Part]:
    """A file as up to ``n`` ranges of bytes, if it can be read from the middle."""
    if n == 1 or part.path == STDIN or part.begin or part.end is not None:
        return [part]
    with Stream(part.path, window_limit=limits.window) as stream:
        if stream.compression is not None:
            return [part]
    size = os.path.getsize(part.path)
    bounds = sorted({size * i // n for i in range(n + 1)})
    return [Part(part.path, a, b) for a, b in zip(bounds, bounds[1:], strict=False)] or [part]


def _lines_before(part: Part) -> int:
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
