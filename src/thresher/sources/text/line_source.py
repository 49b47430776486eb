"""Text files with one example a line: what LIBSVM and VW files have in common."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor, Names
from thresher.core.memory import ReadLimits
from thresher.errors import SettingsError
from thresher.sources.base import Source
from thresher.sources.files import paths as opening
from thresher.sources.files.line_blocks import LineBlocks
from thresher.sources.files.paths import Part, Stream
from thresher.sources.files.remote import is_remote
from thresher.sources.text.parse_errors import OnError, Place, Skips, lines_before


@dataclass(frozen=True)
class LineSource(Source):
    """Files of lines, plain or compressed, read one after the other.

    A subclass names its native parser and what keys mean. Sources are values: every method that
    changes something gives a changed copy.
    """

    parts: tuple[Part, ...]
    on_error: OnError = "stop"
    multilabel: bool = False
    limits: ReadLimits = field(default_factory=ReadLimits)
    skips: Skips = field(default_factory=Skips, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise SettingsError(f'on_error is "stop" or "skip", not {self.on_error!r}')

    @property
    @abstractmethod
    def _parse(self) -> Callable[..., dict[str, Any]]:
        """The native parser of one block."""

    def _parser(self, part: Part, cursor: Cursor) -> Callable[..., dict[str, Any]]:
        """What parses the blocks of a part from a cursor on: one after the other, so that it may remember."""
        return self._parse

    @property
    def _last_row_end(self) -> Callable[[NDArray[np.uint8], int], int] | None:
        """Where the last whole row of a block ends, if not at its last newline."""
        return None

    @property
    @abstractmethod
    def format(self) -> str:
        """The format's name, as options and messages use it."""

    @property
    def rewindable(self) -> bool:  # type: ignore[override]
        return not any(part.once for part in self.parts)

    @property
    def total_bytes(self) -> int | None:  # type: ignore[override]
        return opening.stored_size(self.parts)

    def limited(self, limits: ReadLimits) -> Self:
        return replace(self, limits=limits)

    def fingerprint(self) -> str:
        return opening.fingerprint(self.parts, format=self.format, multilabel=self.multilabel, on_error=self.on_error)

    def files(self) -> list[str]:
        return [part.name for part in self.parts]

    def skipped_files(self) -> dict[str, int]:
        return self.skips.files()

    def describe(self) -> str:
        first = self.parts[0].name
        return first if len(self.parts) == 1 else f"{first} and {len(self.parts) - 1} more"

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        part = self.parts[cursor.part]
        if batch.line is None:
            return part.name
        return f"{part.name}, line {batch.line[row] + lines_before(part)}"

    def shards(self, n: int) -> list[Source]:
        """Whole files where there are enough, else byte ranges of plain files; a compressed file stays whole."""
        super().shards(n)
        pieces: list[Part] = []
        per_file = -(-n // len(self.parts))
        for part in self.parts:
            pieces += divided(part, per_file, self.limits)
        return [replace(self, parts=some) for some in grouped(pieces, n)]

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        cursor = start
        for number in range(start.part, len(self.parts)):
            if number != start.part:
                cursor = replace(cursor, part=number, offset=0, line=0, here=0)
            reading = self._read_part(self.parts[number], cursor, rows, only, want_names, want_labels)
            for batch, cursor in reading:
                yield batch, cursor

    def _read_part(
        self, part: Part, cursor: Cursor, rows: int, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        options = {
            "rows": rows,
            "features": max(1, self.limits.block // 9),  # what a block of usual text holds, a bound for any other
            "skip": self.on_error == "skip",
            "labels_optional": not want_labels,
            "multilabel": self.multilabel,
            "want_names": want_names and not self.space.invertible,
            "only": only,
        }
        read_before = opening.stored_size(self.parts[: cursor.part]) or 0
        place = Place(part, self.on_error, cursor)
        skipped = cursor.skipped
        parse = self._parser(part, cursor)
        with Stream(part.path, window_limit=self.limits.window) as stream:
            blocks = LineBlocks(stream, part, cursor.offset, self.limits, place.too_long, self._last_row_end)
            for block, size, offset in blocks:
                at = 0
                while at < size:
                    parsed = parse(block, at, size, **options)
                    batch = _batch(block, at, parsed, place.cursor.line)
                    before, at, line = at, at + parsed["consumed"], place.cursor.line
                    place.cursor = replace(
                        place.cursor,
                        offset=offset + at,
                        line=line + parsed["lines"],
                        row=place.cursor.row + len(batch),
                        read=read_before + stream.stored() - part.begin,
                    )
                    place.count(parsed["skipped"])
                    # Rows before a bad line come out first, so what was read never depends on ``rows``.
                    if len(batch):
                        skipped = place.cursor.skipped
                        yield batch, place.cursor
                    place.faults(block, size, before, line, parsed["faults"])
            if stream.failure is not None:
                place.broken(stream.failure)
            elif blocks.offset == 0:
                place.empty()
        self.skips.note(part, place.cursor.here, "lines", of=len(self.parts))
        if place.cursor.skipped > skipped:
            # Bad lines behind the last row: they are counted in the cursor of a batch of no rows.
            nothing = _native.new_block(_native.padding)
            parsed = parse(nothing, 0, 0, **options)
            yield _batch(nothing, 0, parsed, 0), replace(place.cursor, part=cursor.part + 1, offset=0, line=0, here=0)


def _batch(block: NDArray[np.uint8], at: int, parsed: dict[str, Any], lines_before: int) -> Batch:
    names = None
    if parsed["names"] is not None:
        text = parsed.get("text")  # names stand in the block itself, unless the parser has made another text
        names = Names(
            parsed["names"], block[at : at + parsed["consumed"]] if text is None else text, parsed["prefixes"]
        )
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


def grouped(pieces: list[Part], n: int) -> list[tuple[Part, ...]]:
    """Pieces as at most ``n`` groups, in order."""
    n = min(n, len(pieces))
    bounds = [len(pieces) * i // n for i in range(n + 1)]
    return [tuple(pieces[a:b]) for a, b in pairwise(bounds)]


def divided(part: Part, n: int, limits: ReadLimits) -> list[Part]:
    """A file as up to ``n`` ranges of bytes, if it can be read from the middle."""
    if n == 1 or part.once or part.begin or part.end is not None or is_remote(part.path):
        return [part]
    with Stream(part.path, window_limit=limits.window) as stream:
        if stream.compression is not None:
            return [part]
    size = os.path.getsize(part.path)
    bounds = sorted({size * i // n for i in range(n + 1)})
    return [Part(part.path, a, b) for a, b in pairwise(bounds)] or [part]
