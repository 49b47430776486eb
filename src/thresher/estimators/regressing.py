"""Numbers out of margins: what all regressors share, whatever they learn by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from thresher.core.losses import get_loss
from thresher.errors import SettingsError
from thresher.estimators.base import Task
from thresher.selection.selection import Selection
from thresher.sources.base import Source


class Regressing(RegressorMixin):
    """The model of a number, for an estimator that has a ``selection_``."""

    #: The losses there are: for whoever chose a wrong one.
    _own_losses: ClassVar[str] = "squared or huber"

    loss: str
    selection_: Selection
    _margins: Callable[[Any], NDArray[np.float64]]
    _stored_score: Callable[[Any, str, Any], float]

    def _targets(self, y: Any) -> dict[str, bool]:
        return {"y_numeric": True}

    def _task(self, source: Source, y: Any) -> Task:
        if get_loss(self.loss).task != "real":
            classifier = type(self).__name__.replace("Regressor", "Classifier")
            raise SettingsError(f"the {self.loss} loss is for classes: use {classifier}, or {self._own_losses}")
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
