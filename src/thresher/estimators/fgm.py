"""The Feature Generating Machine for scikit-learn: what its estimators share, and the one for numbers."""

from __future__ import annotations

from typing import Any

from thresher.estimators.base import Task
from thresher.estimators.batch_tasks import BatchRegressor
from thresher.estimators.working_set import WorkingSetEstimator
from thresher.fgm.run import FGMRun
from thresher.fgm.settings import FGMSettings
from thresher.sources.base import Source
from thresher.working_set.run_settings import RunSettings


class FGMEstimator(WorkingSetEstimator):
    """What both estimators share: settings to a run."""

    def _run(self, source: Source, task: Task, how: RunSettings) -> FGMRun:
        given = self.get_params(deep=False)
        names = ("k", "B", "C", "scale", "shift", "tol", "inner_tol", "iterations", "refit", "solver")
        settings = FGMSettings(
            **{name: given[name] for name in names}, loss=task.loss, per_class=given.get("per_class", False)
        )
        return FGMRun(source, settings, how, given["family"])


class FGMRegressor(BatchRegressor, FGMEstimator):
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
