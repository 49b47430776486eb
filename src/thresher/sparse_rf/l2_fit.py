"""The weights of chosen random features: the loss with an l2 penalty, for each output."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats, Ids
from thresher.core.losses import get_loss
from thresher.sparse_rf.feature_columns import RandomFeatureColumns
from thresher.sparse_rf.settings import SparseRFSettings

#: Newton steps of a fit, and of one that only compares; fits start close to their end.
_STEPS, _FEW_STEPS = 5, 2


class L2Fit:
    """Fits the weights of random features to all rows, or to some.

    Parameters
    ----------
    ids : array of uint64
        The features.
    targets, weights : array
        Those of the rows; rows of weight 0 have no loss.
    which : array, optional
        The numbers of the rows, ascending. Default: all.
    """

    def __init__(
        self,
        family: RandomFeatureColumns,
        settings: SparseRFSettings,
        ids: Ids,
        targets: Floats,
        weights: Floats,
        pool: _native.ThreadPool,
        which: NDArray[np.intp] | None = None,
    ) -> None:
        self.ids, self._settings, self._pool = ids, settings, pool
        self._targets, self._row_weights = targets, settings.loss_factor * weights
        self._columns = family.rows_of(ids, which)
        self.start(np.zeros((len(targets), len(ids))))
        self._ridge = 0.0

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self._columns.shape[1])

    def start(self, weights: Floats) -> None:
        """Set the weights, outputs x features."""
        self.weights, self.intercepts = np.array(weights), np.zeros(len(weights))

    def shorten(self, size: int) -> None:
        """Keep the first features only."""
        self.ids, self.weights = self.ids[:size], self.weights[:, :size]
        self._columns = self._columns[:size]

    def solve(self, ridge: float, *, roughly: bool = False) -> None:
        """Minimise Σ c loss + ½ ridge Σc ‖w‖², from the current weights."""
        self._ridge = ridge
        self.weights, self.intercepts = self._solved(self._row_weights, _FEW_STEPS if roughly else _STEPS)

    def margins(self, rows: NDArray[np.bool_]) -> Floats:
        """The margins of the rows of a mask, outputs x rows."""
        return self._margins(self.weights, self.intercepts, rows)

    def without(self, rows: NDArray[np.bool_]) -> Floats:
        """The margins of the rows of a mask, by a fit without these rows."""
        return self._margins(*self._solved(np.where(rows, 0.0, self._row_weights), _FEW_STEPS), rows)

    def _margins(self, weights: Floats, intercepts: Floats, rows: NDArray[np.bool_]) -> Floats:
        columns = np.ascontiguousarray(self._columns[:, rows])
        if not len(columns):
            return np.repeat(intercepts[:, None], int(rows.sum()), axis=1)
        return np.array(
            [
                _native.weighted_sum(columns, np.ascontiguousarray(w), float(b))
                for w, b in zip(weights, intercepts, strict=True)
            ]
        )

    def _solved(self, row_weights: Floats, steps: int) -> tuple[Floats, Floats]:
        """The weights and intercepts for these weights of the rows."""
        loss = get_loss(self._settings.loss)
        weights, intercepts = np.empty_like(self.weights), np.empty(len(self.weights))
        for i, y in enumerate(self._targets):
            weights[i], intercepts[i], _, _ = _native.refit(
                loss.name,
                loss.delta,
                np.ascontiguousarray(y[None]),
                row_weights,
                self._settings.fit_intercept,
                self._columns,
                np.ones(len(self.ids)),
                np.ascontiguousarray(self.weights[i]),
                self._ridge * float(row_weights.sum()),
                steps,
                self._pool,
            )
        return weights, intercepts
