"""Regression for scikit-learn: what the regressors over the online loop share."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from thresher.errors import SettingsError
from thresher.estimators.base import OnlineEstimator, Task
from thresher.estimators.inputs import training_data
from thresher.losses import get_loss
from thresher.sources.source import Source


class OnlineRegressor(RegressorMixin, OnlineEstimator):
    """What the regressors over the online loop share."""

    #: Who predicts classes by the same methods.
    _classifier: ClassVar[str]

    loss: str

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

    def _targets(self, y: Any) -> dict[str, bool]:
        return {"y_numeric": True}

    def _task(self, source: Source, y: Any) -> Task:
        if get_loss(self.loss).task != "real":
            raise SettingsError(f"the {self.loss} loss is for classes: use {self._classifier}, or squared or huber")
        return Task(self.loss)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the selected features."""
        return self.selection_.weights

    @property
    def intercept_(self) -> float:
        """The constant."""
        return float(self.selection_.intercept[0])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The number of each row."""
        return self._margins(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R²; against the numbers of the file or source itself where ``y`` is not given."""
        if y is None:
            return self._stored_score(X, "r2", sample_weight)
        return float(super().score(X, y, sample_weight))
