"""Online Substitution and its baselines for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_array

from thresher.core.interim import Callback
from thresher.errors import DataError
from thresher.estimators.base import FittedRun, SelectingEstimator, Task
from thresher.estimators.locking import locked
from thresher.estimators.working_set import BatchClassifier, BatchRegressor
from thresher.methods import substitution_run
from thresher.run import Run
from thresher.sources.base import Source
from thresher.sources.named_features import NamedFeatures
from thresher.sources.registry import as_source
from thresher.substitution.arriving.feature_stream import FeatureStream, stream_of
from thresher.substitution.run import BrokenStream, SubstitutionRun


class SubstitutionEstimator(SelectingEstimator):
    """The base class of both estimators: streams of features, and partial_fit with further features."""

    _fitted: FittedRun

    @locked
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, callback: Callback | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, SciPy matrix, DataFrame, path, Source or FeatureStream
            The training data, as rows or as a stream of columns.
        y : array-like, optional
            The targets; files and sources contain theirs.
        sample_weight : array-like, optional
            The weight of each row.
        callback : callable, optional
            Called with a `thresher.core.interim.Interim` after every block of features; True ends the fit. See
            `thresher.select`.

        Returns
        -------
        self
        """
        stream = self._wanted(stream_of(X))
        if stream is None:
            super().fit(X, y, sample_weight, callback=callback)
            return self
        self._reset()
        with self._calling(callback):
            self._run_stream(stream, y, sample_weight, self.scans)
        return self

    @locked
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further *features* of the same rows, in one scan.

        Parameters
        ----------
        X : array, SciPy matrix, FeatureStream, or data for one
            The new columns. The columns of a matrix are numbered on from the previous ones.
        y, sample_weight : array-like
            The targets and weights of the rows; required in the first call only.

        Returns
        -------
        self
        """
        run = getattr(self, "_run", None)
        every = stream_of(X) or FeatureStream(check_array(X, accept_sparse="csc"), on_error="skip")
        stream = self._wanted(every, first=run is None)
        assert stream is not None
        if run is None:
            self._reset()
            self._run_stream(stream, y, sample_weight, 1, choose=False)
            return self
        if y is not None and self._digest != _digest(y):
            raise DataError("the targets differ from those of the first call: leave out y, or fit again.")
        run.continue_with(stream)
        self._finish(run, y)
        return self

    def _wanted(self, stream: FeatureStream | None, *, first: bool = True) -> FeatureStream | None:
        """The stream without the features to drop; its run keeps those to keep."""
        params = self.get_params(deep=False)
        self._named = None if stream is None else NamedFeatures.of(params["keep"] if first else None, params["drop"])
        return stream if stream is None or self._named is None else self._named.of_stream(stream, self.k)

    def _run_stream(
        self, stream: FeatureStream, y: Any, sample_weight: Any, scans: int, *, choose: bool = True
    ) -> None:
        self._check_no_fdr("the data is a stream of features")
        y = stream.labels if y is None else y
        if y is None:
            raise DataError("the stream of features has no labels: pass y.")
        y = y if hasattr(y, "tocsr") else np.asarray(y)
        rows = as_source(np.zeros((y.shape[0], 1), np.float32), y, weight=sample_weight)
        task = self._task(rows, y)
        self._run = substitution_run(stream, *self._prepared(task, scans=scans), y, sample_weight, choose=choose)
        self._digest = _digest(y)
        self._finish(self._run, y)

    def _reset(self) -> None:
        for name in ("_run", "_digest", "_fitted", "n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self, name):
                delattr(self, name)

    def _fit(self, source: Source, task: Task, y: Any) -> None:
        if hasattr(self, "_run"):
            del self._run
        self._finish(self._run_of(source, task), y)

    def _finish(self, run: Run, y: Any) -> None:
        try:
            super()._finish(run, y)
        except BrokenStream:
            if run.usable:
                self._keep(run, y)
            raise

    def _keep(self, run: Any, y: Any) -> None:
        if not isinstance(run, SubstitutionRun):  # with error control
            self._fitted = FittedRun(run.selection(), run.source.space)
            return
        self._fitted = FittedRun(run.selection(), run.space)
        if run.source is None and run.space.size is not None:
            self.n_features_in_ = run.space.size

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_run"}  # it holds threads and streams


def _digest(y: Any) -> bytes:
    return (y.toarray() if hasattr(y, "toarray") else np.asarray(y)).astype(str).tobytes()


class SubstitutionClassifier(BatchClassifier, SubstitutionEstimator):
    """Classify with k features selected from a stream of features by Online Substitution [1]_.

    For every new feature, the weights of the kept ones are updated. The new feature replaces the weakest one if its
    weight is larger and the loss does not rise. Memory holds only k columns and a block.

    Parameters
    ----------
    k : int
        The number of features to keep; fewer if fewer arrive.
    method : {"os", "grafting", "grafting-light", "naive-l0", "naive-l1", "alpha-investing"}
        Online Substitution or a baseline. Baselines may hold more than k features until the end.
    loss : {"squared_hinge", "logistic"}
        More than two classes are learned one vs. rest.
    scans : int
        Passes over the features in `fit`.
    eta : float, optional
        The step size, for columns scaled to a mean square of one. Default: ``rate`` times the longest safe step.
    rate : float
        The share of the longest safe step to use if ``eta`` is not set.
    m : float, optional
        Kept features move by ``eta / m``. Default: three times k.
    c : float
        The decrease of the loss required to accept a new feature, from 0 (no increase) to 1.
    check : bool, optional
        Accept a new feature only if the loss does not rise. Default: True, except for Asy-OS.
    arrivals : int or "auto"
        The number of new features that share an update of the kept ones; 1 is the paper's algorithm. ``auto``: k for
        classification, 1 for regression (the square root of k above 500 features).
    shrink : float or "auto"
        The scale of a column with c non-zero values is multiplied by √(c / (c + shrink)), so that a rare column does
        not win by its scaling. ``auto``: chosen on held-out rows in `fit`; `partial_fit`, which cannot know what
        will come, takes 10.
    ridge : float or "auto"
        The l2 penalty while features are selected. ``auto``: chosen on held-out rows in `fit`; 0.5 in `partial_fit`.
    workers : int
        Asy-OS: the number of workers that share the features without waiting for each other. With more than one, the
        result is not deterministic.
    cluster : str, optional
        Where workers run: None, threads of this process; ``"ray"``, a Ray that is running or is started here; or the
        address of a Ray cluster.
    exchange : int, optional
        Asy-OS: the most new features that a worker processes between two exchanges with the central state. Default: 1
        on threads, 8 on Ray.
    staleness : int, optional
        Simulate Asy-OS on one thread: a worker does not see the last ``staleness`` updates of the others.
    refit : "auto", bool or float
        Refit the selected features. ``auto``: with the penalty that held-out rows choose. True: to convergence, nearly
        without penalty; a number is the ridge penalty.
    memory : str or int, optional
        The most memory the fit may use: k columns, and blocks in the rest. Default: no limit.
    order : {"given", "random"}
        The order of the features in every scan.
    lam : float, optional
        The l1 penalty of grafting, grafting-light and naive-l1.
    fit_intercept : bool
        Learn an intercept.
    per_class : bool
        With several classes, k features for each rather than k by the norm across all.
    class_weight : dict or "balanced", optional
        The weight of each class.
    calibrate : bool
        Calibrate the probabilities, see `thresher.selection.calibration`. It changes nothing else.
    n_jobs : int
        The number of threads; -1: all cores. The result does not depend on it.
    random_state : int, RandomState or None
        The seed of a random order; None is 0.
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

    References
    ----------
    .. [1] H. Yang, R. Fujimaki, Y. Kusumura, J. Liu, "Online Feature Selection: A Limited-Memory Substitution
       Algorithm and Its Asynchronous Parallel Variation", KDD 2016.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 50))
    >>> y = np.where(X[:, 7] - X[:, 31] > 0, "yes", "no")
    >>> model = th.SubstitutionClassifier(k=2).fit(X, y)
    >>> sorted(model.get_feature_names_out()), model.score(X, y) > 0.95
    (['x31', 'x7'], True)
    """

    def __init__(
        self,
        k: int = 100,
        *,
        method: str = "os",
        loss: str = "squared_hinge",
        scans: int = 3,
        eta: float | None = None,
        rate: float = 0.95,
        m: float | None = None,
        c: float = 0.0,
        check: bool | None = None,
        arrivals: int | str = "auto",
        shrink: float | str = "auto",
        ridge: float | str = "auto",
        workers: int = 1,
        cluster: str | None = None,
        exchange: int | None = None,
        staleness: int | None = None,
        refit: bool | float | str = "auto",
        memory: str | int | None = None,
        order: str = "given",
        lam: float | None = None,
        fit_intercept: bool = True,
        per_class: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        calibrate: bool = True,
        n_jobs: int = -1,
        random_state: Any = None,
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
        self.method = method
        self.loss = loss
        self.scans = scans
        self.eta = eta
        self.rate = rate
        self.m = m
        self.c = c
        self.check = check
        self.arrivals = arrivals
        self.shrink = shrink
        self.ridge = ridge
        self.workers = workers
        self.cluster = cluster
        self.exchange = exchange
        self.staleness = staleness
        self.refit = refit
        self.memory = memory
        self.order = order
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.per_class = per_class
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state
        self._set_trust(
            *(fdr, splits, stand_ins, collapse, stability, expected_false, permutations, decoys, keep, drop),
            verbose=verbose,
        )


class SubstitutionRegressor(BatchRegressor, SubstitutionEstimator):
    """Predict a number with k features selected from a stream of features by Online Substitution [1]_.

    With the squared loss, a block of features costs one matrix product and no further pass over the rows.

    Parameters
    ----------
    loss : str
        ``squared``; ``huber:delta``, which is robust to outliers; or ``squared_epsilon:delta``, which ignores residuals
        up to delta.
    m : float, optional
        Kept features move by ``eta / m``. Default: the square root of k.
    shrink, ridge : float or "auto"
        As for `SubstitutionClassifier`; ``auto`` is 0.
    k, method, scans, eta, rate, c, check, arrivals, workers, cluster, exchange, staleness, refit, memory, order, lam, \
