"""Features that are nearly the same column as a selected one, in three readings of the data.

Two columns are alike if the absolute cosine of their values over the rows is at least a threshold. Of two columns that
most rows have it is their correlation.

1. The first reading sums and projects the columns of the selected features, and finds the *common* columns: all, if
   they are few, or those of about a quarter of the rows or more.
2. The second projects the common columns: columns that are alike have projections that are alike. Other columns are
   found by what stands in the rows of a feature. A column g alike to f has, of the squares of f's values, at least a
   share threshold² in its rows: ‖f in the rows of g‖² ≥ cosine² ‖f‖². So a summary of the heavy hitters in the rows of
   f, with the squares of f as weights, has it. The squares of some features are spread over so many rows that only
   common columns can have that share; they need no summary.
3. The third reads these columns alone, and computes the cosines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.memory import Watch
from thresher.selection.stand_ins.columns import ColumnSums, Projections, cosines
from thresher.selection.stand_ins.heavy_hitters import HeavyHitters
from thresher.selection.stand_ins.memory_plan import Room
from thresher.selection.stand_ins.row_blocks import Block, blocks, products
from thresher.sources.base import Source
from thresher.sources.transforms.watched import Watched

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

#: A feature whose squares are spread over more than this share of the rows has common columns as stand-ins only.
_SPREAD = 0.25
#: All columns are common if there is room for this number of projections of each.
_ENOUGH_BITS = 32
#: Cosines are equal to the threshold up to rounding errors.
_ROUNDING = 1e-9


class Pairs(NamedTuple):
    """Pairs of a selected feature and a column that is alike.

    Attributes
    ----------
    feature : array of int
        The number of the selected feature.
    keys : array of uint64
        The key of the other column.
    cosine : array of float
    rows : int
        All rows.
    incomplete : array of int
        The selected features whose summary had too little room: it may have missed columns that are alike.
    asked : array of float
        The cosines of the pairs that the caller named, whatever they are.
    """

    feature: Indices
    keys: Keys
    cosine: Floats
    rows: int
    incomplete: Indices
    asked: Floats


def search(
    source: Source, keys: Keys, threshold: float, room: Room, asked: tuple[Indices, Indices], watch: Watch
) -> Pairs:
    """Find the columns that are alike the columns of ``keys``.

    Parameters
    ----------
    source : Source
        The rows.
    keys : array of uint64
        The selected features.
    threshold : float
        The least absolute cosine.
    room : Room
        What the search may hold.
    asked : pair of arrays of int
        Numbers of selected features whose cosines are wanted, too.
    """
    if not len(keys):
        none = np.empty(0, np.int64)
        return Pairs(none, keys, np.empty(0), 0, none, np.empty(0))
    found = _Search(Watched(source, watch, "looking for stand-ins"), keys, threshold, room)
    found.read_selected()
    found.read_others()
    return found.read_pairs(*asked)


class _Search:
    """The state between the readings."""

    def __init__(self, source: Source, keys: Keys, threshold: float, room: Room) -> None:
        self._source, self._keys, self._threshold, self._room = source, keys, threshold, room
        self._index = _native.KeyIndex(np.ascontiguousarray(keys))
        self._sums = ColumnSums(len(keys))
        self._projections = Projections(len(keys), room.bits(len(keys)))
        self._fourths = np.zeros(len(keys))
        self._pairs: list[tuple[Indices, Keys, Floats]] = []  # features, keys and estimates
        self._incomplete = np.empty(0, np.int64)
        self._common, self._others = np.empty(0, np.uint64), False

    def read_selected(self) -> None:
        """The first reading: the selected features, and the common columns."""
        counts = HeavyHitters(1, self._room.keys, self._room.keys)
        for block in blocks(self._source):
            rows, numbers = block.columns(self._index)
            self._sums.add(rows, numbers)
            self._projections.add(block, rows, numbers)
            self._fourths += np.bincount(numbers[rows.indices], rows.data**4, minlength=len(self._keys))
            present = np.bincount(block.rows.indices, minlength=len(block.keys)).astype(np.float64)
            counts.add(np.zeros(len(block.keys), np.int64), block.keys, present)
        _, keys, least = counts.entries()
        self._others = bool(counts.error[0] > 0 or len(keys) * _ENOUGH_BITS > self._room.projections)
        # Columns with a share s of the squares of f are in at least s² of the rows that f is spread over.
        fewest = self._threshold**4 * _SPREAD * self._sums.rows if self._others else 0.0
        self._common = keys[least + counts.error[0] >= fewest]
        self._compare(self._projections, self._sums, self._keys)

    def read_others(self) -> None:
        """The second reading: what stands in the rows of the selected features, and the common columns."""
        spread = self._sums.squares**2 > _SPREAD * self._sums.rows * self._fourths
        listed = np.flatnonzero(~spread & (self._sums.counts > 0) & self._others)
        summaries = None
        if len(listed):
            summaries = _RowSummaries(self._index, listed, self._sums, self._common, self._threshold, self._room)
        if summaries is None and not len(self._common):
            return
        index = _native.KeyIndex(self._common)
        bits = min(self._projections.bits, self._room.bits(len(self._common)))
        sums, projections = ColumnSums(len(self._common)), Projections(len(self._common), bits)
        for block in blocks(self._source, self._common if summaries is None else None):
            rows, numbers = block.columns(index)
            sums.add(rows, numbers)
            projections.add(block, rows, numbers)
            if summaries is not None:
                summaries.add(block)
        if summaries is not None:
            self._pairs.append(summaries.candidates())
            self._incomplete = summaries.incomplete
        self._compare(projections, sums, self._common)

    def _compare(self, projections: Projections, sums: ColumnSums, keys: Keys) -> None:
        """Collect the columns, of these keys, whose projections are alike those of selected features."""
        if not len(keys):
            return
        least, bits = projections.alike(self._threshold), projections.bits
        mine, mine_about_mean = (self._projections.directions(self._sums, bits, centred=on) for on in (False, True))
        theirs, theirs_about_mean = (projections.directions(sums, bits, centred=on) for on in (False, True))
        dense = np.flatnonzero(sums.dense)
        step = max(1, self._room.projections // len(keys))
        for start in range(0, len(self._keys), step):
            features = np.arange(start, min(start + step, len(self._keys)))
            estimates = np.abs(mine[features] @ theirs.T)
            both = np.flatnonzero(self._sums.dense[features])
            estimates[np.ix_(both, dense)] = np.abs(mine_about_mean[features[both]] @ theirs_about_mean[dense].T)
            one, other = np.nonzero(estimates >= least)
            self._pairs.append((features[one], keys[other], estimates[one, other]))

    def read_pairs(self, a: Indices, b: Indices) -> Pairs:
        """The third reading: the cosines of the pairs."""
        feature, key = self._likeliest()
        keys = np.unique(np.concatenate([self._keys, key]))
        index = _native.KeyIndex(keys)
        of_selected = index.find(self._keys)
        one = np.concatenate([of_selected[feature], of_selected[a]])
        other = np.concatenate([index.find(key), of_selected[b]])
        sums, dots = ColumnSums(len(keys)), np.zeros(len(one))
        for block in blocks(self._source, keys):
            rows, numbers = block.columns(index)
            sums.add(rows, numbers)
            place = np.full(len(keys), -1)
            place[numbers] = np.arange(len(numbers))
            here = np.flatnonzero((place[one] >= 0) & (place[other] >= 0))
            begins, row = np.unique(place[one[here]], return_inverse=True)
            for first, product in products(rows[:, begins], rows, self._room.waiting):
                inside = (row >= first) & (row < first + product.shape[0])
                product.sort_indices()
                added = product[row[inside] - first, place[other[here[inside]]]]
                dots[here[inside]] += np.asarray(added).reshape(-1)
        found = cosines(dots, sums, one, other)
        computed, asked = found[: len(feature)], found[len(feature) :]
        alike = np.abs(computed) >= self._threshold - _ROUNDING
        return Pairs(feature[alike], key[alike], computed[alike], sums.rows, self._incomplete, asked)

    def _likeliest(self) -> tuple[Indices, Keys]:
        """The pairs to compute: all, or those of each feature with the largest estimates, if they are too many."""
        feature, keys, estimate = (np.concatenate(arrays) for arrays in zip(*self._pairs, strict=True))
        order = np.lexsort((-estimate, keys, feature))
        feature, keys, estimate = feature[order], keys[order], estimate[order]
        first = keys != self._keys[feature]
        first[1:] &= (feature[1:] != feature[:-1]) | (keys[1:] != keys[:-1])
        feature, keys, estimate = feature[first], keys[first], estimate[first]
        if len(feature) <= self._room.pairs:
            return feature, keys
        order = np.lexsort((keys, -estimate, feature))
        feature, keys = feature[order], keys[order]
        sizes = np.bincount(feature, minlength=len(self._keys))
        rank = np.arange(len(feature)) - (np.cumsum(sizes) - sizes)[feature]
        most = max(1, self._room.pairs // len(self._keys))
        self._incomplete = np.union1d(self._incomplete, np.flatnonzero(sizes > most))
        return feature[rank < most], keys[rank < most]


class _RowSummaries:
    """What stands in the rows of some selected features, with the squares of their values as weights."""

    def __init__(
        self, index: _native.KeyIndex, features: Indices, sums: ColumnSums, excluded: Keys, threshold: float, room: Room
    ) -> None:
        self._index, self._features, self._excluded = index, features, _native.KeyIndex(excluded)
        self._stream = np.full(len(sums.squares), -1)
        self._stream[features] = np.arange(len(features))
        self._total, self._seen = sums.squares[features], np.zeros(len(features))
        self._share, self._waiting = threshold**2, room.waiting
        self._hitters = HeavyHitters(len(features), max(16, room.of_rows // len(features)), room.waiting)

    def add(self, block: Block) -> None:
        """Add rows."""
        rows, numbers = block.columns(self._index)
        streams = self._stream[numbers]
        chosen, others = np.flatnonzero(streams >= 0), np.flatnonzero(self._excluded.find(block.keys) < 0)
        streams, keys = streams[chosen], block.keys[others]
        squares, present = rows[:, chosen], block.rows[:, others]
        squares.data **= 2
        present.data[:] = 1.0
        added = np.bincount(squares.indices, squares.data, minlength=len(streams))
        for first, product in products(squares, present, self._waiting):
            sizes = np.diff(product.indptr)
            these = streams[first : first + len(sizes)]
            self._seen[these] += added[first : first + len(sizes)]
            if self._hitters.add(np.repeat(these, sizes), keys[product.indices], product.data):
                # What can no longer reach the share goes.
                self._hitters.drop((self._share - _ROUNDING) * self._total - (self._total - self._seen))

    def candidates(self) -> tuple[Indices, Keys, Floats]:
        """The features, keys and estimates of what may be alike."""
        self._hitters.entries()
        self._hitters.drop((self._share - _ROUNDING) * self._total)
        streams, keys, weights = self._hitters.entries()
        return self._features[streams], keys, np.sqrt(weights / self._total[streams])

    @property
    def incomplete(self) -> Indices:
        """The features whose summaries may lack a column that is alike."""
        return self._features[self._hitters.error >= self._share * self._total]
