"""What estimators of the working-set loop share: all targets are at hand, and classes are each against the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from thresher.core.labels import sort_labels
from thresher.core.losses import get_loss
from thresher.errors import DataError, SettingsError
from thresher.estimators.base import SelectingEstimator, Task
from thresher.estimators.classifying import Classifying
from thresher.estimators.regressing import Regressing
from thresher.sources.base import Source


class BatchClassifier(Classifying, SelectingEstimator):
    """Two classes, several (each against the rest), or several labels a row."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _keep(self, run: Any, y: Any) -> None:
        super()._keep(run, y)
        if y is None:
            self.classes_ = np.array(self.selection_.labels)

    def _targets(self, y: Any) -> dict[str, bool]:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
        return {"multi_output": len(shape) == 2 and (shape[1] > 1 or hasattr(y, "tocsr"))}

    def _task(self, source: Source, y: Any) -> Task:
        if get_loss(self.loss).task != "binary":
            raise SettingsError(f"the {self.loss} loss is not one of two classes: squared_hinge or logistic")
        if source.multilabel:
            if y is not None:
                self.classes_ = np.arange(y.shape[1])
            return Task(self.loss, multilabel=True)
        if y is not None:
            check_classification_targets(y)
            order = getattr(source, "order", None)  # without the rows of weight 0
            self.classes_ = np.unique(y if order is None else y[order])
            if len(sort_labels(self.classes_)) != len(self.classes_):
                raise DataError("some labels are the same number in double precision: write them as text.")
        return Task(self.loss)


class BatchRegressor(Regressing, SelectingEstimator):
    """A number for each row."""

    _own_losses = "squared"
