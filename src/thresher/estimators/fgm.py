"""The Feature Generating Machine for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from thresher.estimators.working_set import BatchClassifier, BatchRegressor, WorkingSetEstimator


class FGMEstimator(WorkingSetEstimator):
    """The base class of both estimators."""

    _method: ClassVar[str] = "fgm"


class FGMClassifier(BatchClassifier, FGMEstimator):
    """Classify with at most k features, selected by the Feature Generating Machine [1]_.

    Every iteration proposes the B features that violate the optimality conditions most, over all columns, and solves a
    small problem on all features proposed so far. Unlike an online method it is exact, and takes seconds for millions
    of columns. Columns that do not fit into ``memory`` are read again in every iteration.

    Parameters
    ----------
    k : int or "auto"
        The number of features to select, or of groups if the family has groups; fewer if fewer are found.
        ``auto``: the fewest, up to ``k_max``, whose loss on held-out rows is within one standard error of the least,
        see `thresher.choose_k`; for columns only.
    k_max : int, optional
        The most features that ``k="auto"`` may choose. Default: 1000, or fewer in little memory or of few columns.
    B : int, optional
        The number of features that an iteration proposes. Default: a tenth of ``k``.
    C : "auto" or float
        The weight of the loss. ``auto``: held-out rows choose it, with ``scale`` and ``refit``, if the family is
        linear, the columns are in memory and the rows 100 to 20,000; otherwise, 10. Then all rows are fitted.
    loss : {"squared_hinge", "logistic"}
        More than two classes are learned one vs. rest.
    family : str or family
        The features to select from: ``"linear"``, the columns; ``"polynomial:2"``, ``"hik:100"``, ``"additive:chi2"``
        and others by name; or one of `thresher.Columns`, `Groups`, `Tree`, `Polynomial`, `HIK`, `Additive`,
        `Spectrum`, `Product`, `Union`.
    scale : {"auto", "norm", "root", None}
        ``norm``: scale all columns to the same norm, which finds rare features too. None: do not scale, as in the
        paper. ``root``: in between. ``auto``: ``norm``, unless ``root`` is better by two standard errors.
    fit_intercept : bool
        Learn an intercept.
    memory : str or int, optional
        The most memory the fit may use, planned before the first row. Default: no limit.
    tol : float
        Stop when an iteration lowers the objective by at most this share of its initial value. 0: stop at ``k``
        features.
    inner_tol : float
        The tolerance of each subproblem.
    max_iter : int, optional
        The most iterations. Default: no limit.
    refit : "auto", bool, float or str
        Refit the selected features with an l2 penalty only, to remove bias; a number is the C of the refit,
        ``"l2:0.001"`` a logistic (or squared) loss with that penalty. ``auto``: the latter, if it is better.
    solver : {"apg", "mkl"}
        ``mkl`` is a slow dual solver, for a few hundred rows.
    per_class : bool
        With several classes, k features for each rather than k by the norm across all.
    repeat : bool, optional
        Let iterations propose features again, as the paper does. Default: only if C, scale and refit are set.
    preset : {"paper", "fixed"}, optional
        What ``auto`` stands for instead: ``paper`` is ``C=10, scale=None, refit=False``, ``fixed`` is ``C=10,
        scale="norm", refit=False``.
    class_weight : dict or "balanced", optional
        The weight of each class.
    calibrate : bool
        Calibrate the probabilities, see `thresher.selection.calibration`. It changes nothing else.
    n_jobs : int
        The number of threads; -1: all cores. The result does not depend on it.
    workers : int
        Workers that share the columns, each those of a range of hashed keys. ``memory`` is for each of them. The result
        does not depend on their number. A dense matrix gets one, since it is in memory already.
    cluster : str, optional
        Where workers run: None, threads of this process; ``"ray"``, a Ray that is running or is started here; or the
        address of a Ray cluster.
    fdr : float, optional
        Keep only features of which at most this share is expected to be false: one half of the rows gives ``k``
        candidates, and both must agree on them, see `thresher.select`. ``selection_.q_values`` has the q-values.
    splits : int, optional
        With ``fdr``, the number of times that the rows are divided into halves.
    verbose : int
        1: show the progress of `fit`, as a line in a notebook or on standard error. 0: nothing.
    stand_ins : bool or float
        After the fit, find the columns that are nearly the same as a selected feature, see `thresher.select`.
    collapse : bool
        With ``stand_ins``, keep only the strongest of features that are stand-ins of each other.
    stability : int, optional
        Measure how often each feature is selected: two fits for each of so many divisions of the rows into halves, see
        `thresher.select`. ``selection_.frequencies`` has the shares.
    expected_false : float, optional
        With ``stability``, the expected number of false features that sets the threshold; default 1.
    permutations : int, optional
        Repeat the fit so many times with labels drawn by chance, see ``selection_.provenance["chance"]``.
    decoys : int, optional
        Repeat the fit so many times with a decoy beside each feature, see ``selection_.provenance["decoys"]``.
    keep : list of str, optional
        Features that are in the answer whatever their weights are; ``k`` counts them, see `thresher.select`.
    drop : list of str, optional
        Features that the fit never sees: names, columns, patterns such as ``"user_*"``, see `thresher.select`.

    Attributes
    ----------
    selection_ : Selection
        The selected features: names, keys and weights. It, ``coef_``, `transform` and `get_feature_names_out` have the
        same order: by |weight| (the norm across classes), largest first, ties by key.
    coef_ : array of shape (1, k), or (n_classes, k)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    path_ : list of dict
        The features, objective and bound after each iteration.

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
        k: int | str = 100,
        *,
        k_max: int | None = None,
        B: int | None = None,
        C: float | str = "auto",
        loss: str = "squared_hinge",
        family: Any = "linear",
        scale: str | None = "auto",
        fit_intercept: bool = True,
        memory: str | int | None = None,
        tol: float = 0.0,
        inner_tol: float = 1e-3,
        max_iter: int | None = None,
        refit: bool | float | str = "auto",
        solver: str = "apg",
        per_class: bool = False,
        repeat: bool | None = None,
        preset: str | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        calibrate: bool = True,
        n_jobs: int = -1,
        workers: int = 1,
        cluster: str | None = None,
        fdr: float | None = None,
        splits: int | None = None,
        verbose: int = 0,
        stand_ins: bool | float = False,
        collapse: bool = False,
        stability: int | None = None,
        expected_false: float | None = None,
        permutations: int | None = None,
        decoys: int | None = None,
        keep: Sequence[str | int] | str | None = None,
        drop: Sequence[str | int] | str | None = None,
    ) -> None:
        self.k = k
        self.k_max = k_max
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
        self.repeat = repeat
        self.preset = preset
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.workers = workers
        self.cluster = cluster
        self._set_trust(
            *(fdr, splits, stand_ins, collapse, stability, expected_false, permutations, decoys, keep, drop),
            verbose=verbose,
        )


