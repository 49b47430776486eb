"""Single features whose columns are in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.families.family import Columns, Family, Floats, Ids, Proposal

Store = _native.ColumnStore | _native.DenseColumns32 | _native.DenseColumns64


def scales_of(squares: Floats, total: float, *, unit: bool) -> Floats:
    """What brings columns to a (weighted) root mean square of one, norm √n; columns of nothing stay as they are.

    Scores then are n c²/‖x‖²: of the same order as those of columns of unit norm, with a C that means what it means
    for standardised data.
    """
    ones = np.ones(len(squares))
    return np.sqrt(np.divide(total, squares, out=ones, where=squares > 0)) if unit else ones


class StoredColumns(Family):
    """Every feature that occurs, as a column in memory.

    Parameters
    ----------
    store : the columns, sparse or dense
    team : Team
        The threads that work on it; their number changes no bit.
    unit : bool
        Scale columns to a root mean square of one.
    total : float, optional
        The rows' weights in all, where they have any: those that the store's squares were made with.
    weights : array, optional
        These, for families that form columns of their own.
    """

    def __init__(
        self,
        store: Store,
        team: _native.Team,
        *,
        unit: bool = True,
        total: float | None = None,
        weights: Floats | None = None,
    ) -> None:
        self.store = store
        self.team = team
        self.unit = unit
        self.rows = store.rows
        self.total = float(store.rows) if total is None else total
        self.weights = None if weights is None or (weights == 1).all() else np.ascontiguousarray(weights)
        self.bytes = store.bytes if isinstance(store, _native.ColumnStore) else 0

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        factor = self.total if self.unit else 1.0
        found = self.store.top(np.ascontiguousarray(residuals), most, self.unit, self.team)
        return [Proposal(ids, factor * scores) for ids, scores in found]

    def columns(self, ids: Ids) -> Columns:
        indptr, rows, values, squares = self.store.take(np.ascontiguousarray(ids))
        return Columns(indptr, rows, values, scales_of(squares, self.total, unit=self.unit))

    def squared_sums(self, residual: NDArray[np.float64], keys: Ids) -> Floats:
        """The scores of single features, for groups of them."""
        sums, squares = self.store.sums(np.ascontiguousarray(residual), np.ascontiguousarray(keys), self.team)
        return (sums * scales_of(squares, self.total, unit=self.unit)) ** 2
