"""Single features of data larger than memory: every analysis is a pass over the rows, or several."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from thresher import _native
from thresher.columns.in_memory import scales_of
from thresher.columns.types import Columns, Family, Floats, Ids, Proposal, best_of
from thresher.core.batch import Batch
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.sources.registry import is_file_source
from thresher.sources.transforms.prefetch import ReadAhead

_LAST = 2**64 - 1


class StreamedColumns(Family):
    """The same scores and columns, to the bit, as `StoredColumns` has, without holding the data.

    Sums of all keys are kept while they fit into ``memory``; where they do not, only those of a range of (hashed)
    keys, and further passes do the other ranges. The first pass also bounds what the keys of the other ranges can
    score, so that these passes leave out all but the few that may be among the best.

    Parameters
    ----------
    source : Source
    rows : int
        Rows of the source.
    memory : int
        Bytes for the sums.
    weights : array, optional
        Importance of each row, for the columns' norms.
    tell : callable, optional
        Called with every batch that passes by.
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
        tell: Callable[[Batch], None] | None = None,
    ) -> None:
        self.source = source
        self.rows = rows
        self.bytes = memory
        self.power = power
        self.weights = weights
        self.total = float(rows) if weights is None else float(weights.sum())
        self.batch_rows = batch_rows
        self.passes = 0
        self._fits = False  # whether the sums of all keys are known to fit
        self._tell = tell or (lambda batch: None)

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        residuals = np.ascontiguousarray(residuals)
        source = ReadAhead(self.source) if is_file_source(self.source) else self.source
        best = [Proposal(np.empty(0, np.uint64), np.empty(0)) for _ in residuals]
        share = 0 if self._fits else self.bytes // 2
        bounds = _native.KeyBounds(len(residuals), share, self.power) if share else None
        begin = 0
        while begin <= _LAST:
            sums = _native.KeySums(len(residuals), self.bytes - share, begin, _LAST)
            self._pass(source, residuals, sums, bounds, first=begin == 0)
            self._fits = begin == 0 and sums.end == _LAST
            best = [
                best_of([one, Proposal(*more)], most)
                for one, more in zip(best, sums.top(most, self.power), strict=True)
            ]
            begin = sums.end + 1
            if bounds is not None:
                bounds.set_floors([one.scores[-1] if len(one.ids) == most else 0.0 for one in best])
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
        """Add up all rows: in the first pass the bounds too, beside the sums; in the others, only what these leave."""
        row = 0
        with ThreadPoolExecutor(1) as beside:
            for batch, _ in source.batches(self.batch_rows):
                given = (batch.indptr, batch.keys, batch.values, residuals, row, self.weights)
                if first and bounds is not None:
                    bounding = beside.submit(bounds.add, *given)
                    sums.add(*given, None)
                    bounding.result()
                else:
                    sums.add(*given, bounds)
                row += len(batch)
                self._tell(batch)
        self.passes += 1

    def columns(self, ids: Ids) -> Columns:
        index = _native.KeyIndex(np.ascontiguousarray(ids))
        places, rows, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        row = 0
        for batch, _ in self.source.batches(self.batch_rows, keys=ids):
            indptr, positions, where = index.keep(batch.indptr, batch.keys)
            places.append(positions)
            rows.append(np.repeat(np.arange(row, row + len(batch)), np.diff(indptr)))
            values.append(np.ones(len(where), np.float32) if batch.values is None else batch.values[where])
            row += len(batch)
            self._tell(batch)
        self.passes += 1
        return _compressed(np.concatenate(places), np.concatenate(rows), np.concatenate(values), len(ids), self)


def _compressed(places: Ids, rows: Ids, values: Ids, columns: int, family: StreamedColumns) -> Columns:
    """Entries in the order of the rows to columns; a key that stands twice in a row counts once, with both values."""
    order = np.argsort(places, kind="stable")
    places, rows, values = places[order], rows[order], values[order]
    fresh = np.ones(len(places), bool)
    fresh[1:] = (places[1:] != places[:-1]) | (rows[1:] != rows[:-1])
    kept = np.flatnonzero(fresh)
    merged = values[kept].astype(np.float32)
    for at in np.flatnonzero(~fresh):  # one by one in single precision, as everywhere
        merged[np.searchsorted(kept, at, side="right") - 1] += values[at]
    places = places[kept]
    squares = np.zeros(columns)
    wide = merged.astype(np.float64)
    np.add.at(squares, places, wide * wide * (1.0 if family.weights is None else family.weights[rows[kept]]))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=columns))]).astype(np.int64)
    scales = scales_of(squares, family.total, family.power)
    return Columns(indptr, rows[kept].astype(np.uint32), merged, scales)
