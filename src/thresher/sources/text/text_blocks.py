"""The blocks of plain files of lines: ranges of bytes that can be read in any order."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.memory import PAGE
from thresher.sources.blocks import (
    BLOCK_BYTES,
    LINE_BITS,
    MAX_BLOCKS,
    SMALLEST_BLOCK,
    BlockRows,
    Blocks,
    split_tag,
    tagged,
)
from thresher.sources.files.paths import Part, Stream, is_remote, stored_end
from thresher.sources.files.reader import SLACK, Reports, line_of_file
from thresher.sources.text.line_formats import LineSource, OpenLines, batch_of, can_seek

#: Files are cut into about this many blocks, unless blocks would be too small or too large.
_PIECES = 2048
#: How much larger blocks of remote files are, since each takes a request; how many are requested before they are read.
REMOTE, _AHEAD = 4, 4
#: The number of files that are open at a time.
_OPEN_FILES = 32
_NEWLINE = 10


def block_size(total: int, times: int = 1) -> int:
    """The bytes of a block, for files of ``total`` bytes whose blocks are this many times as large as usual."""
    return max(-(-total // MAX_BLOCKS), min(times * BLOCK_BYTES, max(SMALLEST_BLOCK, times * total // _PIECES)))


@dataclass(frozen=True, eq=False)
class TextBlocks(Blocks):
    """The blocks of the files of a source, which follow from the sizes of the files alone.

    A block holds the lines that begin in its range of bytes. Its rows count their lines from its start: the lines
    before it are counted for a message only.

    Attributes
    ----------
    size : int
        The bytes of a block; the last one of a file has fewer.
    ends : tuple of int
        The end of each part of the source in its file.
    before : list of int
        The number of blocks before each part, and in all.
    """

    source: LineSource
    size: int
    ends: tuple[int, ...]
    before: list[int]

    @classmethod
    def of(cls, source: LineSource) -> TextBlocks | None:
        """The blocks of a source; None if some of its files cannot be read from the middle."""
        if not all(can_seek(part, source.limits, ranges=source.ranges) for part in source.parts):
            return None
        ends = tuple(stored_end(part) for part in source.parts)
        remote = any(is_remote(part.path) for part in source.parts)
        sizes = [end - part.begin for part, end in zip(source.parts, ends, strict=True)]
        size = block_size(sum(sizes), REMOTE if remote else 1)
        counts = [max(1, -(-n // size)) for n in sizes]  # an empty file must be read too: that is an error
        if sum(sizes) < 2 * BLOCK_BYTES:
            counts = [1] + [0] * (len(counts) - 1)
        return cls(source, size, ends, list(accumulate(counts, initial=0)))

    @property
    def count(self) -> int:  # type: ignore[override]
        return self.before[-1]

    def part(self, number: int) -> tuple[int, Part]:
        """The number of the file of a block, and its range of bytes."""
        file = bisect_right(self.before, number) - 1
        whole = self.source.parts[file]
        begin = whole.begin + (number - self.before[file]) * self.size
        return file, Part(whole.path, begin, min(begin + self.size, self.ends[file]))

    def where(self, batch: Batch, row: int) -> str:
        if batch.line is None:
            return self.source.describe()
        number, line = split_tag(int(batch.line[row]))
        _, part = self.part(number)
        return f"{part.name}, {line_of_file(part, line)}"

    def read(
        self, numbers: Iterator[int], rows: int, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[BlockRows]:
        files = _OpenFiles(self.source, self.source.parse_options(rows, only, want_names, want_labels))
        together = max(1, self.source.limits.block // self.size)
        at = skipped = 0
        text = bytearray(self.size + SLACK)
        if any(is_remote(part.path) for part in self.source.parts):
            numbers = self._expected(numbers, files)
        try:
            while some := list(islice(numbers, together)):
                here = 0
                for found in _BlockGroup(self.source, [self._piece(number, files) for number in some], text).rows():
                    here = found.skipped
                    yield found._replace(at=at + found.at, skipped=skipped + here)
                at, skipped = at + len(some), skipped + here
        finally:
            files.close()

    def _expected(self, numbers: Iterator[int], files: _OpenFiles) -> Iterator[int]:
        """The numbers of the blocks to read, after those of remote files behind each were requested."""
        coming: deque[int] = deque()
        for number in numbers:
            file, part = self.part(number)
            files.open(file, part).stream.expect(*_bytes_of(part))
            coming.append(number)
            if len(coming) > _AHEAD:
                yield coming.popleft()
        yield from coming

    def _piece(self, number: int, files: _OpenFiles) -> _Piece:
        file, part = self.part(number)
        return _Piece(number, part, file, files.open(file, part))

    def in_order(
        self, rows: int, want_names: bool, want_labels: bool, begin: Callable[[Cursor], None]
    ) -> Iterator[tuple[Batch, Cursor]]:
        """Yield the rows and cursors of the source, in batches that end where blocks end.

        ``begin`` is called with the cursor before each block.
        """
        files = _OpenFiles(self.source, self.source.parse_options(rows, None, want_names, want_labels))
        parts = self.source.parts
        cursor, read_before = Cursor(), 0
        try:
            for number in range(self.count):
                file, part = self.part(number)
                if file != cursor.part:
                    cursor = replace(cursor, part=file, line=0, here=0)
                begin(cursor)
                opened = files.open(file, part)
                cursor = yield from self.source.read_lines(part, replace(cursor, offset=0), opened, read_before)
                read_before += (part.end or 0) - part.begin
                if number + 1 == self.before[file + 1]:
                    self.source.skips.set(parts[file], cursor.here, "lines", n_files=len(parts))
        finally:
            files.close()


class _OpenFiles:
    """The files of a source, of which the last ones used stay open."""

    def __init__(self, source: LineSource, options: dict[str, Any]) -> None:
        self._source = source
        self._options = options
        self._open: OrderedDict[int, OpenLines] = OrderedDict()
        self._reports: dict[int, Reports] = {}

    def open(self, file: int, part: Part) -> OpenLines:
        """The open file with number ``file``, to read a range of its bytes."""
        opened = self._open.get(file)
        if opened is None:
            opened = self._opened(file, part)
            self._open[file] = opened
            if len(self._open) > _OPEN_FILES:
                self._open.popitem(last=False)[1].stream.close()
        self._open.move_to_end(file)
        if part.begin == 0:  # the parser may have to skip a header, which it does once
            return replace(opened, parse=self._source._parser(part, Cursor()))
        return opened

    def _opened(self, file: int, part: Part) -> OpenLines:
        middle = replace(part, begin=max(1, part.begin))
        if is_remote(part.path):
            from thresher.sources.files.remote_ranges import RangeStream

            stream: Stream = RangeStream(part.path)
        else:
            stream = Stream(part.path, window_limit=self._source.limits.window, buffer=PAGE)
        reports = self._reports.setdefault(file, Reports())
        return OpenLines(stream, self._source._parser(middle, Cursor()), self._options, reports)

    def close(self) -> None:
        """Close all files."""
        for opened in self._open.values():
            opened.stream.close()
        self._open.clear()


class _Piece(NamedTuple):
    """A block: its number, the range of its bytes, the number of its file, and the open file."""

    number: int
    part: Part
    file: int
    opened: OpenLines


class _Lines(NamedTuple):
    """The lines of some blocks: their bytes with room behind them, the number of bytes, and the lines up to the end of
    each block.
    """

    block: NDArray[np.uint8]
    size: int
    behind: NDArray[np.int64]


class _BlockGroup:
    """Some blocks that are parsed together, which takes less time than one by one; if a line is malformed, one by one.

    The rows and their places do not depend on which blocks form a group.
    """

    def __init__(self, source: LineSource, pieces: list[_Piece], text: bytearray) -> None:
        self._source = source
        self._pieces = pieces
        self._text = text  # room for the bytes of a block
        self._done = 0  # rows that were yielded

    def rows(self) -> Iterator[BlockRows]:
        """Yield the rows of the blocks."""
        lines = self._lines()
        if lines is None or not (yield from self._together(lines)):
            yield from self._one_by_one()

    def _lines(self) -> _Lines | None:
        """The lines of all blocks; None if they cannot be parsed together, or if a line is long."""
        if any(piece.opened.parse is not self._pieces[0].opened.parse for piece in self._pieces):
            return None
        # The first line of a block may begin before it, and the last one end behind it.
        usual = sum((piece.part.end or 0) - piece.part.begin for piece in self._pieces) + SLACK
        bytes_of, size, behind, lines = _native.new_block(usual + _native.padding), 0, [], 0
        for piece in self._pieces:
            found = _lines_of(piece, self._source.limits.line_cap, self._text)
            if found is None:
                return None
            first, last = found
            bytes_of = _with_room(bytes_of, size, last - first + _native.padding)
            copied = bytes_of[size : size + last - first]
            copied[:] = np.frombuffer(self._text, np.uint8, last - first, first)
            size += last - first
            lines += int(np.count_nonzero(copied == _NEWLINE))
            behind.append(lines)
        return _Lines(bytes_of, size, np.array(behind))

    def _together(self, text: _Lines) -> Generator[BlockRows, None, bool]:
        """Yield the rows up to a batch with a malformed line; return whether there was none."""
        numbers = np.array([piece.number for piece in self._pieces], np.int64)
        opened = self._pieces[0].opened
        at = lines = last = past = 0
        while at < text.size:
            parsed = opened.parse(text.block, at, text.size, **opened.options)
            if parsed["faults"] or parsed["skipped"]:
                return False
            batch = batch_of(text.block, at, parsed, lines)
            at, lines = at + parsed["consumed"], lines + parsed["lines"]
            if len(batch) and batch.line is not None:
                which = np.searchsorted(text.behind, batch.line)
                line = batch.line - np.concatenate([[0], text.behind])[which]
                ends = int(which[-1])
                n = len(batch) - int(np.searchsorted(which, ends))
                last, past = ends, n + (past if ends == last else 0)
                self._done += len(batch)
                yield BlockRows(replace(batch, line=line + (numbers[which] << LINE_BITS)), last, past, 0)
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
                yield BlockRows(tagged(rest, piece.number), at, past, skipped + here, here)
            self._source.skips.add_block(piece.part, here)
            skipped += here


def _lines_of(piece: _Piece, cap: int, text: bytearray) -> tuple[int, int] | None:
    """Read the lines that begin in a block into ``text``, which grows if they are long.

    Returns where they begin and end in it, or None if one may be over the cap. The last line always gets a newline.
    """
    begin, end = piece.part.begin, piece.part.end or 0
    start, most = _bytes_of(piece.part)
    stream = piece.opened.stream
    stream.seek(start)
    wanted = most - start
    size = _read_into(stream, text, 0, wanted)
    first = text.find(b"\n", 0, size) + 1 if begin else 0
    if begin and (first == 0 or start + first >= end):  # no line begins here
        return 0, 0
    stop = text.find(b"\n", end - 1 - start, size)
    while stop < 0 and size == wanted <= cap:  # the last line is long
        wanted *= 2
        read = _read_into(stream, text, size, wanted)
        stop = text.find(b"\n", size, size + read)
        size += read
    if size > cap or not size:
        return None
    if stop < 0:  # the last line of the file has no newline
        stop = size
        text[stop : stop + 1] = b"\n"
    return first, stop + 1


def _bytes_of(part: Part) -> tuple[int, int]:
    """The range of bytes that has the lines of a block, unless the last one is long."""
    return max(0, part.begin - 1), (part.end or 0) + SLACK


def _read_into(stream: Stream, text: bytearray, begin: int, end: int) -> int:
    """Fill a range of ``text``, which grows if it is shorter; the number of bytes read."""
    text += bytes(max(0, end - len(text)))
    with memoryview(text) as whole, whole[begin:end] as part:
        return stream.readinto(part)


def _with_room(block: NDArray[np.uint8], size: int, more: int) -> NDArray[np.uint8]:
    """The block, or a larger one with its first ``size`` bytes, if ``more`` do not fit behind these."""
    if size + more <= len(block):
        return block
    larger = _native.new_block(2 * (size + more))
    larger[:size] = block[:size]
    return larger
