"""A cache of parsed rows: the first pass writes them to a file, later passes map that file into memory."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.memory import DEFAULT_CACHE_SIZE, ReadLimits, Watch, parse_size
from thresher.core.storage.atomic import Unfinished, unfinished, writing
from thresher.errors import DataError, FileFormatError, SettingsError, UnwritableError
from thresher.sources.base import Source, Wrapped
from thresher.sources.blocks import Blocks
from thresher.sources.cache.codec import VERSION, Block
from thresher.sources.cache.file import StoredFile, split_block, write_rows
from thresher.sources.cache.folder import CacheFolder
from thresher.sources.cache.source import StoredSource
from thresher.sources.cache.stored_blocks import StoredBlocks
from thresher.sources.files.changes import file_states
from thresher.sources.files.paths import modification_times

log = logging.getLogger("thresher.sources")

#: Seconds between two log lines about the progress of writing.
_LOG_EVERY = 5.0


@dataclass
class _Shared:
    """What the copies of a cached source share: its open files with and without labels, and the state of the data.

    ``watch`` receives the progress of writing; without one it is logged.
    """

    files: dict[bool, StoredFile] = field(default_factory=dict)
    state: object = None
    fingerprint: str | None = None
    watch: Watch | None = None


class Cached(Wrapped):
    """The rows of a source, stored in a file once they are parsed.

    Rows, cursors and fingerprint are those of the source, so a run with the cache can resume without it, and vice
    versa. A source that can be read only once becomes rewindable; its content identifies its rows.
    """

    row_by_row = False

    def __init__(
        self,
        source: Source,
        folder: CacheFolder,
        limits: ReadLimits | None = None,
        shared: _Shared | None = None,
    ) -> None:
        super().__init__(source)
        self.folder = folder
        self.limits = limits or ReadLimits()
        self.rewindable = True
        self._shared = shared or _Shared()

    def _with(self, source: Source) -> Source:
        return Cached(source, self.folder, self.limits)

    def with_ids(self, column: str | None = None) -> Source:
        return self.source.with_ids(column)  # the cache stores no identifiers

    def with_texts(self) -> dict[str, Source]:
        return self.source.with_texts()

    def limited(self, limits: ReadLimits) -> Source:
        return Cached(self.source.limited(limits), self.folder, limits, self._shared)

    def fingerprint(self) -> str:
        if self.source.rewindable:
            return self._data_fingerprint()
        return f"{self.source.fingerprint()}:{self._file(True).summary.digest}"

    def skipped_files(self) -> dict[str, int]:
        known = next(iter(self._shared.files.values()), None)
        names = self.source.files()
        counts = {} if known is None else known.summary.files
        return {names[number]: count for number, count in counts.items() if number < len(names)}

    def prepare(self) -> None:
        self.source.prepare()
        self.total_rows = self._file(True).summary.rows

    def blocks(self) -> Blocks | None:
        """The blocks of the source, so that its rows come in the same order with and without the cache."""
        of_source = self.source.blocks()
        return of_source if of_source is None or of_source.count < 2 else self.stored_blocks()

    def stored_blocks(self) -> Blocks:
        """The blocks of the stored rows, also if the source itself cannot be read out of order."""
        return StoredBlocks(self.source, self._reading, self.limits.batch_features)

    def permuted(self, seed: int) -> Source:
        return Source.permuted(self, seed)

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        features = self.limits.batch_features
        before: Cursor | None = None
        with self._reading(want_labels) as (file,):
            for number, block in file.blocks(start.row):
                before = file.before(number) if before is None else before
                begin = file.summary.starts[number]
                for batch, end in split_block(block, max(0, start.row - begin), rows, features, only, want_names):
                    yield batch, _cursor(before, block, end)
                before = block.cursor

    @contextmanager
    def _reading(self, want_labels: bool) -> Iterator[list[StoredFile]]:
        """The open file; if it turns out to be damaged, it is removed."""
        file = self._file(want_labels)
        try:
            yield [file]
        except FileFormatError as error:
            self._shared.files.pop(want_labels, None)
            self.folder.remove(file.path)
            raise FileFormatError(f"{error} The file was removed. Run again to write a new one.") from None

    def _data_fingerprint(self) -> str:
        """The fingerprint of the source, computed again only if sizes or dates of its files have changed."""
        state = self._state()
        if self._shared.fingerprint is None or state != self._shared.state:
            self._shared.fingerprint, self._shared.state = self.source.fingerprint(), state
        return self._shared.fingerprint

    def _state(self) -> object:
        return file_states(getattr(self.source, "parts", ()))

    def _file(self, want_labels: bool) -> StoredFile:
        """The open file of the current rows; written if there is none."""
        file = self._shared.files.get(want_labels)
        if not self.source.rewindable:
            # It cannot be read again: a file with labels serves passes without labels too.
            file = file or (None if want_labels else self._shared.files.get(True))
            return file or self._opened(self._write_once(want_labels), want_labels)
        times = modification_times(getattr(self.source, "parts", ()))
        path = self.folder.path(_key(self._data_fingerprint(), times, want_labels))
        if file is not None and file.path == path and self._is_valid(file):
            return file
        try:
            if os.path.exists(path) and self._is_valid(found := StoredFile(path)):
                self.folder.touch(path)
                return self._keep(found, want_labels)
        except FileFormatError as error:
            log.warning("%s Writing a new one.", error)
        self._shared.files.pop(want_labels, None)  # some systems cannot replace an open file
        self._write(lambda digest: path, want_labels)
        return self._opened(path, want_labels)

    def _is_valid(self, file: StoredFile) -> bool:
        """Whether a file holds the rows of the current limits, on which skipped lines depend."""
        limits = (file.summary.line_cap, file.summary.window)
        return not file.summary.skipped or limits == (self.limits.line_cap, self.limits.window)

    def _opened(self, path: str, want_labels: bool) -> StoredFile:
        return self._keep(StoredFile(path), want_labels)

    def _keep(self, file: StoredFile, want_labels: bool) -> StoredFile:
        self._shared.files[want_labels] = file
        return file

    def _write_once(self, want_labels: bool) -> str:
        """Write the rows of a source that can be read only once, to a file named by their content."""

        def path_of(digest: str | None) -> str:
            return self.folder.path(_key(f"{self.source.fingerprint()}:{digest}", (), want_labels))

        return self._write(path_of, want_labels)

    def _write(self, path_of: Callable[[str | None], str], want_labels: bool) -> str:
        """Write the rows; ``path_of`` gives the path of the file from the digest of its rows."""
        self.folder.prepare()
        log.info("%s: writing its rows to %s", self.describe(), self.folder.folder)
        try:
            with writing(self.folder.path("rows")), unfinished(self.folder.folder) as made:
                path = path_of(self._write_rows(made, want_labels))
                made.publish(path)
        except UnwritableError as error:
            raise SettingsError(
                f"{self.folder.folder}: the cache cannot be written ({error.why}). Choose another folder "
                "(`cache=FOLDER`), or do not use a cache."
            ) from None
        return path

    def _write_rows(self, made: Unfinished, want_labels: bool) -> str | None:
        next_log = time.monotonic() + _LOG_EVERY

        def progress(cursor: Cursor, size: int) -> None:
            nonlocal next_log
            self.folder.make_room(size)
            if self._shared.watch is not None:
                self._shared.watch.show(phase="writing the cache", **self.source.counts_at(cursor))
            elif time.monotonic() >= next_log:
                next_log += _LOG_EVERY
                part = "" if not self.total_bytes else f", {100 * cursor.read / self.total_bytes:.0f} %"
                log.info("%s: %d rows written%s", self.describe(), cursor.row, part)

        summary = write_rows(
            made.file,
            self.source,
            want_labels=want_labels,
            limits=self.limits,
            ahead=self.source.rewindable,
            progress=progress,
        )
        if self.source.rewindable and self._state() != self._shared.state:
            raise DataError(f"{self.describe()}: the data changed while it was read. Run again when it is complete.")
        return summary.digest


def _cursor(before: Cursor, block: Block, end: int) -> Cursor:
    """The cursor behind row ``end`` of a block, valid for the wrapped source too."""
    after = block.cursor
    if end == len(block.batch):
        return after
    if before.part != after.part:  # the end of one file is the start of the next
        before = replace(before, part=after.part, offset=0, line=0, here=0)
    return replace(before, past=end, row=before.row + end, read=after.read)


def _key(data: str, times: tuple[int, ...], want_labels: bool) -> str:
    text = repr((VERSION, data, times, want_labels))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def cached(
    source: Source,
    folder: str | os.PathLike[str] | bool = True,
    *,
    size: str | int = DEFAULT_CACHE_SIZE,
    watch: Watch | None = None,
) -> Source:
    """Cache the parsed rows of a source for later passes and runs.

    Parameters
    ----------
    source : Source
        A source that parses files or standard input.
    folder : path or True
        The folder of the cache files; True is the user's cache folder.
    size : str or int
        The largest total size of the files in the folder. The least recently used files are removed to make room;
        rows that exceed the limit alone are an error.
    watch : Watch, optional
        Receives the progress of writing; by default it is logged.

    Examples
    --------
    >>> source = th.cached(th.scan("clicks.vw.gz"))                # doctest: +SKIP
    """
    if isinstance(source, (Cached, StoredSource)):
        return source
    if isinstance(source, Wrapped):  # cache the parsed rows, not the transformed ones
        return source._with(cached(source.source, folder, size=size, watch=watch))
    if type(source).shuffled is not Source.shuffled:
        raise SettingsError(f"{source.describe()}: the data is in memory and needs no cache. Leave out `cache`.")
    return Cached(source, CacheFolder.at(folder, parse_size(size)), shared=_Shared(watch=watch))
