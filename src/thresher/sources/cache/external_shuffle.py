"""Shuffles rows that cannot be read out of order: through a temporary file, if their order matters."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Any

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.memory import ReadLimits, show_size
from thresher.core.storage.atomic import TEMPORARY, writing
from thresher.errors import MissingExtraError, SettingsError, UnwritableError
from thresher.sources.base import Source, Wrapped
from thresher.sources.blocks import Blocks
from thresher.sources.cache.cached import Cached
from thresher.sources.cache.file import StoredFile, write_rows
from thresher.sources.cache.folder import CacheFolder
from thresher.sources.cache.in_blocks import Started
from thresher.sources.cache.stored_blocks import StoredBlocks
from thresher.sources.transforms.row_order import FirstRows
from thresher.sources.transforms.shuffle import Permuted

log = logging.getLogger("thresher.sources")

#: The number of buffers to look for a second class in, if the data can be read again.
_BUFFERS = 16


class _NoRoom(Exception):
    """The rows take more than the folder may hold."""


@dataclass
class Mixing:
    """What is known of the order of the rows: why it matters (None: it does not), and why they stay in it if so."""

    known: bool = False
    why: str | None = None
    unmixed: str | None = None
    blocks: Blocks | None = None


@dataclass(frozen=True)
class ShuffleLimits:
    """The size of the shuffle buffer, the limits of reading, and whether labels are classes."""

    rows: int
    features: int
    reading: ReadLimits
    has_classes: bool


class ExternalShuffle(Wrapped):
    """A source that is permuted through a temporary file of its rows, if it cannot be read out of order.

    The labels of the first rows, in the order of the data, show whether that is needed (see
    `thresher.sources.transforms.row_order`). The file has no name: nothing stays behind, whatever happens. Rows that
    are in the cache already are permuted there, in the same order.
    """

    def __init__(self, source: Source, folder: CacheFolder, limits: ShuffleLimits, mixing: Mixing) -> None:
        super().__init__(source)
        self.folder = folder
        self.limits = limits
        self.mixing = mixing

    def _with(self, source: Source) -> Source:
        return ExternalShuffle(source, self.folder, self.limits, self.mixing)

    def prepare(self) -> None:
        self.source.prepare()
        self.total_rows = self.source.total_rows

    def permuted(self, seed: int) -> Source:
        return self.source.permuted(seed) if self.source.blocks() is not None else _Mixed(self, seed)

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        return self.source._read(rows, start, only, want_names, want_labels)

    def judge(self, reading: Iterator[tuple[Batch, Cursor]], *, hold: bool) -> list[tuple[Batch, Cursor]]:
        """Find out whether the order matters, unless it is known; return the batches read for it, if they are held."""
        limits = self.limits
        first = FirstRows(limits.rows, limits.features, limits.has_classes, 1 if hold else _BUFFERS)
        self.mixing.why = first.why(reading, hold=hold)
        self.mixing.known = True
        return first.held

    def mixed_blocks(self, started: Started | None = None) -> Blocks | None:
        """The blocks of the stored rows; None, with a warning, if they cannot be stored.

        ``started`` are the batches, if the rows are being read already and cannot be read again.
        """
        if self.mixing.blocks is None and self.mixing.unmixed is None:
            if isinstance(self.source, Cached):
                self.mixing.blocks = self.source.stored_blocks()
            else:
                self.mixing.blocks = self._store(started)
        return self.mixing.blocks

    def _store(self, started: Started | None) -> Blocks | None:
        """Write the rows to a temporary file; None, with a warning, if there is no room for it."""
        folder = self.folder.folder
        try:
            self.folder.prepare()
            file = tempfile.TemporaryFile(prefix=TEMPORARY, dir=folder)  # noqa: SIM115 - closed below
        except (SettingsError, OSError):
            self._stay(f"{folder} cannot hold a temporary file")
            return None
        with file:
            try:
                with writing(self.folder.path("rows")):
                    self._write(file, started)
            except UnwritableError as error:
                raise SettingsError(
                    f"{folder}: the temporary file that shuffles the rows cannot be written ({error.why}). Choose "
                    "another folder (`cache=FOLDER`), or mix the rows yourself and pass `shuffle=False`."
                ) from None
            except _NoRoom:
                self._stay(f"their temporary file exceeds the {show_size(self.folder.size)} of `cache_size`")
                return None
            except MissingExtraError as error:
                self._stay(str(error))
                return None
            stored = StoredFile(f"the temporary file in {folder}", file)
        log.info(
            "%s: %s, so its rows are shuffled through a temporary file of %s in %s",
            self.describe(),
            self.mixing.why,
            show_size(stored.size),
            folder,
        )
        return StoredBlocks(self.source, lambda _: nullcontext([stored]), self.limits.reading.batch_features)

    def _write(self, file: Any, started: Started | None) -> None:
        def check_room(_: Cursor, size: int) -> None:
            if size > self.folder.size:
                raise _NoRoom
            self.folder.make_room(size)

        ahead = self.source.rewindable
        write_rows(file, self.source, limits=self.limits.reading, ahead=ahead, progress=check_room, started=started)
        file.flush()

    def _stay(self, reason: str) -> None:
        """Warn that the rows stay in the order of the data, or raise if they cannot be read again."""
        advice = "Mix the rows yourself, or choose a folder with room (`cache=FOLDER`, `cache_size`)."
        message = f"{self.describe()}: {self.mixing.why}, and the rows cannot be shuffled: {reason}"
        if not self.source.rewindable:
            raise SettingsError(f"{message}. {advice}")
        log.warning("%s. An online method fits the last rows best, so expect a poor answer. %s", message, advice)
        self.mixing.unmixed = reason


class _Mixed(Wrapped):
    """The rows in the order of the data, or of permuted blocks of a temporary file; a cursor tells which.

    Those of permuted blocks have an ``inner`` one, see `thresher.sources.transforms.shuffle.Permuted`.
    """

    def __init__(self, source: ExternalShuffle, seed: int) -> None:
        super().__init__(source)
        self._outer = source
        self._seed = seed
        self._permuted: Permuted | None = None

    def _with(self, source: Source) -> Source:
        return source.permuted(self._seed)

    def permuted(self, seed: int) -> Source:
        return self

    def shards(self, n: int) -> list[Source]:
        return Source.shards(self, n)

    @property
    def most_parts(self) -> int:
        return self._divided().most_parts

    def nth_part(self, part: int, parts: int) -> Source:
        return self._divided().nth_part(part, parts)

    def _divided(self) -> Permuted:
        """The permuted blocks of the temporary file, which exists from now on even if the order does not matter."""
        outer = self._outer
        if outer.mixing.blocks is None:
            outer.mixing.why = outer.mixing.why or "workers share the rows, and the data cannot be read out of order"
            outer.mixing.known = True
        blocks = outer.mixed_blocks()
        if blocks is None:
            raise SettingsError(
                f"{self.describe()}: the rows cannot be divided among workers: {outer.mixing.unmixed}. Leave out "
                "`workers`, or choose a folder with room (`cache=FOLDER`, `cache_size`)."
            )
        return Permuted(outer.source, blocks, self._seed)

    def files(self) -> list[str]:
        return super().files() if self._permuted is None else self._permuted.files()

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        return (self._permuted or self.source).where(cursor, batch, row)

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        outer, how = self._outer, (only, want_names, want_labels)
        mixing, started = outer.mixing, None
        if not mixing.known:
            if outer.rewindable:
                outer.judge(outer.source.batches(want_labels=want_labels), hold=False)
            else:
                batches = outer.source._read(rows, start, *how)
                started = chain(outer.judge(batches, hold=True), batches)
        blocks = None
        if mixing.why is not None:
            if start == Cursor() or start.inner is not None:
                blocks = outer.mixed_blocks(started)
            else:
                mixing.unmixed = "the run began without"
        if blocks is None:
            if start.inner is not None:
                raise SettingsError(f"{self.describe()}: the run cannot be resumed without a temporary file.")
            yield from outer.source._read(rows, start, *how) if started is None else started
            return
        self._permuted = Permuted(outer.source, blocks, self._seed)
        yield from self._permuted._read(rows, start, *how)


def with_external_shuffle(source: Source, folder: CacheFolder, limits: ShuffleLimits, mixing: Mixing) -> Source:
    """The same source, whose files are shuffled externally where that is needed; ``mixing`` tells whether it was."""
    if isinstance(source, Wrapped) and source.row_by_row:
        inner = with_external_shuffle(source.source, folder, limits, mixing)
        return source if inner is source.source else source._with(inner)
    if type(source).shuffled is not Source.shuffled:  # all its rows are in memory
        return source
    return ExternalShuffle(source, folder, limits, mixing)
