"""Replaces the features of a source by products and kernel coordinates of them, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor, Names
from thresher.core.terms import MAPS, Expansion
from thresher.sources.base import Source, Wrapped


class Expanded(Wrapped):
    """The rows of a source with the features of an expansion; only the features it needs are read."""

    def __init__(self, source: Source, expansion: Expansion) -> None:
        super().__init__(source)
        self.expansion = expansion
        self.space = source.space.expanded(expansion)
        terms = expansion.terms
        parts = [part for term in terms for part in term.parts]
        keys, places = np.unique(np.array(parts, np.uint64), return_inverse=True)
        self._index = _native.KeyIndex(keys)
        self._former = _native.TermFormer(
            len(keys),
            np.concatenate([[0], np.cumsum([len(term.parts) for term in terms])]).astype(np.int64),
            places.astype(np.int64),
            np.array([MAPS.index(term.coordinate.kind) for term in terms], np.uint8),
            np.array([term.coordinate.u for term in terms], np.float64),
            np.array([term.coordinate.v for term in terms], np.float64),
            np.array([term.key for term in terms], np.uint64),
        )

    def _with(self, source: Source) -> Source:
        return Expanded(source, self.expansion)

    def _settings(self) -> str:
        return f":expanded:{self.expansion.to_list()}"

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        for batch, cursor in self.source._read(rows, start, self._index, want_names, want_labels):
            indptr, features, where = self._index.keep(batch.indptr, batch.keys)
            values = None if batch.values is None else np.ascontiguousarray(batch.values[where])
            indptr, keys, values = self._former.form(indptr, features, values)
            names = self._names(batch, keys) if want_names else None
            expanded = replace(batch, indptr=indptr, keys=keys, values=values, names=names)
            yield (expanded if only is None else expanded.keep(only)), cursor

    def _names(self, batch: Batch, keys: NDArray[np.uint64]) -> Names:
        """Compose the names from the names of the parts in this batch."""
        space = self.source.space
        part_names = space.decode(batch.keys) if batch.names is None else batch.names.decode()
        parts = dict(zip(batch.keys.tolist(), part_names, strict=True))
        terms = {term.key: term for term in self.expansion.terms}
        return Names.of_bytes([terms[key].name(parts).encode("utf-8", "surrogateescape") for key in keys.tolist()])
