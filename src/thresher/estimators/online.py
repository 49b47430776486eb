"""Base classes of the online estimators: fit and partial_fit, for classification and regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from thresher.core.labels import ThirdLabel, sort_labels
from thresher.core.losses import get_loss
from thresher.errors import DataError, SettingsError
from thresher.estimators.base import FittedRun, SelectingEstimator, Task
from thresher.estimators.inputs import check_labels, training_data
from thresher.estimators.locking import locked
from thresher.estimators.mixins import SelectionClassifierMixin, SelectionRegressorMixin
from thresher.online.result import Fitted
from thresher.online.run import OnlineRun
from thresher.sources.base import Source
from thresher.sources.transforms.label_scan import label_classes


class OnlineEstimator(SelectingEstimator):
    """The base class of the estimators that learn row by row."""

    def _fit(self, source: Source, task: Task, y: Any) -> None:
        self._finish(self._run_of(source, task), y)

    def _starts_stream(self) -> bool:
        """Whether the next rows are the first of a stream: there is no fit yet, or one that cannot go on."""
        self._check_no_fdr("partial_fit sees them in parts")
        return not isinstance(getattr(self, "_fitted", None), Fitted)

    def _continue(self, source: Source, task: Task) -> None:
        """Learn from further rows of a stream."""
        if self.k == "auto":
            raise SettingsError('a stream has no rows to choose `k="auto"` by: pass a number as `k`, or use fit')
        with self._by_name(source) as (source, _):
            self._learn_part(source, task)

    def _learn_part(self, source: Source, task: Task) -> None:
        after = None if self._starts_stream() else self._fitted
        run = OnlineRun(source, *self._prepared(task), task.classes, stream=True, after=after)
        try:
            run.feed()
        finally:  # after an error too: the engine has learned the rows before it
            if run.engine.rows:
                self._fitted = Fitted.of(run, fingerprint=False)
                self._fitted.names = {} if after is None else after.names
        if not run.engine.rows:
            raise DataError(f"{source.describe()}: no rows to learn from.")
        self._fitted.find_missing_names(run.source)

    def _keep(self, run: Any, y: Any) -> None:
        if not isinstance(run, OnlineRun):  # with error control
            self._fitted = FittedRun(run.selection(), run.source.space)
            return
        self._fitted = fitted = Fitted.of(run)
        fitted.find_missing_names(run.source)

    def _limited(self, source: Source) -> Source:
        return source.limited(self._fitted.plan.limits) if isinstance(self._fitted, Fitted) else source


class OnlineClassifier(SelectionClassifierMixin, OnlineEstimator):
    """The base class of online classifiers."""

    #: For binary losses, the loss for more than two classes.
    _multiclass_losses: ClassVar[Mapping[str, str]] = {}

    #: The regressor of the same methods, for error messages.
    _regressor: ClassVar[str]

    loss: str
    class_weight: Mapping[Any, float] | str | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        several = get_loss(self.loss).task == "classes"
        tags.classifier_tags.multi_class = several or self.loss in self._multiclass_losses
        tags.classifier_tags.multi_label = not several
        return tags

    # ── fitting ──────────────────────────────────────────────────────────────────────────────────

    @locked
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further rows, in order and once.

        Several calls give the same result to the bit as one `fit` of all rows with ``shuffle=False``, ``passes=1``,
        ``refit=False`` and ``standardize=False``, even if the estimator is pickled in between. With
        ``standardize=True`` several calls give the bits of one call, as the units of numeric columns follow the rows.
        The first call starts a new model.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like, optional
            All labels of the stream; required in the first call unless its rows contain them all.

        Returns
        -------
        self
        """
        if isinstance(self.class_weight, str):
            raise SettingsError(
                f"class_weight={self.class_weight!r} requires all labels before the first row: pass a mapping to use "
                "partial_fit"
            )
        first = self._starts_stream()
        source, y = training_data(self, X, y, sample_weight, reset=first, **self._targets(y))
        task = self._first_task(source, y, classes) if first else self._next_task(source, y, classes)
        self._continue(source, task)
        return self

    def _fit(self, source: Source, task: Task, y: Any) -> None:
        try:
            super()._fit(source, task, y)
        except ThirdLabel:
            # The fit of a file assumes two classes until a third one occurs.
            if self.loss not in self._multiclass_losses or not source.rewindable:
                raise
            super()._fit(source, Task(self._multiclass_losses[self.loss], label_classes(source)), y)

    def _task(self, source: Source, y: Any) -> Task:
        task = get_loss(self.loss).task
        if task == "real":
            raise SettingsError(f"the {self.loss} loss is for regression: use {self._regressor}, or another loss")
        if source.multilabel:
            labels = label_classes(source)
            if y is not None:
                self.classes_ = np.arange(len(labels))
            return Task(self.loss, labels, multilabel=True)
        if y is None:
            return Task(self.loss, label_classes(source) if task == "classes" else None)
        check_classification_targets(y)
        order = getattr(source, "order", None)  # the rows of nonzero weight
        self.classes_ = np.unique(y if order is None else y[order])
        return self._task_of(self.classes_)

    def _task_of(self, classes: Any) -> Task:
        """The task for these classes."""
        labels = sort_labels(classes)
        if len(labels) != len(classes):
            raise DataError("some labels are equal in double precision: pass them as strings.")
        if get_loss(self.loss).task == "classes":
            return Task(self.loss, labels)
        if self.loss in self._multiclass_losses and len(labels) > 2:
            return Task(self._multiclass_losses[self.loss], labels)
        if len(labels) > 2:
            raise DataError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"use the logistic or softmax loss for more than two classes, not {self.loss}."
            )
        return Task(self.loss)

    def _first_task(self, source: Source, y: Any, classes: Any) -> Task:
        """The task of a stream; all classes must be known now."""
        task = self._task(source, y) if y is not None else Task(self.loss, multilabel=source.multilabel)
        if classes is not None:
            self.classes_ = np.unique(classes)
        elif y is None:
            self.classes_ = np.unique(label_classes(source))
        if task.multilabel:
            return task._replace(classes=sort_labels(self.classes_))
        if len(self.classes_) < 2:
            raise DataError(
                f"the first call has only the classes {self.classes_.tolist()}: pass all of them, "
                "partial_fit(X, y, classes=[…])."
            )
        if y is not None:
            check_labels(y, self.classes_)
        return self._task_of(self.classes_)._replace(classes=sort_labels(self.classes_))

    def _next_task(self, source: Source, y: Any, classes: Any) -> Task:
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise SettingsError(f"classes must be {self.classes_.tolist()} since the first call, got {list(classes)}")
        fitted = self._fitted.engine.settings
        if y is not None and not fitted.multilabel:
            check_classification_targets(y)
            check_labels(y, self.classes_)
        loss = fitted.loss if self._multiclass_losses.get(self.loss) == fitted.loss else self.loss
        return Task(loss, self._fitted.targets.classes, fitted.multilabel)


class OnlineRegressor(SelectionRegressorMixin, OnlineEstimator):
    """The base class of online regressors."""

    @locked
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further rows, in order and once.

        Several calls give the same result to the bit as one `fit` of all rows with ``shuffle=False``, ``passes=1``,
        ``refit=False`` and ``standardize=False``, even if the estimator is pickled in between.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        self
        """
        first = self._starts_stream()
        source, y = training_data(self, X, y, sample_weight, reset=first, **self._targets(y))
        self._continue(source, self._task(source, y))
        return self
