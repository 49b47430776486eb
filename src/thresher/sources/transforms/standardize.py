"""Puts the numeric columns of arrays and tables into units of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor, Names
from thresher.core.units import HASH_GRID, Units, UnitSums
from thresher.sources.arrays import DenseSource, InMemory
from thresher.sources.base import Source, Wrapped
from thresher.sources.transforms.holdout import HeldOut
from thresher.sources.transforms.weights import Weighted

Floats = NDArray[np.float64]

#: Units are read from rows of this many values, but from at least and at most so many rows.
_VALUES, _LEAST_ROWS, _MOST_ROWS = 1 << 24, 1 << 10, 1 << 17
#: The most values in a block of rows; their median is the first guess of a centre.
_BLOCK_VALUES = 1 << 17


def read_units(source: Source, *, centred: bool, room: int) -> Units:
    """The units of the numeric columns, from the first rows of a source; ``room`` bytes hold a block of them.

    These are all rows of up to 2^24 values, otherwise as many rows as have so many values (1,024 to 131,072).
    """
    columns = source.dense_columns
    assert columns is not None
    width = len(columns.keys)
    most = min(_MOST_ROWS, max(_LEAST_ROWS, _VALUES // max(1, width)))
    step = max(1, min(_BLOCK_VALUES, room // 8) // max(1, width))
    sums = UnitSums(width, centred=centred)
    for block in _blocks(source, columns.keys, step):
        sums.add(block[: most - sums.rows])
        if sums.rows >= most:
            break
    return sums.units(columns.keys) if sums.rows else Units(columns.keys, np.zeros(width), np.ones(width))


def _blocks(source: Source, keys: NDArray[np.uint64], step: int) -> Iterator[Floats]:
    """The numeric columns as dense rows, ``step`` at a time, whatever the batches of the source are."""
    if isinstance(source, DenseSource):
        yield from source.matrix_rows(step)
        return
    index = _native.KeyIndex(keys)
    block, filled = np.zeros((step, len(keys))), 0
    for batch, _ in source.batches(keys=keys):
        at = 0
        while at < len(batch):
            rows = batch.take(slice(at, at + step - filled))
            index.add_columns(rows.indptr, rows.keys, rows.values, block[filled : filled + len(rows)])
            filled, at = filled + len(rows), at + len(rows)
            if filled == step:
                yield block
                block[:], filled = 0.0, 0
    if filled:
        yield block[:filled]


def rows_alone(source: Source) -> Source:
    """The rows of a source, without class weights; those that were held out of an array are listed by number.

    Which rows are held out follows from their values, so it must be decided before these are standardised.
    """
    if isinstance(source, Weighted):
        return rows_alone(source.source)
    if isinstance(source, HeldOut) and isinstance(inner := rows_alone(source.source), InMemory):
        lines = [batch.line for batch, _ in replace_source(source, inner).batches(want_labels=False)]
        chosen = [line for line in lines if line is not None]
        return inner._with_order(np.concatenate(chosen) - 1) if chosen else source
    return source


def replace_source(source: Wrapped, inner: Source) -> Source:
    """The same transform of other rows."""
    return source if source.source is inner else source._with(inner)


def standardized(source: Source, units: Units) -> Source:
    """The source with its numeric columns in these units."""
    if isinstance(source, Weighted):
        return source._with(standardized(source.source, units))
    rows = rows_alone(source)
    return rows.in_units(units) if isinstance(rows, DenseSource) else Standardized(source, units)


class Standardized(Wrapped):
    """The rows of a table with its numeric columns standardised. A missing value is a zero, as in a prediction."""

    def __init__(self, source: Source, units: Units) -> None:
        super().__init__(source)
        self.units = units
        self.hash_grid = HASH_GRID
        self._native = _native.ColumnUnits(*units)
        columns = source.dense_columns
        names = [] if columns is None or columns.names is None else columns.names
        self._names = [names[i] for i in np.flatnonzero(units.centres).tolist()] if names else []
        self._prefixes: tuple[list[bytes], list[bytes]] = ([], self._names)

    def _with(self, source: Source) -> Source:
        return Standardized(source, self.units)

    def __reduce__(self) -> tuple[Any, ...]:
        return Standardized, (self.source, self.units)  # the native index is made again

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        """Standardised after the shuffle, so that its buffer holds no zeros."""
        return self._with(self.source.shuffled(seed, rows=rows, features=features))

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        for batch, cursor in self.source._read(rows, start, only, want_names, want_labels):
            converted = self.converted(batch) if len(batch) else batch
            yield (converted if only is None else converted.keep(only)), cursor

    def converted(self, batch: Batch) -> Batch:
        """The batch with all values of the columns with a centre at the end of each row, and the others scaled."""
        names = batch.names
        words, first = (None, 0) if names is None else (names.words, len(names.prefixes))
        indptr, keys, values, words = self._native.apply(batch.indptr, batch.keys, batch.values, words, first)
        if names is not None and words is not None:
            names = Names(words, names.text, self._with_names(names.prefixes))
        return replace(batch, indptr=indptr, keys=keys, values=values, names=names)

    def _with_names(self, prefixes: list[bytes]) -> list[bytes]:
        """The prefixes of a batch, and the names of the columns; one list for all batches that share theirs."""
        if self._prefixes[0] is not prefixes:
            self._prefixes = prefixes, prefixes + self._names
        return self._prefixes[1]
