"""The Feature Generating Machine for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from thresher.errors import DataError, SettingsError
from thresher.estimators.base import SelectingEstimator, Task
from thresher.estimators.classifying import Classifying
from thresher.estimators.regressing import Regressing
from thresher.losses import get_loss
from thresher.selection import Selection
from thresher.sources.scan import as_source
from thresher.sources.source import Source
from thresher.space import FeatureSpace
from thresher.targets import sort_labels
from thresher.working_set.run import FGMRun, RunSettings
from thresher.working_set.settings import FGMSettings


@dataclass(frozen=True)
class FittedFGM:
    """What a run has come to, without the data it came from."""

    selection: Selection
    space: FeatureSpace


class FGMEstimator(SelectingEstimator):
    """What both estimators share: settings to a run, a run to its selection."""

    _fitted: FittedFGM

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
            Scored after every iteration; learning ends when that gets no better, and the best iteration is kept.

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

    def _fit(self, source: Source, task: Task, y: Any) -> None:
        given = self.get_params(deep=False)
        names = ("k", "B", "C", "scale", "shift", "tol", "inner_tol", "iterations", "refit", "solver")
        settings = FGMSettings(
            **{name: given[name] for name in names}, loss=task.loss, per_class=given.get("per_class", False)
        )
        how = RunSettings(
            memory=given["memory"],
            threads=given["threads"],
            multilabel=task.multilabel,
            class_weight=given.get("class_weight"),
            validation=self._validation,
            lenient=True,
        )
        run = FGMRun(source, settings, how, given["family"])
        try:
            run.run()
        except KeyboardInterrupt:
            if run.usable:
                self._keep(run, y)  # usable as far as it came
            raise
        self._keep(run, y)

    def _keep(self, run: FGMRun, y: Any) -> None:
        self._fitted = FittedFGM(run.selection(), run.source.space)

    @property
    def path_(self) -> list[dict[str, float]]:
        """What each iteration came to: features, objective, its lower bound, and the validation's score."""
        path: list[dict[str, float]] = self.selection_.provenance["path"]
        return path


class FGMClassifier(Classifying, FGMEstimator):
    """Classify by at most k features, found by the Feature Generating Machine [1]_.

    Every iteration proposes the B features that the model so far misses most, over all columns, and then solves a
    small problem on everything proposed so far. It is exact where an online method estimates, and takes seconds
    for millions of columns; columns that do not fit into ``memory`` are gone through again and again instead.

    Parameters
    ----------
    k : int
        Features in all (groups, where the family has groups). Fewer are kept where fewer are found.
    B : int, optional
        Features that an iteration proposes; unasked a tenth of ``k``.
    C : float
        Weight of the loss.
    loss : {"squared_hinge", "logistic"}
        More than two classes are learned each against the rest.
    family : "linear", Groups or Tree
        Where features come from.
    scale : {"norm", None}
        ``norm``: columns are scaled alike, in the scores and in the small problems. None: the paper's form.
    shift : bool
        Learn a constant too.
    memory : str or int, optional
        What columns may take in memory; None: what they need.
    tol, inner_tol : float
        When to end before there are k features (0: not), and how exactly each small problem is solved.
    iterations : int, optional
        At most so many.
    refit : bool or float
        De-bias: fit the features found once more, without the penalty that found them.
    solver : {"apg", "mkl"}
        ``mkl`` is the slow dual solver, for a few hundred rows.
    per_class : bool
        With several classes, k features for each rather than k by the norm across all.
    class_weight : dict or "balanced", optional
        Importance of each class.
    threads : int
        0: all cores. The answer does not depend on it.

    Attributes
    ----------
    selection_ : Selection
        The features, with names, keys and weights. It, ``coef_``, `transform` and `get_feature_names_out` share one
        order: by |weight| (its norm across classes), the strongest first, ties to the smaller key.
    coef_ : array of shape (1, k), or (n_classes, k)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    path_ : list of dict
        What each iteration came to.

    References
    ----------
    .. [1] M. Tan, I. W. Tsang, L. Wang, "Towards Ultrahigh Dimensional Feature Selection for Big Data", JMLR 15,
       2014.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 50))
    >>> y = np.where(X[:, 7] - X[:, 31] > 0, "yes", "no")
    >>> model = th.FGMClassifier(k=2).fit(X, y)
    >>> sorted(model.get_feature_names_out()), model.score(X, y) > 0.95
    (['x31', 'x7'], True)
    """

    def __init__(
        self,
        k: int = 100,
        *,
        B: int | None = None,
        C: float = 10.0,
        loss: str = "squared_hinge",
        family: Any = "linear",
        scale: str | None = "norm",
        shift: bool = True,
        memory: str | int | None = None,
        tol: float = 0.0,
        inner_tol: float = 1e-3,
        iterations: int | None = None,
        refit: bool | float = False,
        solver: str = "apg",
        per_class: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        threads: int = 0,
    ) -> None:
        self.k = k
        self.B = B
        self.C = C
        self.loss = loss
        self.family = family
        self.scale = scale
        self.shift = shift
        self.memory = memory
        self.tol = tol
        self.inner_tol = inner_tol
        self.iterations = iterations
        self.refit = refit
        self.solver = solver
        self.per_class = per_class
        self.class_weight = class_weight
        self.threads = threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _keep(self, run: FGMRun, y: Any) -> None:
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


class FGMRegressor(Regressing, FGMEstimator):
    """Predict a number by at most k features, found by the Feature Generating Machine [1]_ with the squared loss.

    Parameters
    ----------
    k, B, C, family, scale, shift, memory, tol, inner_tol, iterations, refit, threads
        As for `FGMClassifier`.

    Attributes
    ----------
    selection_ : Selection
    coef_ : array of shape (k,)
    intercept_ : float
    path_ : list of dict

    References
    ----------
    .. [1] M. Tan, I. W. Tsang, L. Wang, "Towards Ultrahigh Dimensional Feature Selection for Big Data", JMLR 15,
       2014.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 50))
    >>> y = 3 * X[:, 7] - 2 * X[:, 31] + rng.normal(size=2000)
    >>> list(th.FGMRegressor(k=2).fit(X, y).get_feature_names_out())
    ['x7', 'x31']
    """

    _classifier: ClassVar[str] = "FGMClassifier"
    _own_losses: ClassVar[str] = "squared"

    def __init__(
        self,
        k: int = 100,
        *,
        B: int | None = None,
        C: float = 10.0,
        loss: str = "squared",
        family: Any = "linear",
        scale: str | None = "norm",
        shift: bool = True,
        memory: str | int | None = None,
        tol: float = 0.0,
        inner_tol: float = 1e-3,
        iterations: int | None = None,
        refit: bool | float = False,
        solver: str = "apg",
        threads: int = 0,
    ) -> None:
        self.k = k
        self.B = B
        self.C = C
        self.loss = loss
        self.family = family
        self.scale = scale
        self.shift = shift
        self.memory = memory
        self.tol = tol
        self.inner_tol = inner_tol
        self.iterations = iterations
        self.refit = refit
        self.solver = solver
        self.threads = threads
