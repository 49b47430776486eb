"""What the estimators over the online loop share: fit and partial_fit, for classes and for numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from thresher.core.labels import ThirdLabel, sort_labels
from thresher.core.losses import get_loss
from thresher.errors import DataError, SettingsError
from thresher.estimators.base import SelectingEstimator, Task
from thresher.estimators.inputs import check_labels, training_data
from thresher.estimators.mixins import SelectionClassifierMixin, SelectionRegressorMixin
from thresher.online.fitted import Fitted
from thresher.online.run import OnlineRun
from thresher.sources.base import Source
from thresher.sources.transforms.label_scan import label_classes


class OnlineEstimator(SelectingEstimator):
    """An estimator that learns row by row."""

    _fitted: Fitted

    def _fit(self, source: Source, task: Task, y: Any) -> None:
        self._finish(OnlineRun(source, *self._prepared(task), task.classes), y)

    def _continue(self, source: Source, task: Task) -> None:
        """Learn from more rows of a stream."""
        after = getattr(self, "_fitted", None)
        run = OnlineRun(source, *self._prepared(task), task.classes, stream=True, after=after)
        try:
            run.feed()
        finally:  # the engine has learned the rows up to an error, so the selection must be built anew
            if run.engine.rows:
                self._fitted = Fitted.of(run, fingerprint=False)
                self._fitted.names = {} if after is None else after.names
        if not run.engine.rows:
            raise DataError(f"{source.describe()}: there is no row to learn from.")
        self._fitted.find_missing_names(run.source)

    def _keep(self, run: OnlineRun, y: Any) -> None:
        self._fitted = Fitted.of(run)
        self._fitted.find_missing_names(run.source)

    def _limited(self, source: Source) -> Source:
        return source.limited(self._fitted.plan.limits)


class OnlineClassifier(SelectionClassifierMixin, OnlineEstimator):
    """What the classifiers over the online loop share."""

    #: What a loss of two classes becomes where there are more.
    _several: ClassVar[Mapping[str, str]] = {}

    #: Who predicts numbers by the same methods.
    _regressor: ClassVar[str]

    loss: str
    class_weight: Mapping[Any, float] | str | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        several = get_loss(self.loss).task == "classes"
        tags.classifier_tags.multi_class = several or self.loss in self._several
        tags.classifier_tags.multi_label = not several
        return tags

    # ── fitting ──────────────────────────────────────────────────────────────────────────────────

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, as they come and once.

        Several calls give the same bits as one `fit` of all rows with ``shuffle=False`` and ``passes=1``, also
        if the estimator is pickled in between. Without a first call there is nothing to go on from, and it begins.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like, optional
            All labels there will be; in the first call, unless its rows have them all.

        Returns
        -------
        self
        """
        if isinstance(self.class_weight, str):
            raise SettingsError(
                f"class_weight={self.class_weight!r} needs all labels before the first row: give partial_fit a mapping"
            )
        first = not hasattr(self, "_fitted")
        source, y = training_data(self, X, y, sample_weight, reset=first, **self._targets(y))
        task = self._first_task(source, y, classes) if first else self._next_task(source, y, classes)
        self._continue(source, task)
        return self

    def _fit(self, source: Source, task: Task, y: Any) -> None:
        try:
            super()._fit(source, task, y)
        except ThirdLabel:
            # A file is taken to have two classes until it shows a third.
            if self.loss not in self._several or not source.rewindable:
                raise
            super()._fit(source, Task(self._several[self.loss], label_classes(source)), y)

    def _task(self, source: Source, y: Any) -> Task:
        task = get_loss(self.loss).task
        if task == "real":
            raise SettingsError(f"the {self.loss} loss is for numbers: use {self._regressor}, or a loss of classes")
        if source.multilabel:
            labels = label_classes(source)
            if y is not None:
                self.classes_ = np.arange(len(labels))
            return Task(self.loss, labels, multilabel=True)
        if y is None:
            return Task(self.loss, label_classes(source) if task == "classes" else None)
        check_classification_targets(y)
        order = getattr(source, "order", None)  # without the rows of weight 0
        self.classes_ = np.unique(y if order is None else y[order])
        return self._task_of(self.classes_)

    def _task_of(self, classes: Any) -> Task:
        """The task with these classes, in the order of scikit-learn."""
        labels = sort_labels(classes)
        if len(labels) != len(classes):
            raise DataError("some labels are the same number in double precision: write them as text.")
        if get_loss(self.loss).task == "classes":
            return Task(self.loss, labels)
        if self.loss in self._several and len(labels) > 2:
            return Task(self._several[self.loss], labels)
        if len(labels) > 2:
            raise DataError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"for more than two classes choose the logistic or the softmax loss rather than {self.loss}."
            )
        return Task(self.loss)

    def _first_task(self, source: Source, y: Any, classes: Any) -> Task:
        """The task of a stream: all classes are settled now."""
        task = self._task(source, y) if y is not None else Task(self.loss, multilabel=source.multilabel)
        if classes is not None:
            self.classes_ = np.unique(classes)
        elif y is None:
            self.classes_ = np.unique(label_classes(source))
        if task.multilabel:
            return task._replace(classes=sort_labels(self.classes_))
        if len(self.classes_) < 2:
            raise DataError(
                f"the only class is {self.classes_.tolist()}: name all there will be, partial_fit(X, y, classes=[…])."
            )
        if y is not None:
            check_labels(y, self.classes_)
        return self._task_of(self.classes_)._replace(classes=sort_labels(self.classes_))

    def _next_task(self, source: Source, y: Any, classes: Any) -> Task:
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise SettingsError(f"the classes are {self.classes_.tolist()} since the first call, not {list(classes)}")
        now = self._fitted.engine.settings
        if y is not None and not now.multilabel:
            check_classification_targets(y)
            check_labels(y, self.classes_)
        loss = now.loss if self._several.get(self.loss) == now.loss else self.loss
        return Task(loss, self._fitted.targets.classes, now.multilabel)


class OnlineRegressor(SelectionRegressorMixin, OnlineEstimator):
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
        self._continue(source, self._task(source, y))
        return self
