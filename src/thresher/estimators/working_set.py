"""What the estimators of the working-set loop share: settings to a run, a run to its selection."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from thresher.errors import DataError, SettingsError
from thresher.estimators.base import SelectingEstimator, Task
from thresher.estimators.classifying import Classifying
from thresher.losses import get_loss
from thresher.selection import Selection
from thresher.sources.scan import as_source
from thresher.sources.source import Source
from thresher.space import FeatureSpace
from thresher.targets import sort_labels
from thresher.working_set.run import RunSettings, WorkingSetRun


@dataclass(frozen=True)
class FittedRun:
    """What a run has come to, without the data it came from."""

    selection: Selection
    space: FeatureSpace


class WorkingSetEstimator(SelectingEstimator):
    """An estimator that learns in rounds."""

    _fitted: FittedRun
    threads: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, validation: Any = None) -> Self:
        """Learn from the data.

        Parameters
        ----------
        X : array, SciPy matrix, DataFrame, path or Source
            The examples. Paths may be globs, folders, compressed, or several.
        y : array-like, optional
            The targets; files and sources bring their own.
        sample_weight : array-like, optional
            Importance of each row. A row of weight 0 is left out.
        validation : path, Source or pair (X, y), optional
            Scored on the way; learning ends when that gets no better, and the best is kept.

        Returns
        -------
        self
        """
        pair = validation if isinstance(validation, tuple) else (validation,)
        self._validation = None if validation is None else as_source(*pair)
        try:
            super().fit(X, y, sample_weight)
        finally:
            del self._validation
        return self

    @abstractmethod
    def _run(self, source: Source, task: Task, how: RunSettings) -> WorkingSetRun[Any]:
        """A run with the settings of this estimator."""

    def _fit(self, source: Source, task: Task, y: Any) -> None:
        how = RunSettings(
            memory=getattr(self, "memory", None),
            threads=self.threads,
            multilabel=task.multilabel,
            class_weight=getattr(self, "class_weight", None),
            validation=self._validation,
            lenient=True,
        )
        run = self._run(source, task, how)
        try:
            run.run()
        except KeyboardInterrupt:
            if run.usable:
                self._keep(run, y)  # usable as far as it came
            raise
        self._keep(run, y)

    def _keep(self, run: WorkingSetRun[Any], y: Any) -> None:
        self._fitted = FittedRun(run.selection(), run.source.space)

    @property
    def path_(self) -> list[dict[str, float]]:
        """What each iteration came to: features, objective, its lower bound, and the validation's score."""
        path: list[dict[str, float]] = self.selection_.provenance["path"]
        return path


class WorkingSetClassifier(Classifying, WorkingSetEstimator):
    """A classifier that learns in rounds: two classes, several each against the rest, or several labels a row."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _keep(self, run: WorkingSetRun[Any], y: Any) -> None:
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


class WorkingSetRegressor(RegressorMixin, WorkingSetEstimator):
    """A regressor that learns in rounds."""

    loss: str

    def _targets(self, y: Any) -> dict[str, bool]:
        return {"y_numeric": True}

    def _task(self, source: Source, y: Any) -> Task:
        if get_loss(self.loss).task != "real":
            classifier = type(self).__name__.replace("Regressor", "Classifier")
            raise SettingsError(f"the {self.loss} loss is for classes: use {classifier}, or squared")
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
