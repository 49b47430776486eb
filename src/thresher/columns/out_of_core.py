"""Columns of data larger than memory: every analysis is one or more passes over the rows."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from thresher import _native
from thresher.columns.in_memory import column_scales
from thresher.columns.types import Family, Floats, Ids, Proposal, ScaledColumns, merge_proposals
from thresher.core.batch import Batch
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.sources.registry import is_file_source

_LAST_KEY = 2**64 - 1


class OutOfCoreColumns(Family):
    """The family of all columns, without holding the data. Scores and columns are bitwise those of `InMemoryColumns`.

    A pass sums the scores of all keys if the sums fit in ``memory``. Otherwise it covers a range of (hashed) keys, and
    further passes cover the other ranges. The first pass also computes upper bounds for the keys of the other ranges,
    so that later passes can skip all keys that cannot be among the best.

    Parameters
    ----------
    source : Source
    rows : int
        Rows of the source.
    memory : int
        Bytes for the sums.
    weights : array, optional
        The row weights, for the columns' norms.
    on_batch : callable, optional
        Called with every batch that is read.
    """

    def __init__(
        self,
        source: Source,
        rows: int,
        *,
        memory: int,
        power: float = 1.0,
        weights: Floats | None = None,
        batch_rows: int = DEFAULT_ROWS,
        on_batch: Callable[[Batch], None] | None = None,
    ) -> None:
        self.source = source
        self.rows = rows
        self.bytes = memory
        self.power = power
        self.weights = weights
        self.total = float(rows) if weights is None else float(weights.sum())
        self.batch_rows = batch_rows
        self.passes = 0
        self._fits = False  # whether the sums of all keys are known to fit in memory
        self._on_batch = on_batch or (lambda batch: None)

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        residuals = np.ascontiguousarray(residuals)
        source = self.source.prefetched() if is_file_source(self.source) else self.source
        best = [Proposal(np.empty(0, np.uint64), np.empty(0)) for _ in residuals]
        share = 0 if self._fits else self.bytes // 2
        bounds = _native.KeyBounds(len(residuals), share, self.power) if share else None
        begin = 0
        while begin <= _LAST_KEY:
            sums = _native.KeySums(len(residuals), self.bytes - share, begin, _LAST_KEY)
            self._pass(source, residuals, sums, bounds, first=begin == 0)
            self._fits = begin == 0 and sums.end == _LAST_KEY
            best = [
                merge_proposals([one, Proposal(*more)], limit)
                for one, more in zip(best, sums.top(limit, self.power), strict=True)
            ]
            begin = sums.end + 1
            if bounds is not None:
                bounds.set_floors([one.scores[-1] if len(one.ids) == limit else 0.0 for one in best])
        return [Proposal(one.ids, self.total**self.power * one.scores) for one in best]

    def _pass(
        self,
        source: Source,
        residuals: Floats,
        sums: _native.KeySums,
        bounds: _native.KeyBounds | None,
        *,
        first: bool,
    ) -> None:
        """Sum over all rows. The first pass computes bounds in parallel; later passes use them to skip keys."""
        row = 0
        with ThreadPoolExecutor(1) as executor:
            for batch, _ in source.batches(self.batch_rows):
                args = (batch.indptr, batch.keys, batch.values, residuals, row, self.weights)
                if first and bounds is not None:
                    bounding = executor.submit(bounds.add, *args)
                    sums.add(*args, None)
                    bounding.result()
                else:
                    sums.add(*args, bounds)
                row += len(batch)
                self._on_batch(batch)
        self.passes += 1

    def columns(self, ids: Ids) -> ScaledColumns:
        index = _native.KeyIndex(np.ascontiguousarray(ids))
        places, rows, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        row = 0
        for batch, _ in self.source.batches(self.batch_rows, keys=ids):
            indptr, positions, where = index.keep(batch.indptr, batch.keys)
            places.append(positions)
            rows.append(np.repeat(np.arange(row, row + len(batch)), np.diff(indptr)))
            values.append(np.ones(len(where), np.float32) if batch.values is None else batch.values[where])
            row += len(batch)
            self._on_batch(batch)
        self.passes += 1
        return _to_csc(np.concatenate(places), np.concatenate(rows), np.concatenate(values), len(ids), self)


def _to_csc(places: Ids, rows: Ids, values: Ids, columns: int, family: OutOfCoreColumns) -> ScaledColumns:
    """Convert entries sorted by row to columns. Values of a key that occurs twice in a row are added up."""
    order = np.argsort(places, kind="stable")
    places, rows, values = places[order], rows[order], values[order]
    fresh = np.ones(len(places), bool)
    fresh[1:] = (places[1:] != places[:-1]) | (rows[1:] != rows[:-1])
    kept = np.flatnonzero(fresh)
    merged = values[kept].astype(np.float32)
    for at in np.flatnonzero(~fresh):  # sequentially in single precision, as the native code does
        merged[np.searchsorted(kept, at, side="right") - 1] += values[at]
    places = places[kept]
    squares = np.zeros(columns)
    wide = merged.astype(np.float64)
    np.add.at(squares, places, wide * wide * (1.0 if family.weights is None else family.weights[rows[kept]]))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=columns))]).astype(np.int64)
    scales = column_scales(squares, family.total, family.power)
    return ScaledColumns(indptr, rows[kept].astype(np.uint32), merged, scales)
