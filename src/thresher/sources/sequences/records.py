"""Files of sequences, a block at a time into what takes their records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from thresher import _native
from thresher.core.batch import Cursor
from thresher.core.memory import ReadLimits
from thresher.sources.endings import without_endings
from thresher.sources.files.paths import STDIN, Part, Stream
from thresher.sources.text.parse_errors import OnError, Place

_HEAD = 4096


def feed(
    part: Part,
    sink: _native.RecordSink,
    cursor: Cursor,
    *,
    wildcards: bool,
    on_error: OnError,
    limits: ReadLimits,
    read_before: int = 0,
) -> Iterator[Cursor]:
    """Give the records of a part to a sink, block by block.

    Comes out with a cursor just behind the last record given, whenever the sink should be emptied: it
    is full, a block is through, or an error comes next. The last one that comes out is at the end of
    the part, and counts the bad records up to there.
    """
    place = Place(part, on_error, cursor)
    seeking = cursor.offset == 0 and part.begin > 0
    begin = part.begin - 1 if seeking else cursor.offset
    with Stream(part.path, window_limit=limits.window) as stream:
        if begin:
            stream.seek(begin)
        scanner = _native.RecordScanner(
            sink,
            wildcards=wildcards,
            fastq=_layout(part, begin, limits),
            skip=on_error == "skip",
            offset=begin,
            lines=cursor.line,
            skipped=cursor.skipped,
            seeking=seeking,
            limit=2**64 - 1 if part.end is None else part.end,
        )

        def reached(where: tuple[int, int, int]) -> Cursor:
            offset, lines, skipped = where
            read = read_before + stream.stored() - part.begin
            here = cursor.here + skipped - cursor.skipped
            return replace(cursor, offset=offset, line=lines, skipped=skipped, here=here, read=read)

        def tell() -> None:
            for fault in scanner.take_faults():
                place.record(*fault)

        total, stop, finished = 0, "more", False
        while not finished and stop != "past":
            block = _native.new_block(limits.block)
            size = stream.readinto(memoryview(block.data))
            finished = size < limits.block
            total += size
            at = 0
            while at < size and stop != "past":
                stop, used = scanner.feed(block, at, size)
                at += used
                # The last record of a file shows that it is whole only below, and comes with those before it.
                if not (finished and stop == "more" and stream.failure is None):
                    yield reached(scanner.place)
                    tell()
        if stream.failure is not None:
            place.broken(stream.failure)
        elif total == 0 and begin == 0:
            place.empty()
        elif stop != "past":
            scanner.finish()
            yield reached(scanner.place)
            tell()
        end = reached(scanner.reached)
        # What `broken` counted is not the scanner's.
        broken = place.cursor.skipped - cursor.skipped
        yield replace(end, skipped=end.skipped + broken, here=end.here + broken)


def _layout(part: Part, begin: int, limits: ReadLimits) -> bool | None:
    """Whether a part is FASTQ; None leaves that to the first byte that is read."""
    if part.begin > 0:
        return False  # only FASTA is divided
    return None if begin == 0 or part.once else is_fastq(part, limits)


def is_fastq(part: Part, limits: ReadLimits) -> bool:
    """Whether the first byte of a file that is no blank is FASTQ's."""
    with Stream(part.path, window_limit=limits.window) as stream:
        head = bytearray(_HEAD)
        while size := stream.readinto(memoryview(head)):
            if start := bytes(head[:size]).lstrip():
                return start.startswith(b"@")
    return False


def class_of(part: Part) -> str | None:
    """The class that a file stands for: its name without folder and endings; None for standard input."""
    return None if part.path == STDIN else without_endings(os.path.basename(part.path))
