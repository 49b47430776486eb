"""Reads blocks of lines from anywhere in files, several at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Cursor
from thresher.sources.blocks import BlockRows, tagged, with_tags
from thresher.sources.files.paths import Part
from thresher.sources.files.reader import SLACK

_NEWLINE = 10

if TYPE_CHECKING:
    from thresher.sources.text.line_source import LineSource, OpenLines


class Piece(NamedTuple):
    """A block: its number, the range of its bytes, the number of its file, and the open file."""

    number: int
    part: Part
    file: int
    opened: OpenLines


class BlockGroup:
    """Some blocks that are parsed together, which takes less time than one by one; if a line is malformed, one by one.

    The rows and their places do not depend on which blocks form a group.
    """

    def __init__(self, source: LineSource, pieces: list[Piece]) -> None:
        self._source = source
        self._pieces = pieces
        self._done = 0  # rows that were yielded

    def rows(self) -> Iterator[BlockRows]:
        """Yield the rows of the blocks."""
        texts = self._texts()
        if texts is None or not (yield from self._together(texts)):
            yield from self._one_by_one()

    def _texts(self) -> list[NDArray[np.uint8]] | None:
        """The lines of each block; None if they cannot be parsed together, or if a line is long."""
        if any(piece.opened.parse is not self._pieces[0].opened.parse for piece in self._pieces):
            return None
        texts = []
        for piece in self._pieces:
            text = _lines_of(piece, self._source.limits.line_cap)
            if text is None:
                return None
            texts.append(text)
        return texts

    def _together(self, texts: list[NDArray[np.uint8]]) -> Generator[BlockRows, None, bool]:
        """Yield the rows up to a batch with a malformed line; return whether there was none."""
        from thresher.sources.text.line_source import batch_of

        size = sum(map(len, texts))
        block = _native.new_block(size + _native.padding)
        np.concatenate(texts, out=block[:size])
        lines_behind = np.cumsum([np.count_nonzero(text == _NEWLINE) for text in texts])
        numbers = np.array([piece.number for piece in self._pieces], np.int64)
        opened = self._pieces[0].opened
        at = lines = last = past = 0
        while at < size:
            parsed = opened.parse(block, at, size, **opened.options)
            if parsed["faults"] or parsed["skipped"]:
                return False
            batch = batch_of(block, at, parsed, lines)
            at, lines = at + parsed["consumed"], lines + parsed["lines"]
            if len(batch) and batch.line is not None:
                which = np.searchsorted(lines_behind, batch.line)
                line = batch.line - np.concatenate([[0], lines_behind])[which]
                ends = int(which[-1])
                n = len(batch) - int(np.searchsorted(which, ends))
                last, past = ends, n + (past if ends == last else 0)
                self._done += len(batch)
                yield BlockRows(replace(batch, line=with_tags(line, numbers[which])), last, past, 0)
        return True

    def _one_by_one(self) -> Iterator[BlockRows]:
        """Yield the rows that were not yielded yet, block by block."""
        left, skipped = self._done, 0
        for at, piece in enumerate(self._pieces):
            past = here = 0
            for batch, cursor in self._source.read_lines(piece.part, Cursor(part=piece.file), piece.opened, 0):
                past, here = past + len(batch), cursor.skipped
                if left and left >= len(batch):
                    left -= len(batch)
                    continue
                rest, left = batch.take(slice(left, None)) if left else batch, 0
                yield BlockRows(tagged(rest, piece.number), at, past, skipped + here)
            self._source.skips.add_block(piece.part, here)
            skipped += here


def _lines_of(piece: Piece, cap: int) -> NDArray[np.uint8] | None:
    """The lines that begin in a block, each with its newline; None if one may be over the cap."""
    begin, end = piece.part.begin, piece.part.end or 0
    start = max(0, begin - 1)
    stream = piece.opened.stream
    stream.seek(start)
    text = bytearray(end - start + SLACK)
    size = stream.readinto(memoryview(text))
    first = text.find(b"\n", 0, size) + 1 if begin else 0
    if begin and (first == 0 or start + first >= end):  # no line begins here
        return np.empty(0, np.uint8)
    stop = text.find(b"\n", end - 1 - start, size)
    while stop < 0 and size == len(text) <= cap:  # the last line is long
        text += bytes(size)
        read = stream.readinto(memoryview(text)[size:])
        stop = text.find(b"\n", size, size + read)
        size += read
    if size > cap or not size:
        return None
    if stop < 0:  # the last line of the file has no newline
        del text[size:]
        text += b"\n"
        stop = size
    return np.frombuffer(text, np.uint8)[first : stop + 1]
