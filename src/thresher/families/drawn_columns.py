"""Functions drawn at random as the family of the working-set loop: their columns over rows in memory."""

from __future__ import annotations

import numpy as np

from thresher import _native
from thresher.errors import DataError
from thresher.families.drawn import DrawnFunctions
from thresher.families.family import Ids, WholeColumns
from thresher.families.rows import RowStore
from thresher.space import FeatureSpace


class DrawnColumns:
    """As many functions as one cares to draw; nothing of them is kept but the columns that are asked for.

    Parameters
    ----------
    space : FeatureSpace
        One with ``drawn``.
    store : RowStore
    """

    def __init__(self, space: FeatureSpace, store: RowStore, team: _native.Team) -> None:
        if store.all_the_same():
            what = "there is one sample only" if store.rows == 1 else "every row is the same"
            raise DataError(f"{what}: a function of it tells nothing. Check the columns.")
        self.space = space
        self.store = store
        self.team = team
        self.rows = store.rows

    def draw(self, count: int, after: int) -> Ids:
        """The numbers of ``count`` functions, independent of the first ``after`` ones."""
        return np.arange(after, after + count, dtype=np.uint64)

    def columns(self, ids: Ids) -> WholeColumns:
        """Their values, a column each."""
        functions = DrawnFunctions(self.space, ids, self.team)
        values = np.empty((len(ids), self.rows), np.float32)
        at = 0
        for batch in self.store:
            values[:, at : at + len(batch)] = functions.values(batch)
            at += len(batch)
        if not np.isfinite(values).all():
            raise DataError("a function of a row is too large for single precision. Scale the columns.")
        return WholeColumns(values, np.ones(len(ids)))
