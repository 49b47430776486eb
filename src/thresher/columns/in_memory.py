"""Single features whose columns are in memory."""

from __future__ import annotations

import numpy as np

from thresher import _native
from thresher.columns.types import Columns, Family, Floats, Ids, Proposal
from thresher.sources.base import Source

Store = _native.ColumnStore | _native.DenseColumns32 | _native.DenseColumns64


def scales_of(squares: Floats, total: float, power: float) -> Floats:
    """What divides columns by their (weighted) root mean square to a power; columns of nothing stay as they are.

    With a power of 1 their norm is √n then, and scores are n c²/‖x‖²: of the same order as those of columns of unit
    norm, with a C that means what it means for standardised data.
    """
    ones = np.ones(len(squares))
    scales: Floats = np.divide(total, squares, out=ones, where=squares > 0) ** (0.5 * power)
    return scales


class StoredColumns(Family):
    """Every feature that occurs, as a column in memory.

    Parameters
    ----------
    store : the columns, sparse or dense
    team : Team
        The threads that work on it; their number changes no bit.
    power : float
        Columns are divided by their root mean square to this power: 0, ½ or 1.
    total : float, optional
        The rows' weights in all, where they have any: those that the store's squares were made with.
    weights : array, optional
        These, for families that form columns of their own.
    source : Source, optional
        The rows: a matrix that holds what is no number is gone through again, to say where.
    """

    def __init__(
        self,
        store: Store,
        team: _native.Team,
        *,
        power: float = 1.0,
        total: float | None = None,
        weights: Floats | None = None,
        source: Source | None = None,
    ) -> None:
        self.store = store
        self.team = team
        self.power = power
        self.rows = store.rows
        self.total = float(store.rows) if total is None else total
        self.weights = None if weights is None or (weights == 1).all() else np.ascontiguousarray(weights)
        self.bytes = store.most_bytes if isinstance(store, _native.ColumnStore) else 0
        self._unchecked = None if isinstance(store, _native.ColumnStore) else source

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        factor = self.total**self.power
        found = self.store.top(np.ascontiguousarray(residuals), most, self.power, self.team)
        self.check()
        return [Proposal(ids, factor * scores) for ids, scores in found]

    def columns(self, ids: Ids) -> Columns:
        indptr, rows, values, squares = self.store.take(np.ascontiguousarray(ids), self.team)
        return Columns(indptr, rows, values, scales_of(squares, self.total, self.power))

    def squared_sums(self, residuals: Floats, keys: Ids) -> Floats:
        """The scores of single features, for groups of them: outputs x keys."""
        keys = np.ascontiguousarray(keys)
        scores = np.empty((len(residuals), len(keys)))
        for i, residual in enumerate(residuals):
            sums, squares = self.store.sums(np.ascontiguousarray(residual), keys, self.team)
            scores[i] = (sums * scales_of(squares, self.total, self.power)) ** 2
        self.check()
        return scores

    def check(self) -> None:
        """After the first analysis, which all numbers went through."""
        source, self._unchecked = self._unchecked, None
        if source is not None and not isinstance(self.store, _native.ColumnStore) and not self.store.finite(self.team):
            for _ in source.batches():  # raises, and says where
                pass
