"""Feature hashing, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import Hashing
from thresher.sources.base import Source, Wrapped


class Hashed(Wrapped):
    """The rows of a source with each feature replaced by its bucket and its value multiplied by its sign."""

    def __init__(self, source: Source, hashing: Hashing) -> None:
        super().__init__(source)
        self.hashing = hashing
        self.space = source.space.hashed(hashing)

    def _with(self, source: Source) -> Source:
        return Hashed(source, self.hashing)

    def _settings(self) -> str:
        return f":hashed:{self.hashing.width}:{self.hashing.seed}"

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        for batch, cursor in self.source._read(rows, start, None, False, want_labels):
            buckets, signs = _native.buckets_and_signs(batch.keys, self.hashing.seed, self.hashing.width)
            values = signs if batch.values is None else signs * batch.values
            hashed = replace(batch, keys=buckets.astype(np.uint64), values=values, names=None)
            yield (hashed if only is None else hashed.keep(only)), cursor
