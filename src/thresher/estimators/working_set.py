"""Base classes of the estimators that are not online: working-set fits, one-vs-rest classes, and regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from thresher.core.interim import Callback
from thresher.core.labels import sort_labels
from thresher.core.losses import get_loss
from thresher.errors import DataError, SettingsError
from thresher.estimators.base import FittedRun, SelectingEstimator, Task
from thresher.estimators.locking import locked
from thresher.estimators.mixins import SelectionClassifierMixin, SelectionRegressorMixin
from thresher.sources.base import Source
from thresher.sources.registry import as_source


class WorkingSetEstimator(SelectingEstimator):
    """The base class of the estimators over a working-set method."""

    _fitted: FittedRun

    @locked
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        validation: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, SciPy matrix, DataFrame, path or Source
            The training data. Paths may be globs, folders, compressed files, or a list.
        y : array-like, optional
            The targets; files and sources contain theirs.
        sample_weight : array-like, optional
            The weight of each row. Rows of weight 0 are ignored.
        validation : path, Source or pair (X, y), optional
            Scored after every iteration; the fit stops when the score no longer improves, and keeps the best iteration.
        callback : callable, optional
            Called with a `thresher.core.interim.Interim` after every iteration; True ends the fit. See
            `thresher.select`.

        Returns
        -------
        self
        """
        pair = validation if isinstance(validation, tuple) else (validation,)
        self._validation = None if validation is None else as_source(*pair)
        try:
            super().fit(X, y, sample_weight, callback=callback)
        finally:
            del self._validation
        return self

    def _fit(self, source: Source, task: Task, y: Any) -> None:
        self._finish(self._run_of(source, task, validation=self._validation), y)

    def _keep(self, run: Any, y: Any) -> None:
        self._fitted = FittedRun(run.selection(), run.source.space)

    @property
    def n_iter_(self) -> int:
        """The number of iterations; with ``fdr``, which fits several times, there is none."""
        return int(self._fact("iterations"))

    @property
    def path_(self) -> list[dict[str, float]]:
        """The features, objective, lower bound and validation score after each iteration."""
        path: list[dict[str, float]] = self._fact("path")
        return path

    def _fact(self, name: str) -> Any:
        if name not in self.selection_.provenance:
            raise AttributeError(f"a fit with `fdr` consists of several: it has no {name} of its own")
        return self.selection_.provenance[name]


class BatchClassifier(SelectionClassifierMixin, SelectingEstimator):
    """The base class of classifiers: two classes, several (one vs. rest), or several labels per row."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _task(self, source: Source, y: Any) -> Task:
        if get_loss(self.loss).task != "binary":
            raise SettingsError(f"the loss of a classifier must be squared_hinge or logistic, got {self.loss}")
        if source.multilabel:
            if y is not None:
                self.classes_ = np.arange(y.shape[1])
            return Task(self.loss, multilabel=True)
        if y is not None:
            check_classification_targets(y)
            order = getattr(source, "order", None)  # the rows of nonzero weight
            self.classes_ = np.unique(y if order is None else y[order])
            if len(sort_labels(self.classes_)) != len(self.classes_):
                raise DataError("some labels are equal in double precision: pass them as strings.")
        return Task(self.loss)


class BatchRegressor(SelectionRegressorMixin, SelectingEstimator):
    """The base class of regressors."""

    _losses = "squared"
