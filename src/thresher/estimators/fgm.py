"""The Feature Generating Machine for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thresher.estimators.batch import BatchClassifier, BatchRegressor, WorkingSetEstimator


class FGMEstimator(WorkingSetEstimator):
    """What both estimators share."""

    _method: ClassVar[str] = "fgm"


class FGMClassifier(BatchClassifier, FGMEstimator):
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
    family : str or family
        Where features come from: ``"linear"``, the columns; ``"polynomial:2"``, ``"hik:100"``, ``"additive:chi2"`` and
        others by name; or one of `thresher.Columns`, `Groups`, `Tree`, `Polynomial`, `HIK`, `Additive`, `Spectrum`,
        `Product`, `Union`.
    scale : {"norm", "root", None}
        ``norm``: columns are scaled alike, in the scores and in the small problems: finds what is rare too. None: the
        paper's form. ``root``: half way between, which predicts best on words and pixels (with a ``C`` of 0.1).
    fit_intercept : bool
        Learn an intercept.
    memory : str or int, optional
        What may be held, planned before the first row and kept; None: what is needed.
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
    n_jobs : int
        Threads; -1: one for each core. The answer does not depend on it.

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
        fit_intercept: bool = True,
        memory: str | int | None = None,
        tol: float = 0.0,
        inner_tol: float = 1e-3,
        max_iter: int | None = None,
        refit: bool | float = False,
        solver: str = "apg",
        per_class: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        n_jobs: int = -1,
    ) -> None:
        self.k = k
        self.B = B
        self.C = C
        self.loss = loss
        self.family = family
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.memory = memory
        self.tol = tol
        self.inner_tol = inner_tol
        self.max_iter = max_iter
        self.refit = refit
        self.solver = solver
        self.per_class = per_class
        self.class_weight = class_weight
        self.n_jobs = n_jobs


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
        fit_intercept: bool = True,
        memory: str | int | None = None,
        tol: float = 0.0,
        inner_tol: float = 1e-3,
        max_iter: int | None = None,
        refit: bool | float = False,
        solver: str = "apg",
        n_jobs: int = -1,
    ) -> None:
        self.k = k
        self.B = B
        self.C = C
        self.loss = loss
        self.family = family
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.memory = memory
        self.tol = tol
        self.inner_tol = inner_tol
        self.max_iter = max_iter
        self.refit = refit
        self.solver = solver
        self.n_jobs = n_jobs
