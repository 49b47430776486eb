"""Sparse Random Features for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from thresher.errors import SettingsError
from thresher.estimators.inputs import checked_rows
from thresher.estimators.working_set import BatchClassifier, BatchRegressor, WorkingSetEstimator
from thresher.sources.dataframes import are_texts
from thresher.sources.registry import is_stored


class SparseRFEstimator(WorkingSetEstimator):
    """The base class of both estimators: the features are functions of the columns."""

    _method: ClassVar[str] = "sparse-rf"

    def transform(self, X: Any) -> Any:
        """Return the values of the selected random features; dense for an array or a DataFrame, otherwise sparse."""
        check_is_fitted(self)
        X = checked_rows(self, X)
        values = self.selection_.transform(X)
        stored = is_stored(X) or are_texts(X) or hasattr(X, "tocsr")
        if stored and self._output_container() == "default":
            return values
        single = getattr(X, "dtype", None) == np.float32
        return values.toarray().astype(np.float32 if single else np.float64, copy=False)

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Raise: the features are not columns. ``selection_.keys`` are the indices of the random features."""
        raise SettingsError(
            "the features are random functions of the columns: call get_feature_names_out(), or see selection_.keys, "
            "the indices of the random features"
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the formulas of the random features, strongest first: ``cos(1.2·age - 0.4·bmi + 0.7)``."""
        if input_features is not None:
            super().get_feature_names_out(input_features)  # checks them
        return np.array(self.selection_.names, dtype=object)


class SparseRFClassifier(BatchClassifier, SparseRFEstimator):
    """Classify with a few random features of a kernel, instead of a kernel machine [1]_.

    Every iteration draws random features of the kernel, solves a small l1 problem on them and those kept so far, and
    drops the features of weight 0. The result approximates a kernel machine with a few hundred basis functions,
    whatever the number of rows. By default columns are scaled inside, and held-out rows choose the width of the kernel,
    the penalty and the number of features.

    Parameters
    ----------
    k : int, optional
        The most random features to keep: ``lam`` is raised until no more are left. Default: no limit; with
        ``lam="auto"`` an eighth of the rows, but 100 to 500, with several classes 1000.
    kernel : str or RandomFeatures
        ``gaussian`` exp(-γ‖x - y‖²), ``laplacian`` exp(-γ‖x - y‖₁) (``binning``: the same by random binning),
        ``perceptron``, ``matern:1.5``, ``arc-cosine``, ``maclaurin`` exp(γ x'y), ``polynomial:2`` (1 + γ x'y)²; or
        user-defined random features.
    gamma : float, "auto" or "scale"
        The width of the kernel; ``scale`` is 1 / (number of inputs × their mean variance), and ``auto`` a multiple of
        it that held-out rows choose.
    scale : {"auto", "std", "log"}, optional
        ``std`` divides every column by its standard deviation; ``log`` does so, and puts heavy-tailed columns on a
        logarithmic scale. ``auto``: with ``gamma="auto"`` held-out rows choose. None: columns as they are. Names and
        predictions are in the units of the data.
    lam : float, sequence of floats or "auto"
        The l1 penalty, against the sum of the losses (the paper's λ_N). Several values are a path from the largest to
        the smallest; `fit` selects the one with the best validation score. ``auto``: held-out rows choose it and the
        number of features, and weights come from an l2 fit to all rows.
    draws : int, optional
        The number of random features that an iteration proposes. Default: 100; 200 with ``lam="auto"``.
    max_iter : int, optional
        Iterations for each ``lam``. Default: 20; 1 with ``lam="auto"``.
    loss : {"squared_hinge", "logistic"}
        The squared hinge is max(0, 1 - ym)², without a factor 1/2. More than two classes are learned one vs. rest.
    fit_intercept : bool
        Learn an intercept.
    q : int, optional
        The number of inputs of each random feature, chosen at random. Default: all columns.
    tol : float
        The relative duality gap at which a subproblem is solved.
    per_class : bool
        With several classes, k random features for each rather than k by the norm across all.
    class_weight : dict or "balanced", optional
        The weight of each class.
    calibrate : bool
        Calibrate the probabilities, see `thresher.selection.calibration`. It changes nothing else.
    memory : str or int, optional
        The most memory the fit may use. Default: no limit. If the random features do not fit, their columns are
        computed again in every pass, and files are read again: slower, with the same result.
    n_jobs : int
        The number of threads; -1: all cores. The result does not depend on it.
    workers : int
        Workers that share the rows, and compute the random features at them. ``memory`` is for each of them. The
        result does not depend on their number.
    cluster : str, optional
        Where workers run: None, threads of this process; ``"ray"``, a Ray that is running or is started here; or the
        address of a Ray cluster.
    random_state : int, RandomState or None
        The seed of the random features; None is 0.
    verbose : int
        1: show the progress of `fit`, as a line in a notebook or on standard error. 0: nothing.
    drop : list of str, optional
        Features that the fit never sees: names, columns, patterns such as ``"user_*"``, see `thresher.select`.

    Attributes
    ----------
    selection_ : Selection
        The selected random features: formulas as names, indices as keys, and weights. It, ``coef_``, `transform` and
        `get_feature_names_out` have the same order: by |weight| (the norm across classes), largest first.
    coef_ : array of shape (1, k), or (n_classes, k)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    path_ : list of dict
        The features, objective and bound after each iteration.

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
    >>> model = th.SparseRFClassifier(k=30).fit(X, y)
    >>> len(model.selection_) <= 30, model.score(X, y) > 0.97
    (True, True)
    """

    def __init__(
        self,
        k: int | None = None,
        *,
        kernel: Any = "gaussian",
        gamma: float | str = "auto",
        scale: str | None = "auto",
        lam: float | str | Sequence[float] = "auto",
        draws: int | None = None,
        max_iter: int | None = None,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        q: int | None = None,
        tol: float = 1e-4,
        per_class: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        calibrate: bool = True,
        memory: str | int | None = None,
        n_jobs: int = -1,
        workers: int = 1,
        cluster: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
        drop: Sequence[str | int] | str | None = None,
    ) -> None:
        self.k = k
        self.kernel = kernel
        self.gamma = gamma
        self.scale = scale
        self.lam = lam
        self.draws = draws
        self.max_iter = max_iter
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.q = q
        self.tol = tol
        self.per_class = per_class
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.memory = memory
        self.n_jobs = n_jobs
        self.workers = workers
        self.cluster = cluster
        self.random_state = random_state
        self.verbose = verbose
        self.drop = drop


class SparseRFRegressor(BatchRegressor, SparseRFEstimator):
    """Predict a number with a few random features of a kernel [1]_.

    Parameters
    ----------
    k, kernel, gamma, scale, lam, draws, max_iter, fit_intercept, q, tol, memory, n_jobs, workers, cluster, \
random_state, verbose, drop
        As for `SparseRFClassifier`.
    loss : {"squared"}
        The squared loss ½(m - y)².

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
        gamma: float | str = "auto",
        scale: str | None = "auto",
        lam: float | str | Sequence[float] = "auto",
        draws: int | None = None,
        max_iter: int | None = None,
        loss: str = "squared",
        fit_intercept: bool = True,
        q: int | None = None,
        tol: float = 1e-4,
        memory: str | int | None = None,
        n_jobs: int = -1,
        workers: int = 1,
        cluster: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
        drop: Sequence[str | int] | str | None = None,
    ) -> None:
        self.k = k
        self.kernel = kernel
        self.gamma = gamma
        self.scale = scale
        self.lam = lam
        self.draws = draws
        self.max_iter = max_iter
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.q = q
        self.tol = tol
        self.memory = memory
        self.n_jobs = n_jobs
        self.workers = workers
        self.cluster = cluster
        self.random_state = random_state
        self.verbose = verbose
        self.drop = drop
