"""Files of parsed rows: written once, then read memory-mapped, a block at a time."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import PAGE, ReadLimits
from thresher.errors import FileFormatError, UnreadableError
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.sources.cache.codec import (
    VERSION,
    Block,
    Digest,
    Summary,
    decode,
    decode_summary,
    encode,
    encode_summary,
    pyarrow,
    schema,
)

#: Blocks whose pages stay in memory behind the one that is read: batches of them may still be in use.
_BEHIND = 2
#: Bytes before a place that are looked through for pages that came back.
_AGAIN = 1 << 30
#: What a file that is not in order may lead to, besides what Arrow itself says.
_DAMAGE = (ValueError, KeyError, TypeError, OSError)


def write_rows(
    file: Any,
    source: Source,
    *,
    want_labels: bool = True,
    limits: ReadLimits | None = None,
    told: Callable[[Cursor, int], None] | None = None,
) -> Summary:
    """Write all rows of a source to an open file.

    ``told`` is called after every block, with the cursor behind it and the bytes written; what it raises
    ends the writing.
    """
    pa = pyarrow()
    about = {
        "version": VERSION,
        "space": source.space.to_dict(),
        "multilabel": source.multilabel,
        "label_columns": source.label_columns,
    }
    starts, cursor = [0], Cursor()
    # What cannot be read again is known by its content alone.
    digest = None if source.rewindable else Digest()
    with pa.ipc.new_file(file, schema().with_metadata({"thresher": json.dumps(about, sort_keys=True)})) as writer:
        names = not source.space.invertible
        for batch, cursor in source.batches(DEFAULT_ROWS, want_names=names, want_labels=want_labels):
            writer.write_batch(encode(batch, cursor))
            if digest is not None:
                digest.add(batch)
            starts.append(starts[-1] + len(batch))
            if told is not None:
                told(cursor, file.tell())
        limits = limits or ReadLimits()
        summary = Summary(
            starts=starts,
            skipped=cursor.skipped,
            digest=None if digest is None else digest.hexdigest(),
            line_cap=limits.line_cap,
            window=limits.window,
            # By number: the same data may lie elsewhere when it is read again.
            files={source.files().index(name): count for name, count in source.skipped_files().items()},
        )
        writer.write_batch(encode_summary(summary))
    return summary


class StoredFile:
    """An open file of rows.

    Its pages are mapped, not read: a block takes memory while it is looked at, and is let go soon after. The system
    keeps what fits in its page cache.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        pa = pyarrow()
        try:
            with open(path, "rb") as file:
                self.size = os.fstat(file.fileno()).st_size
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise UnreadableError(f"{path}: there is no such file. Check the path (now in {os.getcwd()}).") from None
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
                raise FileFormatError(f"written in format {about['version']}; this Thresher reads up to {VERSION}")
            if not self._records.schema.equals(schema()):
                raise FileFormatError("its columns are others")
            self.summary = decode_summary(self._records.get_batch(self._records.num_record_batches - 1))
            if len(self.summary.starts) != self._records.num_record_batches:
                raise FileFormatError("its end is not in order")
            self.space = FeatureSpace.from_dict(about["space"])
            self.multilabel: bool = about["multilabel"]
            self.label_columns: int | None = about["label_columns"]
        except (*_DAMAGE, pa.ArrowException) as error:
            raise FileFormatError(f"{path}: not a whole file of parsed rows ({error}).") from None

    def blocks(self, row: int = 0) -> Iterator[tuple[int, Block]]:
        """The blocks, each with its number, from that one on that holds row ``row`` (from 0)."""
        starts = self.summary.starts
        # Of blocks that start at the same row all but the last are empty: they tell of bad lines.
        first = int(np.searchsorted(starts, row))
        first -= 0 if first == len(starts) or starts[first] == row else 1
        passed: list[int] = []  # where blocks end that may still be in use
        try:
            for number in range(first, len(starts) - 1):
                record, block = self._block(number)
                passed.append(self._end(record))
                yield number, block
                if len(passed) > _BEHIND:
                    self._release(passed.pop(0))
        finally:
            if passed:
                self._release(passed[-1])

    def before(self, number: int) -> Cursor:
        """The cursor before a block."""
        return Cursor() if number == 0 else self._block(number - 1)[1].cursor

    def _block(self, number: int) -> tuple[Any, Block]:
        try:
            record = self._records.get_batch(number)
            block = decode(record)
            if len(block.batch) != self.summary.starts[number + 1] - self.summary.starts[number]:
                raise FileFormatError("its rows are not as many as they were")
        except (*_DAMAGE, pyarrow().ArrowException) as error:
            raise FileFormatError(f"{self.path}: damaged at block {number} ({error}).") from None
        return record, block

    def _end(self, record: Any) -> int:
        """Where a record batch ends in the file."""
        buffers = (buffer for column in record.columns for buffer in column.buffers() if buffer is not None)
        ends = (buffer.address + buffer.size - self._base for buffer in buffers)
        return max((end for end in ends if 0 <= end <= self.size), default=0)  # empty ones lie anywhere

    def _release(self, end: int) -> None:
        """Let pages go up to here. Whoever still looks at one gets it back from the file.

        Some way back they are let go again: a shuffle buffer comes back to rows that were read before.
        """
        begin = max(0, end - _AGAIN) // PAGE * PAGE
        self._advise("MADV_DONTNEED", begin, (end - begin) // PAGE * PAGE)

    def _advise(self, what: str, begin: int, size: int) -> None:
        if size > 0 and hasattr(mmap, what):  # Windows has no such thing
            self._map.madvise(getattr(mmap, what), begin, size)


def cut(
    block: Block, first: int, rows: int, features: int, only: _native.KeyIndex | None, want_names: bool
) -> Iterator[tuple[Batch, int]]:
    """The rows of a block from ``first`` on, in batches of so many rows and features; and where each ends."""
    batch = block.batch if want_names else replace(block.batch, names=None)
    n = len(batch)
    while first < n or n == 0:
        end = int(np.searchsorted(batch.indptr, batch.indptr[first] + features, side="right")) - 1
        end = min(max(first + 1, end), first + rows, n)
        some = batch if (first, end) == (0, n) else _slice(batch, first, end)
        yield (some if only is None else some.keep(only)), end
        first = end
        if n == 0:
            return


def _slice(batch: Batch, first: int, end: int) -> Batch:
    """Some rows of a batch as views of it."""
    a, b = int(batch.indptr[first]), int(batch.indptr[end])
    y, y_indptr = batch.y, batch.y_indptr
    if y is not None and y_indptr is not None:
        y = y[y_indptr[first] : y_indptr[end]]
        y_indptr = y_indptr[first : end + 1] - y_indptr[first]
    elif y is not None:
        y = y[first:end]
    names = batch.names
    return Batch(
        batch.indptr[first : end + 1] - a,
        batch.keys[a:b],
        None if batch.values is None else batch.values[a:b],
        y,
        y_indptr,
        None if batch.weight is None else batch.weight[first:end],
        None if names is None else replace(names, words=names.words[a:b]),
        None if batch.qid is None else batch.qid[first:end],
        None if batch.line is None else batch.line[first:end],
    )
