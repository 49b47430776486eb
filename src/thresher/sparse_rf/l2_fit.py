"""The weights of chosen random features: the loss with an l2 penalty, for each output."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats, Ids
from thresher.core.losses import get_loss
from thresher.sparse_rf.feature_columns import RandomFeatureColumns
from thresher.sparse_rf.settings import SparseRFSettings

#: The most Newton steps of a fit, and the share of the objective by which its last one lowers it at most; the same of a
#: fit that only compares. Fits start close to their end.
_EXACT, _ROUGH = (30, 1e-8), (2, 1e-4)


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
        self._targets, self._row_weights = np.ascontiguousarray(targets), settings.loss_factor * weights
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
        self.weights, self.intercepts = self._solved(self._row_weights, _ROUGH if roughly else _EXACT)

    def margins(self, rows: NDArray[np.bool_]) -> Floats:
        """The margins of the rows of a mask, outputs x rows."""
        return self._margins(self.weights, self.intercepts, rows)

    def without(self, rows: NDArray[np.bool_]) -> Floats:
        """The margins of the rows of a mask, by a fit without these rows."""
        return self._margins(*self._solved(np.where(rows, 0.0, self._row_weights), _ROUGH), rows)

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

    def _solved(self, row_weights: Floats, limits: tuple[int, float]) -> tuple[Floats, Floats]:
        """The weights and intercepts for these weights of the rows."""
        loss = get_loss(self._settings.loss)
        most, tolerance = limits
        weights, intercepts, _, _ = _native.ridge_fit(
            loss.name,
            loss.delta,
            self._targets,
            row_weights,
            self._settings.fit_intercept,
            self._columns,
            np.ascontiguousarray(self.weights),
            self._ridge * float(row_weights.sum()),
            tolerance,
            most,
            self._pool,
        )
        return weights.reshape(self.weights.shape), intercepts
