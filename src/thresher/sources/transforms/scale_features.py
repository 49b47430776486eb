"""Divides the values of sparse features by their scales, where features are in units of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.sparse_scales import SparseScales
from thresher.sources.base import Source, Wrapped


class ScaledFeatures(Wrapped):
    """The rows of a source with every value divided by the scale of its feature."""

    def __init__(self, source: Source, scales: SparseScales) -> None:
        super().__init__(source)
        self.scales = scales

    def _with(self, source: Source) -> Source:
        return ScaledFeatures(source, self.scales)

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        return self._with(self.source.shuffled(seed, rows=rows, features=features))

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        for batch, cursor in self.source._read(rows, start, only, want_names, want_labels):
            yield replace(batch, values=self.scales.scaled(batch)), cursor
