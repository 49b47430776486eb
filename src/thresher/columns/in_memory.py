"""Columns in memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from thresher import _native
from thresher.columns.types import Floats, Ids, Proposal, ScaledColumns, SingleColumns
from thresher.sources.base import Source

Store = _native.ColumnStore | _native.DenseColumns32 | _native.DenseColumns64


def column_scales(squares: Floats, total: float, power: float) -> Floats:
    """The factors that divide columns by their (weighted) root mean square to a power; 1 for a column of zeros.

    With a power of 1, columns get the norm √n and scores are n c²/‖x‖². This ranks columns like scaling to unit norm,
    but C then means the same as for standardized data.
    """
    ones = np.ones(len(squares))
    scales: Floats = np.divide(total, squares, out=ones, where=squares > 0) ** (0.5 * power)
    return scales


class InMemoryColumns(SingleColumns):
    """The family of all columns, held in memory.

    Parameters
    ----------
    store : ColumnStore, DenseColumns32 or DenseColumns64
        The columns, sparse or dense.
    pool : ThreadPool
        The threads. Their number does not change the results.
    power : float
        Columns are divided by their root mean square to this power: 0, ½ or 1.
    total : float, optional
        The sum of the row weights with which the store computed its squares; by default the number of rows.
    weights : array, optional
        The row weights, for families that compute columns of their own.
    source : Source, optional
        The rows, read again to locate a value that is not finite.
    """

    def __init__(
        self,
        store: Store,
        pool: _native.ThreadPool,
        *,
        power: float = 1.0,
        total: float | None = None,
        weights: Floats | None = None,
        source: Source | None = None,
    ) -> None:
        self.store = store
        self.pool = pool
        self.power = power
        self.rows = store.rows
        self.total = float(store.rows) if total is None else total
        self.weights = None if weights is None or (weights == 1).all() else np.ascontiguousarray(weights)
        self.bytes = store.most_bytes if isinstance(store, _native.ColumnStore) else 0
        self._unchecked = None if isinstance(store, _native.ColumnStore) else source

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        return top_together([(self, residuals)], limit)[0]

    def columns(self, ids: Ids) -> ScaledColumns:
        indptr, rows, values, squares = self.store.take(np.ascontiguousarray(ids), self.pool)
        return ScaledColumns(indptr, rows, values, column_scales(squares, self.total, self.power))

    def squared_sums(self, residuals: Floats, keys: Ids) -> Floats:
        keys = np.ascontiguousarray(keys)
        scores = np.empty((len(residuals), len(keys)))
        for i, residual in enumerate(residuals):
            sums, squares = self.store.sums(np.ascontiguousarray(residual), keys, self.pool)
            scores[i] = (sums * column_scales(squares, self.total, self.power)) ** 2
        self.check()
        return scores

    def value_range(self) -> tuple[float, float]:
        """The smallest and the largest value, including zero."""
        return _native.value_range(self.store, self.pool)

    def check(self) -> None:
        """Raise if a dense matrix has values that are not finite. Checks once, after the first analysis."""
        source, self._unchecked = self._unchecked, None
        if source is not None and not isinstance(self.store, _native.ColumnStore) and not self.store.finite(self.pool):
            for _ in source.batches():  # raises, and names the row and column
                pass


def top_together(asked: Sequence[tuple[InMemoryColumns, Floats]], limit: int) -> list[list[Proposal]]:
    """`InMemoryColumns.top` of several families over the same store, which is read once for all of them."""
    first = asked[0][0]
    powers = np.concatenate([np.full(len(residuals), family.power) for family, residuals in asked])
    together = asked[0][1] if len(asked) == 1 else np.concatenate([residuals for _, residuals in asked])
    found = iter(first.store.top(np.ascontiguousarray(together), limit, powers, first.pool))
    first.check()
    return [
        [Proposal(ids, family.total**family.power * scores) for ids, scores in islice(found, len(residuals))]
        for family, residuals in asked
    ]
