"""Text files with one example per line: LIBSVM, Vowpal Wabbit, and the base class of other formats."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor, Names
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import ReadLimits
from thresher.errors import SettingsError
from thresher.sources.base import OnError, Source, check_on_error
from thresher.sources.blocks import Blocks
from thresher.sources.files.paths import (
    Part,
    PathLike,
    Stream,
    find_parts,
    fingerprint,
    is_remote,
    stored_end,
    stored_size,
)
from thresher.sources.files.reader import LineBlocks, ReadPosition, Reports, SkipCounts, line_of_file


@dataclass(frozen=True)
class LineSource(Source):
    """Files of lines, plain or compressed, read one after the other.

    A subclass gives its native parser and its feature space. Sources are immutable: methods that change a setting
    return a copy.
    """

    parts: tuple[Part, ...]
    on_error: OnError = "stop"
    multilabel: bool = False
    limits: ReadLimits = field(default_factory=ReadLimits)
    skips: SkipCounts = field(default_factory=SkipCounts, compare=False, repr=False)
    #: Remote files are read by ranges of bytes, too, as workers do that share them.
    ranges: bool = field(default=False, kw_only=True)

    parses_files = True

    def __post_init__(self) -> None:
        check_on_error(self.on_error)

    @property
    @abstractmethod
    def _parse(self) -> Callable[..., dict[str, Any]]:
        """The native parser of a block."""

    def _parser(self, part: Part, cursor: Cursor) -> Callable[..., dict[str, Any]]:
        """The parser of the blocks of a part from a cursor on; it may keep state, since it gets them in order."""
        return self._parse

    @property
    def _last_row_end(self) -> Callable[[NDArray[np.uint8], int], int] | None:
        """The function that finds the end of the last whole row of a block; None if each row is a line."""
        return None

    @property
    @abstractmethod
    def format(self) -> str:
        """The name of the format in options and messages."""

    @property
    def rewindable(self) -> bool:  # type: ignore[override]
        return not any(part.once for part in self.parts)

    @property
    def total_bytes(self) -> int | None:  # type: ignore[override]
        return stored_size(self.parts)

    def limited(self, limits: ReadLimits) -> Self:
        return replace(self, limits=limits)

    def in_ranges(self) -> Self:
        return replace(self, ranges=True)

    def fingerprint(self) -> str:
        return fingerprint(self.parts, format=self.format, multilabel=self.multilabel, on_error=self.on_error)

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
        return f"{part.name}, {line_of_file(part, int(batch.line[row]))}"

    def blocks(self) -> Blocks | None:
        from thresher.sources.text.text_blocks import TextBlocks

        return TextBlocks.of(self) if self._last_row_end is None else None

    def shards(self, n: int) -> list[Source]:
        """Whole files if there are enough, else byte ranges of plain files; a compressed file stays whole."""
        super().shards(n)
        pieces: list[Part] = []
        per_file = -(-n // len(self.parts))
        for part in self.parts:
            pieces += split_part(part, per_file, self.limits, ranges=self.ranges)
        return [replace(self, parts=some) for some in group_parts(pieces, n)]

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        options = self.parse_options(rows, only, want_names, want_labels)
        cursor = start
        for number in range(start.part, len(self.parts)):
            part = self.parts[number]
            if number != start.part:
                cursor = replace(cursor, part=number, offset=0, line=0, here=0)
            read_before = stored_size(self.parts[:number]) or 0
            with Stream(part.path, window_limit=self.limits.window) as stream:
                opened = OpenLines(stream, self._parser(part, cursor), options)
                cursor = yield from self.read_lines(part, cursor, opened, read_before, next_part=number + 1)
            self.skips.set(part, cursor.here, "lines", n_files=len(self.parts))

    def parse_options(
        self, rows: int, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> dict[str, Any]:
        """The options of the parser."""
        return {
            "rows": rows,
            "features": self.limits.batch_features,
            "skip": self.on_error == "skip",
            "labels_optional": not want_labels,
            "multilabel": self.multilabel,
            "want_names": want_names and not self.space.invertible,
            "only": only,
        }

    def read_lines(
        self, part: Part, cursor: Cursor, opened: OpenLines, read_before: int, *, next_part: int | None = None
    ) -> Generator[tuple[Batch, Cursor], None, Cursor]:
        """Yield the rows of a part from a cursor on, and return the cursor behind its last line.

        ``read_before`` are the stored bytes before the part. ``next_part`` is the number of the next file, if the part
        is read to the end of its file.
        """
        stream, parse, options = opened.stream, opened.parse, opened.options
        position = ReadPosition(part, self.on_error, cursor, opened.reports)
        skipped = cursor.skipped
        blocks = LineBlocks(stream, part, cursor.offset, self.limits, position.report_long_line, self._last_row_end)
        for block, size, offset in blocks:
            at = 0
            while at < size:
                parsed = parse(block, at, size, **options)
                batch = batch_of(block, at, parsed, position.cursor.line)
                before, at, line = at, at + parsed["consumed"], position.cursor.line
                position.cursor = replace(
                    position.cursor,
                    offset=offset + at,
                    line=line + parsed["lines"],
                    row=position.cursor.row + len(batch),
                    read=read_before + stream.stored() - part.begin,
                )
                position.count_skipped(parsed["skipped"])
                # Yield the rows before a malformed line first, so that the result does not depend on ``rows``.
                if len(batch):
                    skipped = position.cursor.skipped
                    yield batch, position.cursor
                position.report_faults(block, size, before, line, parsed["faults"])
        if stream.failure is not None:
            position.report_damage(stream.failure)
        elif blocks.offset == 0:
            position.report_empty()
        if position.cursor.skipped > skipped:
            # The cursor of an empty batch counts the malformed lines behind the last row.
            empty = _native.new_block(_native.padding)
            behind = position.cursor
            if next_part is not None:
                behind = replace(behind, part=next_part, offset=0, line=0, here=0)
            yield batch_of(empty, 0, parse(empty, 0, 0, **options), 0), behind
        return position.cursor


@dataclass(frozen=True)
class LibsvmSource(LineSource):
    """Rows ``label [qid:n] index:value …  # comment``. The key of a feature is its index."""

    space = FeatureSpace("index")

    @property
    def format(self) -> str:
        return "libsvm"

    @property
    def _parse(self) -> Callable[..., dict[str, Any]]:
        return _native.parse_libsvm

    def grouped(self, column: str, *, feature: bool = False) -> Source:
        return by_query_id(self, column)


