"""Files of parsed rows: written once, then memory-mapped and read block by block."""

from __future__ import annotations

import json
import mmap
import os
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor, Names
from thresher.core.memory import PAGE, ReadLimits
from thresher.core.storage.container import checked_count
from thresher.core.storage.stored_space import key_limit, read_space
from thresher.errors import FileFormatError, UnreadableError
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.sources.cache.codec import (
    VERSION,
    Block,
    Digest,
    Summary,
    check_batch,
    decode,
    decode_summary,
    encode,
    encode_summary,
    pyarrow,
    schema,
)
from thresher.sources.cache.in_blocks import InBlocks, Started
from thresher.sources.files.reader import by_file
from thresher.sources.transforms.shuffle import FEATURE_BYTES, USUAL_NAME

#: The number of earlier blocks whose pages stay in memory, since their batches may still be in use.
_BEHIND = 2
#: The number of blocks that stay decoded (as views of the file) to read further pieces of them, and the number of
#: rows in all of them, where labels are text: these are no views.
_RECENT, _RECENT_LABELS = 128, 1 << 15
#: The largest number of columns of labels: their numbers are listed before a plan limits them.
_MOST_LABELS = 1 << 22
#: Release pages up to this many bytes back, in case some were read again.
_RELEASE_BYTES = 1 << 30


def write_rows(
    file: Any,
    source: Source,
    *,
    want_labels: bool = True,
    limits: ReadLimits | None = None,
    ahead: bool = False,
    progress: Callable[[Cursor, int], None] | None = None,
    started: Started | None = None,
) -> Summary:
    """Write all rows of a source to an open file.

    With ``ahead``, a second thread parses the rows. ``progress`` is called after every block with the cursor behind it
    and the number of bytes written. An exception from it ends the writing. ``started`` are the batches of a source that
    is being read and cannot be read again.
    """
    pa = pyarrow()
    about = {
        "version": VERSION,
        "space": source.space.to_dict(),
        "multilabel": source.multilabel,
        "label_columns": source.label_columns,
    }
    starts, cursor = [0], Cursor()
    limits = limits or ReadLimits()
    in_blocks = InBlocks(source, started)
    reading = in_blocks.prefetched() if ahead else in_blocks
    # A source that cannot be read again is identified by its content.
    digest = None if source.rewindable else Digest()
    with pa.ipc.new_file(file, schema().with_metadata({"thresher": json.dumps(about, sort_keys=True)})) as writer:
        names = not source.space.invertible
        batches = reading.batches(DEFAULT_ROWS, want_names=names, want_labels=want_labels)
        for batch, cursor in _joined(batches, limits.batch_features):
            writer.write_batch(encode(batch, cursor))
            if digest is not None:
                digest.add(batch)
            starts.append(starts[-1] + len(batch))
            if progress is not None:
                progress(cursor, file.tell())
        summary = Summary(
            starts=starts,
            skipped=cursor.skipped,
            digest=None if digest is None else digest.hexdigest(),
            line_cap=limits.line_cap,
            window=limits.window,
            # By number, since the data may be read from another path later.
            files={source.files().index(name): count for name, count in by_file(source.skipped_files()).items()},
            pieces=in_blocks.starts,
            piece_skips=in_blocks.skips,
        )
        writer.write_batch(encode_summary(summary))
    return summary


def _joined(batches: Iterator[tuple[Batch, Cursor]], features: int) -> Iterator[tuple[Batch, Cursor]]:
    """Join small batches of the same file into batches of at most `DEFAULT_ROWS` rows and the size of ``features``."""
    held: list[Batch] = []
    n = size = 0
    last = Cursor()
    for batch, cursor in batches:
        more = int(batch.sizes(feature=FEATURE_BYTES, usual_name=USUAL_NAME)[-1])
        n, size = n + len(batch), size + more
        full = n > DEFAULT_ROWS or size > FEATURE_BYTES * features
        if held and (full or cursor.part != last.part or not len(batch)):
            yield Batch.concat(held), last
            held, n, size = [], len(batch), more
        if len(batch):
            held.append(batch.compact(USUAL_NAME))
        else:  # its cursor counts skipped lines
            yield batch, cursor
        last = cursor
    if held:
        yield Batch.concat(held), last


