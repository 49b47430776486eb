"""Rows parsed once: the first reading writes them to a file, every later one maps that file into memory."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.container import write_atomically
from thresher.core.memory import ReadLimits, parse_size
from thresher.errors import DataError, FileFormatError, SettingsError
from thresher.sources.base import Source
from thresher.sources.cache.codec import VERSION, Block
from thresher.sources.cache.file import StoredFile, cut, write_rows
from thresher.sources.cache.folder import CacheFolder
from thresher.sources.cache.source import StoredSource
from thresher.sources.files import paths as opening
from thresher.sources.transforms.prefetch import ReadAhead
from thresher.sources.transforms.shuffle import Shuffled
from thresher.sources.transforms.wrapped import Wrapped

log = logging.getLogger("thresher.sources")

#: What all files of a folder may take together, unless said otherwise.
DEFAULT_SIZE = "20GB"
#: Seconds between two lines that tell how far writing has come.
_TELL_EVERY = 5.0


@dataclass
class _Known:
    """What the copies of a cached source share: open files by whether labels were wanted, and the data's state."""

    files: dict[bool, StoredFile] = field(default_factory=dict)
    state: object = None
    fingerprint: str | None = None


class Cached(Wrapped):
    """The rows of a source, kept in a file once they were parsed.

    Rows, cursors, fingerprint and places are those of the source itself, so that a checkpoint made with the cache
    goes on without it, and the other way round. A source that can be read only once can be read again here: its rows
    are known by their content.
    """

    def __init__(
        self,
        source: Source,
        folder: CacheFolder,
        limits: ReadLimits | None = None,
        known: _Known | None = None,
    ) -> None:
        super().__init__(source)
        self.folder = folder
        self.limits = limits or ReadLimits()
        self.rewindable = True
        self._known = known or _Known()

    def _with(self, source: Source) -> Source:
        return Cached(source, self.folder, self.limits)

    def limited(self, limits: ReadLimits) -> Source:
        return Cached(self.source.limited(limits), self.folder, limits, self._known)

    def fingerprint(self) -> str:
        if self.source.rewindable:
            return self._data()
        return f"{self.source.fingerprint()}:{self._file(True).summary.digest}"

    def skipped_files(self) -> dict[str, int]:
        known = next(iter(self._known.files.values()), None)
        names = self.source.files()
        return {} if known is None else {names[number]: count for number, count in known.summary.files.items()}

    def prepare(self) -> None:
        self.source.prepare()
        self.total_rows = self._file(True).summary.rows

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        file = self._file(want_labels)
        features = max(1, self.limits.block // 9)  # as when text is parsed
        before: Cursor | None = None
        try:
            for number, block in file.blocks(start.row):
                before = file.before(number) if before is None else before
                begin = file.summary.starts[number]
                for batch, end in cut(block, max(0, start.row - begin), rows, features, only, want_names):
                    yield batch, _cursor(before, block, end)
                before = block.cursor
        except FileFormatError as error:
            self._known.files.pop(want_labels, None)
            self.folder.remove(file.path)
            raise FileFormatError(f"{error} It was removed: run again, and it is written anew.") from None

    def _data(self) -> str:
        """The fingerprint of the source, taken again only where sizes or dates of its files have changed."""
        state = self._state()
        if self._known.fingerprint is None or state != self._known.state:
            self._known.fingerprint, self._known.state = self.source.fingerprint(), state
        return self._known.fingerprint

    def _state(self) -> object:
        return opening.state(getattr(self.source, "parts", ()))

    def _file(self, want_labels: bool) -> StoredFile:
        """The open file of the rows as they are now, written if need be."""
        held = self._known.files.get(want_labels)
        if not self.source.rewindable:
            # It was read, and cannot be read again: rows with labels do where these are not asked for.
            held = held or (None if want_labels else self._known.files.get(True))
            return held or self._opened(self._write_once(want_labels), want_labels)
        path = self.folder.path(_key(self._data(), opening.dates(getattr(self.source, "parts", ())), want_labels))
        if held is not None and held.path == path and self._fits(held):
            return held
        try:
            if os.path.exists(path) and self._fits(found := StoredFile(path)):
                self.folder.touch(path)
                return self._keep(found, want_labels)
        except FileFormatError as error:
            log.warning("%s It is written anew.", error)
        self._known.files.pop(want_labels, None)  # some systems replace only files that nobody has open
        self._write(path, want_labels)
        return self._opened(path, want_labels)

    def _fits(self, file: StoredFile) -> bool:
        """Whether a file holds what would be read now: what was passed over may depend on the limits."""
        made = (file.summary.line_cap, file.summary.window)
        return not file.summary.skipped or made == (self.limits.line_cap, self.limits.window)

    def _opened(self, path: str, want_labels: bool) -> StoredFile:
        return self._keep(StoredFile(path), want_labels)

    def _keep(self, file: StoredFile, want_labels: bool) -> StoredFile:
        self._known.files[want_labels] = file
        return file

    def _write_once(self, want_labels: bool) -> str:
        """Write what can be read only once, under a name that follows from its content."""
        path = self.folder.path(f"once-{os.getpid()}-{time.monotonic_ns()}")
        digest = self._write(path, want_labels)
        final = self.folder.path(_key(f"{self.source.fingerprint()}:{digest}", (), want_labels))
        os.replace(path, final)
        return final

    def _write(self, path: str, want_labels: bool) -> str | None:
        self.folder.prepare()
        log.info("%s: writing its rows to %s", self.describe(), path)
        next_tell = time.monotonic() + _TELL_EVERY
        source = ReadAhead(self.source) if self.source.rewindable else self.source

        def told(cursor: Cursor, size: int) -> None:
            nonlocal next_tell
            self.folder.make_room(size)
            if time.monotonic() >= next_tell:
                next_tell += _TELL_EVERY
                part = "" if not self.total_bytes else f", {100 * cursor.read / self.total_bytes:.0f} %"
                log.info("%s: %d rows written%s", self.describe(), cursor.row, part)

        digest = None

        def write(file: object) -> None:
            nonlocal digest
            summary = write_rows(file, source, want_labels=want_labels, limits=self.limits, told=told)
            digest = summary.digest
            if self.source.rewindable and self._state() != self._known.state:
                raise DataError(f"{self.describe()}: the data changed while it was read. Run again when it is whole.")

        try:
            write_atomically(path, write)
        except OSError as error:
            if error.filename is not None or isinstance(error, ValueError):  # not the writing, but what was read
                raise
            raise SettingsError(
                f"{path}: the cache cannot be written ({error.strerror}). Choose another folder (--cache-dir), or go "
                "without."
            ) from None
        return digest


def _cursor(before: Cursor, block: Block, end: int) -> Cursor:
    """The cursor behind row ``end`` of a block, valid for the source itself."""
    after = block.cursor
    if end == len(block.batch):
        return after
    if before.part != after.part:  # the end of a file is the beginning of the next
        before = replace(before, part=after.part, offset=0, line=0, here=0)
    return replace(before, past=end, row=before.row + end, read=after.read)


def _key(data: str, dates: tuple[int, ...], want_labels: bool) -> str:
    text = repr((VERSION, data, dates, want_labels))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def cached(source: Source, folder: str | os.PathLike[str] | bool = True, *, size: str | int = DEFAULT_SIZE) -> Source:
    """The same source with its rows parsed once, and kept for later passes and runs.

    Parameters
    ----------
    source : Source
        Any that parses: files, or standard input.
    folder : path or True
        Where the files go; True is the user's cache folder.
    size : str or int
        What all files in the folder may take together. Those not used for longest are removed to make room; rows
        that alone take more are refused.

    Examples
    --------
    >>> source = th.cached(th.scan("clicks.vw.gz"))                # doctest: +SKIP
    """
    if isinstance(source, (Cached, StoredSource)):
        return source
    if isinstance(source, Wrapped):  # what is parsed is kept, and the rest done as rows pass by
        return source._with(cached(source.source, folder, size=size))
    if isinstance(source, Shuffled):
        inner = cached(source.source, folder, size=size)
        return Shuffled(inner, seed=source.seed, rows=source.rows, features=source.features)
    if type(source).shuffled is not Source.shuffled:
        raise SettingsError(f"{source.describe()}: all of it is held in memory, and needs no cache. Leave out cache.")
    return Cached(source, CacheFolder.at(folder, parse_size(size)))
