"""The Feature Generating Machine for scikit-learn: what its estimators share, and the one for numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from thresher.estimators.base import SelectingEstimator, Task
from thresher.estimators.regressing import Regressing
from thresher.selection import Selection
from thresher.sources.scan import as_source
from thresher.sources.source import Source
from thresher.space import FeatureSpace
from thresher.working_set.run import FGMRun
from thresher.working_set.run_settings import RunSettings
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