class StoredFile:
    """An open file of parsed rows.

    The file is memory-mapped: a block uses memory while it is read, and its pages are released soon after. The
    operating system keeps them in its page cache as long as they fit. A file that is ``opened`` already may have no
    name; it can be closed, and is removed with the map. If another program changes the file,
    its blocks are checked again; if it becomes shorter, that is an error.
    """

    def __init__(self, path: str, opened: Any = None) -> None:
        self.path = path
        pa = pyarrow()
        try:
            with open(path, "rb") if opened is None else nullcontext(opened) as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self._descriptor = os.dup(file.fileno())
                weakref.finalize(self, os.close, self._descriptor)
                self._state = self._state_now()
                self.size = self._state[0]
        except FileNotFoundError:
            raise UnreadableError(
                f"{path}: there is no such file. Check the path (the working directory is {os.getcwd()})."
            ) from None
        except OSError as error:
            raise UnreadableError(f"{path}: cannot be read ({error.strerror}).") from None
        except ValueError:
            raise FileFormatError(f"{path}: the file is empty.") from None
        self._advise("MADV_SEQUENTIAL", 0, self.size)
        buffer = pa.py_buffer(self._map)
        self._base: int = buffer.address
        try:
            self._records = pa.ipc.open_file(pa.BufferReader(buffer))
            about = json.loads((self._records.schema.metadata or {})[b"thresher"])
            if about["version"] > VERSION:
                raise FileFormatError(
                    f"it has format version {about['version']}; this version of Thresher reads up to {VERSION}"
                )
            if not self._records.schema.equals(schema()):
                raise FileFormatError("it has other columns")
            self.summary = decode_summary(self._records.get_batch(self._records.num_record_batches - 1))
            if len(self.summary.starts) != self._records.num_record_batches:
                raise FileFormatError("its summary does not match its blocks")
            self._checked = np.zeros(len(self.summary.starts), bool)  # blocks of which pieces were read
            self._recent: dict[int, Block] = {}  # the last of them
            self.space = read_space(about["space"])
            self.multilabel: bool = about["multilabel"]
            columns = about["label_columns"]
            self.label_columns: int | None = None if columns is None else checked_count(columns)
            if type(self.multilabel) is not bool or (columns or 0) > _MOST_LABELS:
                raise FileFormatError("its description is invalid")
        except Exception as error:  # what pyarrow, JSON and our checks raise for damage is of many kinds
            raise FileFormatError(f"{path}: not a complete file of parsed rows ({error}).") from None

    def blocks(self, row: int = 0) -> Iterator[tuple[int, Block]]:
        """Yield the blocks and their numbers, starting with the block of row ``row`` (from 0)."""
        starts = self.summary.starts
        # Of blocks with the same start all but the last are empty: their cursors count skipped lines.
        first = int(np.searchsorted(starts, row))
        first -= 0 if first == len(starts) or starts[first] == row else 1
        ends: list[int] = []  # of the blocks that may still be in use
        try:
            for number in range(first, len(starts) - 1):
                record, block = self._block(number)
                ends.append(self._end(record))
                yield number, block
                if len(ends) > _BEHIND:
                    self._release(ends.pop(0))
        finally:
            if ends:
                self._release(ends[-1])

    @property
    def pieces(self) -> NDArray[np.int64]:
        """The rows before each block of the source, and in all; a file of version 1 has only its own blocks."""
        return np.array(self.summary.starts, np.int64) if self.summary.pieces is None else self.summary.pieces

    def skipped_in(self, piece: int) -> int:
        """The number of malformed lines that were skipped in a block of the source."""
        skips = self.summary.piece_skips
        return 0 if skips is None else int(skips[piece + 1] - skips[piece])

    def no_rows(self) -> Batch:
        """An empty batch."""
        return _slice(self._block(0)[1].batch, 0, 0)

    def piece(self, first: int, end: int, want_names: bool) -> Iterator[Block]:
        """Yield copies of the rows from ``first`` up to ``end``."""
        starts = self.summary.starts
        number = bisect_right(starts, first) - 1
        while first < end:
            self._notice_changes(number)
            block = self._recent_block(number)
            stop = min(end, starts[number + 1])
            batch = block.batch if want_names or block.batch.names is None else replace(block.batch, names=None)
            rows = _slice(batch, first - starts[number], stop - starts[number], self._copy)
            if self._notice_changes(number):  # the copy may hold anything
                continue
            try:
                check_batch(rows, key_limit(self.space))
            except ValueError as error:  # the file was changed since the block was checked
                raise FileFormatError(f"{self.path}: block {number} is damaged ({error}).") from None
            yield Block(rows, block.cursor)
            first, number = stop, number + 1

    def _copy(self, array: NDArray[Any], first: int, end: int) -> NDArray[Any]:
        """Copy entries of an array of this file.

        They are read, not copied from the map: a page that is touched there maps its neighbours too, up to megabytes of
        them, and these count as memory of the process.
        """
        offset = array.ctypes.data - self._base
        if not (hasattr(os, "preadv") and 0 <= offset < self.size and array.flags.c_contiguous):  # Windows, text labels
            return array[first:end].copy()
        # Not from the heap, which keeps what is freed between small objects.
        copy = _native.new_block((end - first) * array.itemsize).view(array.dtype)
        if copy.nbytes and os.preadv(self._descriptor, [copy.data], offset + first * copy.itemsize) != copy.nbytes:
            raise FileFormatError(f"{self.path}: the file was cut short after it was opened.")
        return copy

    def _recent_block(self, number: int) -> Block:
        """A block, checked when it is read first."""
        block = self._recent.pop(number, None)
        if block is None:
            block = self._block(number, check=not self._checked[number])[1]
            self._checked[number] = True
            self._advise("MADV_DONTNEED", 0, self.size // PAGE * PAGE)
        self._recent[number] = block  # the last one
        own = len(block.batch) if block.batch.y is not None and block.batch.y.dtype == object else 0
        if len(self._recent) > (min(_RECENT, max(1, _RECENT_LABELS // own)) if own else _RECENT):
            del self._recent[next(iter(self._recent))]
        return block

    def before(self, number: int) -> Cursor:
        """The cursor before a block."""
        return Cursor() if number == 0 else self._block(number - 1)[1].cursor

    def _block(self, number: int, *, check: bool = True) -> tuple[Any, Block]:
        self._notice_changes(number)
        try:
            record = self._records.get_batch(number)
            block = decode(record, key_limit(self.space), check=check)
            if check:
                self._check_labels(block.batch)
            if len(block.batch) != self.summary.starts[number + 1] - self.summary.starts[number]:
                raise FileFormatError("it has another number of rows than the summary says")
        except Exception as error:  # see above
            raise FileFormatError(f"{self.path}: block {number} is damaged ({error}).") from None
        return record, block

    def _state_now(self) -> tuple[int, int]:
        status = os.fstat(self._descriptor)
        return status.st_size, status.st_mtime_ns

    def _notice_changes(self, number: int) -> bool:
        """Whether the file has changed since the last call, before reading a block; all are then checked again.

        To follow the map beyond the end of a file that has become shorter would end the process (SIGBUS).
        """
        state, self._state = self._state, self._state_now()
        if self._state[0] < self.size:
            raise FileFormatError(
                f"{self.path}: block {number} is damaged (the file was cut short after it was opened)."
            )
        if state == self._state:
            return False
        self._checked[:] = False
        self._recent.clear()
        return True

    def _check_labels(self, batch: Batch) -> None:
        """Raise unless rows have one label or several, and numbers of labels, as the file says."""
        if batch.y is None:
            return
        if (batch.y_indptr is not None) != self.multilabel:
            raise FileFormatError("its labels are of another kind than the file says")
        if self.label_columns is not None and not all(0 <= y < self.label_columns for y in np.unique(batch.y).tolist()):
            raise FileFormatError("a label is not among those of the file")

    def _end(self, record: Any) -> int:
        """The end of a record batch in the file."""
        buffers = (buffer for column in record.columns for buffer in column.buffers() if buffer is not None)
        ends = (buffer.address + buffer.size - self._base for buffer in buffers)
        return max((end for end in ends if 0 <= end <= self.size), default=0)  # empty buffers may be anywhere

    def _release(self, end: int) -> None:
        """Release the pages up to ``end``; a later access maps them again.

        This includes pages released before, since a shuffle buffer reads earlier rows again.
        """
        begin = max(0, end - _RELEASE_BYTES) // PAGE * PAGE
        self._advise("MADV_DONTNEED", begin, (end - begin) // PAGE * PAGE)

    def _advise(self, what: str, begin: int, size: int) -> None:
        if size > 0 and hasattr(mmap, what):  # absent on Windows
            self._map.madvise(getattr(mmap, what), begin, size)


def split_block(
    block: Block, first: int, rows: int, features: int, only: _native.KeyIndex | None, want_names: bool
) -> Iterator[tuple[Batch, int]]:
    """Yield the rows of a block from ``first`` on, in batches of limited rows and features, and the end of each."""
    batch = block.batch if want_names or block.batch.names is None else replace(block.batch, names=None)
    n = len(batch)
    while first < n or n == 0:
        end = int(np.searchsorted(batch.indptr, batch.indptr[first] + features, side="right")) - 1
        end = min(max(first + 1, end), first + rows, n)
        some = batch if (first, end) == (0, n) else _slice(batch, first, end)
        yield (some if only is None else some.keep(only)), end
        first = end
        if n == 0:
            return


def _views(array: NDArray[Any], first: int, end: int) -> NDArray[Any]:
    return array[first:end]


def _slice(batch: Batch, first: int, end: int, cut: Callable[[NDArray[Any], int, int], NDArray[Any]] = _views) -> Batch:
    """Consecutive rows of a batch; ``cut`` takes consecutive entries of an array, as views or copies."""
    indptr = cut(batch.indptr, first, end + 1)
    a, b = int(indptr[0]), int(indptr[-1])
    y, y_indptr = batch.y, batch.y_indptr
    if y is not None and y_indptr is not None:
        y_indptr = cut(y_indptr, first, end + 1)
        y = cut(y, int(y_indptr[0]), int(y_indptr[-1]))
        y_indptr = y_indptr - y_indptr[0]
    elif y is not None:
        y = cut(y, first, end)
    keys, names = cut(batch.keys, a, b), batch.names
    if names is not None:
        names = replace(names, words=cut(names.words, a, b))
        names = names if cut is _views else _own_names(names, keys, cut)
    return Batch(
        indptr - a,
        keys,
        None if batch.values is None else cut(batch.values, a, b),
        y,
        y_indptr,
        None if batch.weight is None else cut(batch.weight, first, end),
        names,
        None if batch.qid is None else cut(batch.qid, first, end),
        None if batch.line is None else cut(batch.line, first, end),
    )


def _own_names(names: Names, keys: NDArray[np.uint64], cut: Callable[[NDArray[Any], int, int], NDArray[Any]]) -> Names:
    """The same names in a text of their own, not in that of the whole block."""
    first, last = _stretch_of(names.words)
    text = cut(names.text, first, last)
    words = names.words
    words -= np.uint64(first)  # a copy already
    words, text = _native.compact_names(keys, words, text) or (words, text)
    return replace(names, words=words, text=text.copy())


def _stretch_of(words: NDArray[np.uint64]) -> tuple[int, int]:
    """The first and the last byte of the text that names refer to."""
    if not len(words):
        return 0, 0
    begins = words & np.uint64(0xFFFFFFFF)
    first = int(begins.min())
    begins += words >> np.uint64(32) & np.uint64(0xFFF)
    return first, int(begins.max())
