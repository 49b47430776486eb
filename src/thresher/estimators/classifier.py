"""Classification for scikit-learn: two classes, several, or several labels a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from thresher.errors import DataError, SettingsError
from thresher.estimators.base import OnlineEstimator, Task
from thresher.estimators.classifying import Classifying
from thresher.estimators.inputs import check_labels, training_data
from thresher.losses import get_loss
from thresher.memory import DEFAULT_MEMORY
from thresher.online.run import OnlineRun
from thresher.sources.source import Source
from thresher.targets import ThirdLabel, label_classes, sort_labels


class MissionClassifier(Classifying, OnlineEstimator):
    """Classify by the k features that matter most, however many there are.

    MISSION [1]_: the k strongest features are kept in a table, all others in a count-sketch, where weak
    gradients add up until they show. Memory is bounded and planned before the first row, whatever the number
    of features. The same as `thresher.select`, to the bit, behind scikit-learn's interface.

    Parameters
    ----------
    k : int
        Features to keep. Fewer are kept where fewer are found.
    method : {"mission", "iht", "batch-iht", "hashing"}
        How to find them: ``iht`` forgets what is not among the k, ``batch-iht`` after gathering many gradients,
        and ``hashing`` learns a weight for every cell and selects nothing.
    loss : {"logistic", "softmax", "hinge", "squared_hinge"}
        More than two classes make ``logistic`` the same as ``softmax``.
    memory : str or int
        What may be held, planned before the first row and kept.
    sketch : (rows, width), optional
        The shape of the sketch, instead of what the memory leaves for it.
    active : {"exact", "sketch"}
        ``exact`` keeps the exact weights of the features in the table; ``sketch`` is the paper's MISSION.
    step : "auto", float, "adaptive:RATE" or "RATE/sqrt"
        The step along each example's gradient. ``auto`` adapts to every feature.
    passes : int
        How often `fit` goes through the data.
    minibatch : int
        Rows whose gradients are averaged before a step is taken.
    shuffle : "auto" or bool
        Mix the rows in `fit`: those in memory all, those of files through a buffer. `partial_fit` never does.
    interactions : {1, 2, 3} or list of tuples
        2: products of two features of a row are features too; 3: also of three; or of chosen groups only.
    random_state : int, RandomState or None
        Where all randomness comes from: the same data, settings and number give the same bits. None is 0.
    intercept : bool
        Learn a constant too.
    l2, decay, lazy : float
        Decay of all weights, decay of those not kept, and how lazily the table reorders.
    per_class : bool
        With several classes, k features for each rather than k by the norm across all.
    class_weight : dict or "balanced", optional
        Importance of each class. `partial_fit` takes no ``balanced``, which needs all labels.

    Attributes
    ----------
    selection_ : Selection
        The features, with names, keys, weights and bounds. It, ``coef_``, `transform` and
        `get_feature_names_out` share one order: by |weight| (its norm across classes), the strongest first,
        ties to the smaller key.
    coef_ : array of shape (1, k), or (n_classes, k)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
        Where the number of columns is known.
    feature_names_in_ : array of str
        Where the data was a DataFrame.

    References
    ----------
    .. [1] A. Aghazadeh, R. Spring, D. LeJeune, G. Dasarathy, A. Shrivastava, R. Baraniuk, "MISSION: Ultra
       Large-Scale Feature Selection using Count-Sketches", ICML 2018.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 50))
    >>> y = np.where(X[:, 7] - X[:, 31] > 0, "yes", "no")
    >>> model = th.MissionClassifier(k=2).fit(X, y)
    >>> sorted(model.get_feature_names_out()), model.score(X, y) > 0.95
    (['x31', 'x7'], True)
    """

    def __init__(
        self,
        k: int = 1000,
        *,
        method: str = "mission",
        loss: str = "logistic",
        memory: str | int = DEFAULT_MEMORY,
        sketch: tuple[int, int] | None = None,
        active: str = "exact",
        step: str | float = "auto",
        passes: int = 1,
        minibatch: int = 1,
        shuffle: str | bool = "auto",
        interactions: int | Sequence[Sequence[str | int]] = 1,
        random_state: Any = None,
        intercept: bool = True,
        l2: float = 0.0,
        decay: float = 1.0,
        lazy: float = 0.0,
        per_class: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.k = k
        self.method = method
        self.loss = loss
        self.memory = memory
        self.sketch = sketch
        self.active = active
        self.step = step
        self.passes = passes
        self.minibatch = minibatch
        self.shuffle = shuffle
        self.interactions = interactions
        self.random_state = random_state
        self.intercept = intercept
        self.l2 = l2
        self.decay = decay
        self.lazy = lazy
        self.per_class = per_class
        self.class_weight = class_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss in ("logistic", "softmax")
        tags.classifier_tags.multi_label = self.loss != "softmax"
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
        self._go_on(source, task)
        return self

    def _fit(self, source: Source, task: Task, y: Any) -> None:
        try:
            super()._fit(source, task, y)
        except ThirdLabel:
            # A file is taken to have two classes until it shows a third.
            if self.loss != "logistic" or not source.rewindable:
                raise
            super()._fit(source, Task("softmax", label_classes(source)), y)

    def _keep(self, run: OnlineRun, y: Any) -> None:
        super()._keep(run, y)
        if y is None:
            self.classes_ = np.array(self.selection_.labels)

    def _targets(self, y: Any) -> dict[str, bool]:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
        return {"multi_output": len(shape) == 2 and (shape[1] > 1 or hasattr(y, "tocsr"))}

    def _task(self, source: Source, y: Any) -> Task:
        task = get_loss(self.loss).task
        if task == "real":
            raise SettingsError(f"the {self.loss} loss is for numbers: use MissionRegressor, or a loss of classes")
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
        if self.loss == "softmax" or (self.loss == "logistic" and len(labels) > 2):
            return Task("softmax", labels)
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
        loss = now.loss if (self.loss, now.loss) == ("logistic", "softmax") else self.loss
        return Task(loss, self._fitted.targets.classes, now.multilabel)
