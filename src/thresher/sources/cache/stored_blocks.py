"""The blocks of files of parsed rows, to read them in any order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import accumulate

import numpy as np

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.sources.base import Source
from thresher.sources.blocks import BlockRows, Blocks, split_tag, tagged
from thresher.sources.cache.file import StoredFile, split_block


class StoredBlocks(Blocks):
    """The blocks of the source whose rows are in files of parsed rows.

    Parameters
    ----------
    origin : Source
        The source that names the place of a row, given the number of its file and its line.
    files : function
        A context with the files, with labels or without.
    features : int
        The largest number of features of a batch.
    check : function, optional
        Checks a batch of the file with this number. The files of the origin are then these files, not those that the
        rows were parsed from.
    """

    def __init__(
        self,
        origin: Source,
        files: Callable[[bool], AbstractContextManager[Sequence[StoredFile]]],
        features: int,
        check: Callable[[Batch, int], None] | None = None,
    ) -> None:
        self._origin = origin
        self._files = files
        self._features = features
        self._check = check
        with files(True) as found:
            self._before = list(accumulate((len(file.pieces) - 1 for file in found), initial=0))

    @property
    def count(self) -> int:  # type: ignore[override]
        return self._before[-1]

    def where(self, batch: Batch, row: int) -> str:
        if batch.line is None:
            return self._origin.describe()
        file, line = split_tag(int(batch.line[row]))
        untagged = replace(batch, line=np.full(len(batch), line, np.int64))
        return self._origin.where(Cursor(part=file), untagged, row)

    def read(
        self, numbers: Iterator[int], rows: int, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[BlockRows]:
        skipped = 0
        with self._files(want_labels) as files:
            for at, number in enumerate(numbers):
                which = bisect_right(self._before, number) - 1
                file, piece = files[which], number - self._before[which]
                first, end = file.pieces[piece : piece + 2].tolist()
                past = 0
                for block in file.piece(first, end, want_names):
                    for batch, _ in split_block(block, 0, rows, self._features, only, want_names):
                        if self._check is not None and want_labels:
                            self._check(batch, which)
                        past += len(batch)
                        tag = block.cursor.part if self._check is None else which
                        yield BlockRows(tagged(batch, tag), at, past, skipped)
                if here := file.skipped_in(piece):
                    skipped += here
                    yield BlockRows(file.no_rows(), at, past, skipped, here)
