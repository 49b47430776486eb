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
            _scatter(rows, index, block[filled : filled + len(rows)])
            filled, at = filled + len(rows), at + len(rows)
            if filled == step:
                yield block
                block[:], filled = 0.0, 0
    if filled:
        yield block[:filled]


def _scatter(batch: Batch, index: _native.KeyIndex, block: Floats) -> None:
    """Add the values of some features to a matrix of their columns."""
    indptr, columns, where = index.keep(batch.indptr, batch.keys)
    rows = np.repeat(np.arange(len(batch)), np.diff(indptr))
    np.add.at(block, (rows, columns), 1.0 if batch.values is None else batch.values[where])


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
        self._index = _native.KeyIndex(units.keys)
        self._shifted = np.flatnonzero(units.centres)  # the other columns keep their zeros
        self._place = np.full(len(units.keys), -1)
        self._place[self._shifted] = np.arange(len(self._shifted))
        columns = source.dense_columns
        names = [] if columns is None or columns.names is None else columns.names
        self._names = [names[i] for i in self._shifted.tolist()] if names else []
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
            converted = self._converted(batch) if len(batch) else batch
            yield (converted if only is None else converted.keep(only)), cursor

    def _converted(self, batch: Batch) -> Batch:
        """The batch with all values of shifted columns at the end of each row, and the others scaled."""
        centres, scales = self.units.centres, self.units.scales
        n, shifted = len(batch), self._shifted
        columns = self._index.find(batch.keys)
        row = np.repeat(np.arange(n), np.diff(batch.indptr))
        values = np.ones(len(columns)) if batch.values is None else batch.values.astype(np.float64)
        place = np.where(columns < 0, -1, self._place[columns])
        dense = np.zeros((n, len(shifted)))
        moved = place >= 0
        np.add.at(dense, (row[moved], place[moved]), values[moved])
        dense = Units(self.units.keys[shifted], centres[shifted], scales[shifted]).apply(dense)
        added = dense.astype(np.float32)
        added_row, added_column = np.nonzero(added)
        stays = np.flatnonzero(~moved)
        known = columns[stays] >= 0
        values[stays[known]] /= scales[columns[stays[known]]]
        indptr, of_stays, of_added = _places(n, row[stays], added_row)
        keys, out = np.empty(indptr[-1], np.uint64), np.empty(indptr[-1], np.float32)
        keys[of_stays], keys[of_added] = batch.keys[stays], self.units.keys[shifted[added_column]]
        out[of_stays], out[of_added] = values[stays], added[added_row, added_column]
        names = batch.names
        if names is not None:
            words, first = np.empty(indptr[-1], np.uint64), len(names.prefixes)
            words[of_stays] = names.words[stays]
            nothing = np.zeros(len(added_column), np.int64)  # the name is the prefix alone
            words[of_added] = Names.pack(nothing, nothing, first + added_column)
            names = Names(words, names.text, self._with_names(names.prefixes))
        return replace(batch, indptr=indptr, keys=keys, values=out, names=names)

    def _with_names(self, prefixes: list[bytes]) -> list[bytes]:
        """The prefixes of a batch, and the names of the columns; one list for all batches that share theirs."""
        if self._prefixes[0] is not prefixes:
            self._prefixes = prefixes, prefixes + self._names
        return self._prefixes[1]


def _places(
    n: int, first: NDArray[np.int64], second: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The places of features of two kinds, given their rows in ascending order: those of a row follow one another."""
    sizes = [np.bincount(rows, minlength=n) for rows in (first, second)]
    ends = [np.cumsum(size) for size in sizes]
    indptr = np.concatenate([np.zeros(1, np.int64), ends[0] + ends[1]])
    of_first = np.arange(len(first)) + (indptr[:-1] - (ends[0] - sizes[0]))[first]
    of_second = np.arange(len(second)) + (indptr[:-1] + sizes[0] - (ends[1] - sizes[1]))[second]
    return indptr, of_first, of_second