def by_query_id(source: Source, column: str) -> Source:
    """The source itself, whose rows have the group of their query id."""
    if column != "qid":
        return Source.grouped(source, column)
    first = next(iter(source.batches(1, want_labels=False)), None) if source.rewindable else None
    if first is not None and first[0].qid is None:
        raise SettingsError(f"{source.describe()}: the first row has no qid, so that rows form no groups")
    return source


def scan_libsvm(
    paths: PathLike | Iterable[PathLike], *, on_error: OnError = "stop", multilabel: bool = False
) -> LibsvmSource:
    """Read LIBSVM or SVMlight files, plain or compressed.

    Parameters
    ----------
    paths : path, glob, folder, "-" for standard input, or several of these
    on_error : {"stop", "skip"}
        Whether a malformed line raises `DataError` or is counted and skipped.
    multilabel : bool
        Rows start with several labels, ``1,3,7 index:value …``, or none.

    Examples
    --------
    >>> source = th.scan_libsvm("clicks/*.svm.gz")              # doctest: +SKIP
    """
    return LibsvmSource(tuple(find_parts(paths)), on_error, multilabel)


@dataclass(frozen=True)
class VwSource(LineSource):
    """Rows ``label importance 'tag|namespace:scale name:value …``. Feature names are ``namespace^name``."""

    space = FeatureSpace("token")

    @property
    def format(self) -> str:
        return "vw"

    @property
    def _parse(self) -> Callable[..., dict[str, Any]]:
        return _native.parse_vw


def scan_vw(paths: PathLike | Iterable[PathLike], *, on_error: OnError = "stop") -> VwSource:
    """Read Vowpal Wabbit text files with simple labels, plain or compressed.

    Parameters
    ----------
    paths : path, glob, folder, "-" for standard input, or several of these
    on_error : {"stop", "skip"}
        Whether a malformed line raises `DataError` or is counted and skipped.
    """
    return VwSource(tuple(find_parts(paths)), on_error)


@dataclass(frozen=True)
class OpenLines:
    """An open file of lines: its stream, its parser with its options, and the number of faults reported."""

    stream: Stream
    parse: Callable[..., dict[str, Any]]
    options: dict[str, Any]
    reports: Reports = field(default_factory=Reports)


def batch_of(block: NDArray[np.uint8], at: int, parsed: dict[str, Any], lines_before: int) -> Batch:
    """The batch that was parsed from a block from byte ``at`` on, behind a number of lines."""
    names = None
    if parsed["names"] is not None:
        text = parsed.get("text")  # the names refer to the block, unless the parser returns another text
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
        parsed.get("id"),
    )


def group_parts(parts: list[Part], n: int) -> list[tuple[Part, ...]]:
    """Split parts into at most ``n`` groups, in order."""
    n = min(n, len(parts))
    bounds = [len(parts) * i // n for i in range(n + 1)]
    return [tuple(parts[a:b]) for a, b in pairwise(bounds)]


def can_seek(part: Part, limits: ReadLimits, *, ranges: bool = False) -> bool:
    """Whether a file can be read from the middle: it is not compressed, and if it is remote, its ranges may be read."""
    if part.once:
        return False
    if is_remote(part.path):
        from thresher.sources.files.remote_ranges import divisible

        return ranges and divisible(part.path)
    with Stream(part.path, window_limit=limits.window) as stream:
        return stream.compression is None


def split_part(part: Part, n: int, limits: ReadLimits, *, ranges: bool = False) -> list[Part]:
    """Split a file into up to ``n`` byte ranges, if it can be read from the middle."""
    if n == 1 or part.begin or part.end is not None or not can_seek(part, limits, ranges=ranges):
        return [part]
    size = stored_end(part)
    bounds = sorted({size * i // n for i in range(n + 1)})
    return [Part(part.path, a, b) for a, b in pairwise(bounds)] or [part]
