"""Sparse Random Features for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from thresher.errors import SettingsError
from thresher.estimators.batch import BatchClassifier, BatchRegressor, WorkingSetEstimator
from thresher.estimators.inputs import checked_rows
from thresher.sources.registry import is_stored


class SparseRFEstimator(WorkingSetEstimator):
    """What both estimators share: features that are functions of the columns."""

    _method: ClassVar[str] = "sparse-rf"

    def transform(self, X: Any) -> Any:
        """The values of the functions kept, strongest first: dense from an array or a DataFrame, otherwise sparse."""
        check_is_fitted(self)
        X = checked_rows(self, X)
        values = self.selection_.transform(X)
        if is_stored(X) or hasattr(X, "tocsr"):
            return values
        kept = getattr(X, "dtype", None) == np.float32
        return values.toarray().astype(np.float32 if kept else np.float64, copy=False)

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Raises: the features are functions of all columns, see ``selection_.keys`` for the numbers of their draws."""
        raise SettingsError(
            "the features are functions of the columns, drawn at random: see get_feature_names_out() and "
            "selection_.keys, the numbers of their draws"
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """What the functions are called, strongest first: ``cos(1.2·age - 0.4·bmi + 0.7)``."""
        if input_features is not None:
            super().get_feature_names_out(input_features)  # to have them checked
        return np.array(self.selection_.names, dtype=object)


class SparseRFClassifier(BatchClassifier, SparseRFEstimator):
    """Classify by a few random functions of the columns, in place of a kernel machine [1]_.

    Functions of a kernel are drawn at random, some at a time; a small l1 problem says which of them are worth their
    weight, and the others leave. What is left is a kernel machine with a few hundred basis functions, whatever the
    number of rows. Columns are taken as they are: scale them first.

    Parameters
    ----------
    k : int, optional
        At most so many functions: ``lam`` rises until no more are kept.
    kernel : str or RandomFeatures
        ``gaussian`` exp(-γ‖x - y‖²), ``laplacian`` exp(-γ‖x - y‖₁) (``binning``: the same by random binning),
        ``perceptron``, ``matern:1.5``, ``arc-cosine``, ``maclaurin`` exp(γ x'y), ``polynomial:2`` (1 + γ x'y)²; or
        functions of your own.
    gamma : float or "scale"
        The width of the kernel; ``scale`` is one over the number of inputs times their mean variance.
    lam : float or sequence of floats
        What a weight pays, against the sum of the losses (the paper's λ_N). Several are tried from the largest on,
        and the validation given to `fit` picks one.
    draws, rounds : int
        Functions drawn at a time, and how often.
    loss : {"squared_hinge", "logistic"}
        The squared hinge is max(0, 1 - ym)², without a half. More than two classes are learned each against the rest.
    fit_intercept : bool
        Learn an intercept.
    q : int, optional
        A function looks at so many columns only, chosen at random: for many columns.
    tol : float
        How exactly each problem is solved: its objective is within this share of the least.
    per_class : bool
        With several classes, k functions for each rather than k by the norm across all.
    class_weight : dict or "balanced", optional
        Importance of each class.
    memory : str or int, optional
        What the fit may take; unasked as much as it comes to. With less, columns are made again whenever they are
        looked at, and rows of files read again: slower, and the same answer.
    n_jobs : int
        Threads; -1: one for each core. The answer does not depend on it.
    random_state : int, RandomState or None
        With it the functions are drawn. None is 0.

    Attributes
    ----------
    selection_ : Selection
        The functions kept: readable names, the numbers of their draws as keys, weights. It, ``coef_``, `transform`
        and `get_feature_names_out` share one order: by |weight| (its norm across classes), the strongest first.
    coef_ : array of shape (1, k), or (n_classes, k)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    path_ : list of dict
        What each iteration came to.

    References
    ----------
    .. [1] I. E. H. Yen, T.-W. Lin, S.-D. Lin, P. Ravikumar, I. S. Dhillon, "Sparse Random Features Algorithm as
       Coordinate Descent in Hilbert Space", NIPS 2014.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(2000, 2))
    >>> y = (X**2).sum(axis=1) < 0.6
    >>> model = th.SparseRFClassifier(k=30, gamma=1.0).fit(X, y)
    >>> len(model.selection_) <= 30, model.score(X, y) > 0.97
    (True, True)
    """

    def __init__(
        self,
        k: int | None = None,
        *,
        kernel: Any = "gaussian",
        gamma: float | str = 1.0,
        lam: float | Sequence[float] = 1.0,
        draws: int = 100,
        max_iter: int = 20,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        q: int | None = None,
        tol: float = 1e-4,
        per_class: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        memory: str | int | None = None,
        n_jobs: int = -1,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.kernel = kernel
        self.gamma = gamma
        self.lam = lam
        self.draws = draws
        self.max_iter = max_iter
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.q = q
        self.tol = tol
        self.per_class = per_class
        self.class_weight = class_weight
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state


class SparseRFRegressor(BatchRegressor, SparseRFEstimator):
    """Predict a number by a few random functions of the columns [1]_, with the squared loss ½(m - y)².

    Parameters
    ----------
    k, kernel, gamma, lam, draws, rounds, shift, q, tol, memory, threads, random_state
        As for `SparseRFClassifier`.

    Attributes
    ----------
    selection_ : Selection
    coef_ : array of shape (k,)
    intercept_ : float
    path_ : list of dict

    References
    ----------
    .. [1] I. E. H. Yen, T.-W. Lin, S.-D. Lin, P. Ravikumar, I. S. Dhillon, "Sparse Random Features Algorithm as
       Coordinate Descent in Hilbert Space", NIPS 2014.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(2000, 2))
    >>> y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=2000)
    >>> model = th.SparseRFRegressor(k=40).fit(X, y)
    >>> len(model.selection_) <= 40, model.score(X, y) > 0.9
    (True, True)
    """

    def __init__(
        self,
        k: int | None = None,
        *,
        kernel: Any = "gaussian",
        gamma: float | str = 1.0,
        lam: float | Sequence[float] = 1.0,
        draws: int = 100,
        max_iter: int = 20,
        loss: str = "squared",
        fit_intercept: bool = True,
        q: int | None = None,
        tol: float = 1e-4,
        memory: str | int | None = None,
        n_jobs: int = -1,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.kernel = kernel
        self.gamma = gamma
        self.lam = lam
        self.draws = draws
        self.max_iter = max_iter
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.q = q
        self.tol = tol
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
