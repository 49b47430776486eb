"""Regression for scikit-learn: what the regressors over the online loop share."""

from __future__ import annotations

from typing import Any, Self

from thresher.estimators.base import OnlineEstimator
from thresher.estimators.inputs import training_data
from thresher.estimators.regressing import Regressing


class OnlineRegressor(Regressing, OnlineEstimator):
    """What the regressors over the online loop share."""

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, as they come and once.

        Several calls give the same bits as one `fit` of all rows with ``shuffle=False`` and ``passes=1``, also
        if the estimator is pickled in between.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_fitted")
        source, y = training_data(self, X, y, sample_weight, reset=first, **self._targets(y))
        self._go_on(source, self._task(source, y))
        return self