fit_intercept, n_jobs, random_state
        As for `SubstitutionClassifier`; ``auto`` of ``refit`` is True.
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

    References
    ----------
    .. [1] H. Yang, R. Fujimaki, Y. Kusumura, J. Liu, "Online Feature Selection: A Limited-Memory Substitution
       Algorithm and Its Asynchronous Parallel Variation", KDD 2016.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 50))
    >>> y = 3 * X[:, 7] - 2 * X[:, 31] + rng.normal(size=2000)
    >>> list(th.SubstitutionRegressor(k=2).fit(X, y).get_feature_names_out())
    ['x7', 'x31']
    """

    def __init__(
        self,
        k: int = 100,
        *,
        method: str = "os",
        loss: str = "squared",
        scans: int = 3,
        eta: float | None = None,
        rate: float = 0.95,
        m: float | None = None,
        c: float = 0.0,
        check: bool | None = None,
        arrivals: int | str = "auto",
        shrink: float | str = "auto",
        ridge: float | str = "auto",
        workers: int = 1,
        cluster: str | None = None,
        exchange: int | None = None,
        staleness: int | None = None,
        refit: bool | float | str = "auto",
        memory: str | int | None = None,
        order: str = "given",
        lam: float | None = None,
        fit_intercept: bool = True,
        n_jobs: int = -1,
        random_state: Any = None,
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
        self.method = method
        self.loss = loss
        self.scans = scans
        self.eta = eta
        self.rate = rate
        self.m = m
        self.c = c
        self.check = check
        self.arrivals = arrivals
        self.shrink = shrink
        self.ridge = ridge
        self.workers = workers
        self.cluster = cluster
        self.exchange = exchange
        self.staleness = staleness
        self.refit = refit
        self.memory = memory
        self.order = order
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.random_state = random_state
        self._set_trust(
            *(fdr, splits, stand_ins, collapse, stability, expected_false, permutations, decoys, keep, drop),
            verbose=verbose,
        )
