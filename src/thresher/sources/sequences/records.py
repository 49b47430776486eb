"""Reads files of sequences block by block into a record sink."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import replace

from thresher import _native
from thresher.core.batch import Cursor
from thresher.core.kmers import Kmers
from thresher.core.memory import ReadLimits
from thresher.errors import DataError
from thresher.sources.base import OnError
from thresher.sources.files.paths import STDIN, Part, Stream, is_remote
from thresher.sources.files.reader import ReadPosition
from thresher.sources.registry import BY_ENDING, COMPRESSED

log = logging.getLogger("thresher.sources")

_HEAD = 4096
#: Letters of amino acids that are not IUPAC codes of nucleotides: about a third of a protein.
_AMINO_ACIDS_ONLY = b"EFILPQefilpq"


def feed(
    part: Part,
    sink: _native.RecordSink,
    cursor: Cursor,
    *,
    form: _native.KmerForm,
    on_error: OnError,
    limits: ReadLimits,
    read_before: int = 0,
) -> Iterator[Cursor]:
    """Feed the records of a part to a sink, block by block, in the letters of the k-mers.

    Yields the cursor behind the last record whenever the caller should empty the sink: it is full, a block ends, or
    an error follows. The last cursor is at the end of the part and counts its malformed records.
    """
    position = ReadPosition(part, on_error, cursor)
    seeking = cursor.offset == 0 and part.begin > 0
    begin = part.begin - 1 if seeking else cursor.offset
    with Stream(part.path, window_limit=limits.window) as stream:
        if begin:
            stream.seek(begin)
        scanner = _native.RecordScanner(
            sink,
            form=form,
            fastq=_fastq(part, begin, limits),
            skip=on_error == "skip",
            offset=begin,
            lines=cursor.line,
            skipped=cursor.skipped,
            seeking=seeking,
            limit=2**64 - 1 if part.end is None else part.end,
        )

        def cursor_at(place: tuple[int, int, int]) -> Cursor:
            offset, lines, skipped = place
            read = read_before + stream.stored() - part.begin
            here = cursor.here + skipped - cursor.skipped
            return replace(cursor, offset=offset, line=lines, skipped=skipped, here=here, read=read)

        def report() -> None:
            for fault in scanner.take_faults():
                position.report_record(*fault)

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
                # `finish` below decides whether the last record is whole; yield it with the records before it.
                if not (finished and stop == "more" and stream.failure is None):
                    yield cursor_at(scanner.place)
                    report()
        if stream.failure is not None:
            position.report_damage(stream.failure)
        elif total == 0 and begin == 0:
            position.report_empty()
        elif stop != "past":
            scanner.finish()
            yield cursor_at(scanner.place)
            report()
        end = cursor_at(scanner.reached)
        # `report_damage` counts in the position, not in the scanner.
        damaged = position.cursor.skipped - cursor.skipped
        yield replace(end, skipped=end.skipped + damaged, here=end.here + damaged)


def _fastq(part: Part, begin: int, limits: ReadLimits) -> bool | None:
    """Whether a part is FASTQ; None lets the first byte decide."""
    if part.begin > 0:
        return False  # only FASTA is split into byte ranges
    return None if begin == 0 or part.once else is_fastq(part, limits)


def is_fastq(part: Part, limits: ReadLimits) -> bool:
    """Whether the first byte of a file that is not white space is ``@``."""
    with Stream(part.path, window_limit=limits.window) as stream:
        head = bytearray(_HEAD)
        while size := stream.readinto(memoryview(head)):
            if start := bytes(head[:size]).lstrip():
                return start.startswith(b"@")
    return False


def check_alphabet(part: Part, kmers: Kmers) -> None:
    """Raise if the first records of a file are proteins, but are to be read as nucleotides.

    They are if a tenth of their letters are none of the codes of nucleotides. Nucleotides that are to be read as
    proteins only give a warning: their letters are amino acids too.
    """
    if part.once or (not os.path.isfile(part.path) and not is_remote(part.path)):
        return  # opening it reports the error
    with Stream(part.path, window_limit=ReadLimits().window) as stream:
        head = bytearray(_HEAD)
        lines = bytes(head[: stream.readinto(memoryview(head))]).split(b"\n")
    if not any(line.startswith(b">") for line in lines[:1]):
        return  # FASTQ holds reads of nucleotides
    letters = b"".join(line.strip() for line in lines if not line.startswith(b">"))
    strange = len(letters) - len(letters.translate(None, _AMINO_ACIDS_ONLY))
    if not kmers.protein and 10 * strange > len(letters):
        raise DataError(
            f"{part.name}: its first records look like proteins: {strange} of {len(letters)} letters are not codes of "
            "nucleotides. Read them with `alphabet='protein'`."
        )
    if kmers.protein and letters and not letters.translate(None, b"ACGTUNacgtun"):
        log.warning("%s: its first records look like nucleotides, but are read as proteins", part.name)


def class_of(part: Part) -> str | None:
    """The class of a file: its name without the endings of compression and format; None for standard input."""
    if part.path == STDIN:
        return None
    name = part.file_name
    for endings in (COMPRESSED, BY_ENDING):
        stem, dot, ending = name.rpartition(".")
        if dot and stem and ending.lower() in endings:
            name = stem
    return name