class FGMRegressor(BatchRegressor, FGMEstimator):
    """Predict a number with at most k features, selected by the Feature Generating Machine [1]_.

    Parameters
    ----------
    k, k_max, B, C, family, scale, fit_intercept, memory, tol, inner_tol, max_iter, refit, solver, repeat, preset, \
n_jobs, workers, cluster
        As for `FGMClassifier`.
    loss : {"squared"}
        The squared loss.
    fdr : float, optional
        Keep only features of which at most this share is expected to be false: one half of the rows gives ``k``
        candidates, and both must agree on them, see `thresher.select`. ``selection_.q_values`` has the q-values.
    splits : int, optional
        With ``fdr``, the number of times that the rows are divided into halves.
    verbose : int
        1: show the progress of `fit`, as a line in a notebook or on standard error. 0: nothing.
    stand_ins : bool or float
        After the fit, find the columns that are nearly the same as a selected feature, see `thresher.select`.
    collapse : bool
        With ``stand_ins``, keep only the strongest of features that are stand-ins of each other.
    stability : int, optional
        Measure how often each feature is selected: two fits for each of so many divisions of the rows into halves, see
        `thresher.select`. ``selection_.frequencies`` has the shares.
    expected_false : float, optional
        With ``stability``, the expected number of false features that sets the threshold; default 1.
    permutations : int, optional
        Repeat the fit so many times with labels drawn by chance, see ``selection_.provenance["chance"]``.
    decoys : int, optional
        Repeat the fit so many times with a decoy beside each feature, see ``selection_.provenance["decoys"]``.
    keep : list of str, optional
        Features that are in the answer whatever their weights are; ``k`` counts them, see `thresher.select`.
    drop : list of str, optional
        Features that the fit never sees: names, columns, patterns such as ``"user_*"``, see `thresher.select`.

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
        k: int | str = 100,
        *,
        k_max: int | None = None,
        B: int | None = None,
        C: float | str = "auto",
        loss: str = "squared",
        family: Any = "linear",
        scale: str | None = "auto",
        fit_intercept: bool = True,
        memory: str | int | None = None,
        tol: float = 0.0,
        inner_tol: float = 1e-3,
        max_iter: int | None = None,
        refit: bool | float | str = "auto",
        solver: str = "apg",
        repeat: bool | None = None,
        preset: str | None = None,
        n_jobs: int = -1,
        workers: int = 1,
        cluster: str | None = None,
        fdr: float | None = None,
        splits: int | None = None,
        verbose: int = 0,
        stand_ins: bool | float = False,
        collapse: bool = False,
        stability: int | None = None,
        expected_false: float | None = None,
        permutations: int | None = None,
        decoys: int | None = None,
        keep: Sequence[str | int] | str | None = None,
        drop: Sequence[str | int] | str | None = None,
    ) -> None:
        self.k = k
        self.k_max = k_max
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
        self.repeat = repeat
        self.preset = preset
        self.n_jobs = n_jobs
        self.workers = workers
        self.cluster = cluster
        self._set_trust(
            *(fdr, splits, stand_ins, collapse, stability, expected_false, permutations, decoys, keep, drop),
            verbose=verbose,
        )
