"""The budgeted methods for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from thresher.estimators.online import OnlineClassifier, OnlineRegressor
from thresher.online.dual_state import History


class HistoryMixin:
    """The history of the features kept."""

    _fitted: Any

    @property
    def history_(self) -> History:
        """The features kept over time; with ``fdr`` or ``stability``, which fit several times, there is none."""
        if not hasattr(self._fitted, "engine"):
            raise AttributeError("a fit with `fdr` or `stability` consists of several: it has no history of its own")
        history: History = self._fitted.engine.history
        return history


class BudgetedClassifier(HistoryMixin, OnlineClassifier):
    """Classify with at most k weights at any time of the stream.

    The model learns row by row. A feature is replaced when another one has more evidence. More than two classes are
    learned one vs. rest.

    Parameters
    ----------
    k : int or "auto"
        The most features with a weight at any time. ``auto``: the fewest, up to ``k_max``, whose
        loss on held-out rows is within one standard error of the least, see `thresher.choose_k`.
    k_max : int, optional
        The most features that ``k="auto"`` may choose. Default: 10,000, or fewer in little memory or of few columns.
    method : {"b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"}
        B-ARDA and B-AMD [1]_; the baselines OFS and SOFS; l1-ARDA and Ada-Fobos, which select the ``k`` largest weights
        only at the end, and hold as many as ``lam`` leaves before.
    loss : {"squared_hinge", "hinge", "logistic", "softmax"}
        For more than two classes ``logistic`` becomes ``softmax``, and the hinge losses become one vs. rest.
    eta : float, optional
        The step size. Default: from the scale of the data.
    lam : float, optional
        The penalty: l1 for ``l1-arda`` and ``ada-fobos`` (default: found by tuning), l2 for the others (default: 0).
    delta : float
        Added to the square root of every sum of squared gradients.
    memory : str or int, optional
        The most memory the fit may use. These methods hold the sums of every feature seen; without ``memory`` they may
        grow without limit.
    sketch : (1, width), optional
        For ``b-arda``: hold the features that are not kept in a sketch of this width, so that memory does not grow.
        The result is approximate.
    passes : "auto" or int
        Passes over the data in `fit`. ``auto``: as many as lower the loss on held-out rows, up to 20; one for large
        data.
    refit : "auto" or bool
        Fit the selected features once more at the end of `fit`, with an l2 penalty that held-out rows choose.
        ``auto``: use the refit unless it is clearly worse on these rows.
    standardize : "auto" or bool
        Learn numeric columns of arrays and data frames in units of their own, so that it does not matter what they are
        measured in; ``coef_`` is in the unit of the data. Sparse features are divided by a power of two, by default if
        their scales differ by orders of magnitude. ``auto``: in `fit`, not in `partial_fit`; if True, the
        units of numeric columns follow the rows of `partial_fit`.
    tune : bool
        Tune ``eta`` and ``lam`` by successive halving on the same rows.
    shuffle : "auto" or bool
        Shuffle the rows in `fit`. `partial_fit` does not shuffle.
    random_state : int, RandomState or None
        The random seed; None is 0.
    fit_intercept : bool
        Learn an intercept.
    truncation : {"adaptive", "naive"}
        For ``b-arda`` and ``b-amd``: rank features by weight and evidence, as in the paper, or by |weight| alone.
    groups : Groups, sequence, array, path or "source", optional
        For ``b-arda`` and ``b-amd``: select whole groups of features; ``k`` is then the number of groups. See
        `thresher.online.settings.OnlineSettings`.
    keep_names : bool
        Keep the names of all features seen. Otherwise missing names are read from the data at the end.
    workers : int
        For ``b-arda`` with ``lam=0``: workers that share the rows and learn side by side; their sums are averaged in
        rounds. The result depends on their number. Data of few rows gets fewer workers, unless ``sync`` is set.
    sync : int, optional
        The rows that each worker learns between two rounds. Default: from 512 on, a sixteenth of what it has learned,
        up to 65,536.
    cluster : str, optional
        Where workers run: None, threads of this process; ``"ray"``, a Ray that is running or is started here; or the
        address of a Ray cluster. The result does not depend on it.
    refit_intercept : bool, optional
        For two classes: refit the intercept in one more pass in `fit`. Default: with several ``passes`` and
        ``refit=False``.
    per_class : bool
        With several classes, k features for each rather than k by the norm across all.
    class_weight : dict or "balanced", optional
        The weight of each class. ``balanced`` requires all labels, so `partial_fit` does not accept it.
    calibrate : bool
        Calibrate the probabilities, see `thresher.selection.calibration`. It changes nothing else.
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
        The selected features: names, keys and weights, largest weight first.
    history_ : History
        The features kept at up to 64 moments.
    coef_ : array of shape (1, k), or (n_classes, k)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)

    References
    ----------
    .. [1] T. Zhai, H. Wang, F. Koriche, Y. Gao, "Online Feature Selection by Adaptive Sub-gradient Methods", ECML
       PKDD 2018.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 50))
    >>> y = np.where(X[:, 7] - X[:, 31] > 0, "yes", "no")
    >>> model = th.BudgetedClassifier(k=2).fit(X, y)
    >>> sorted(model.get_feature_names_out()), model.score(X, y) > 0.95
    (['x31', 'x7'], True)
    """

    _regressor: ClassVar[str] = "BudgetedRegressor"
    _multiclass_losses: ClassVar[Mapping[str, str]] = {
        "logistic": "softmax",
        "hinge": "rest:hinge",
        "squared_hinge": "rest:squared_hinge",
    }

    def __init__(
        self,
        k: int | str = 100,
        *,
        k_max: int | None = None,
        method: str = "b-arda",
        loss: str = "squared_hinge",
        eta: float | None = None,
        lam: float | None = None,
        delta: float = 1e-2,
        memory: str | int | None = None,
        sketch: tuple[int, int] | None = None,
        passes: int | str = "auto",
        refit: bool | str = "auto",
        standardize: bool | str = "auto",
        tune: bool = False,
        shuffle: str | bool = "auto",
        random_state: Any = None,
        fit_intercept: bool = True,
        truncation: str = "adaptive",
        groups: Any = None,
        keep_names: bool = True,
        workers: int = 1,
        sync: int | None = None,
        cluster: str | None = None,
        refit_intercept: bool | None = None,
        per_class: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        calibrate: bool = True,
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
        self.method = method
        self.loss = loss
        self.eta = eta
        self.lam = lam
        self.delta = delta
        self.memory = memory
        self.sketch = sketch
        self.passes = passes
        self.refit = refit
        self.standardize = standardize
        self.tune = tune
        self.shuffle = shuffle
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.truncation = truncation
        self.groups = groups
        self.keep_names = keep_names
        self.workers = workers
        self.sync = sync
        self.cluster = cluster
        self.refit_intercept = refit_intercept
        self.per_class = per_class
        self.class_weight = class_weight
        self.calibrate = calibrate
        self._set_trust(
            *(fdr, splits, stand_ins, collapse, stability, expected_false, permutations, decoys, keep, drop),
            verbose=verbose,
        )


class BudgetedRegressor(HistoryMixin, OnlineRegressor):
    """Predict a number with at most k weights at any time of the stream.

    Parameters
    ----------
    k : int or "auto"
        The most features with a weight at any time. ``auto``: the fewest, up to ``k_max``, whose
        loss on held-out rows is within one standard error of the least, see `thresher.choose_k`.
    k_max : int, optional
        The most features that ``k="auto"`` may choose. Default: 10,000, or fewer in little memory or of few columns.
    method : {"b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"}
        B-ARDA and B-AMD [1]_; the baselines OFS and SOFS; l1-ARDA and Ada-Fobos, which select the ``k`` largest weights
        only at the end, and hold as many as ``lam`` leaves before.
    loss : {"squared", "huber:delta"}
        ``huber`` is robust to outliers.
    eta : float, optional
        The step size. Default: from the scale of the data.
    lam : float, optional
        The penalty: l1 for ``l1-arda`` and ``ada-fobos`` (default: found by tuning), l2 for the others (default: 0).
    delta : float
        Added to the square root of every sum of squared gradients.
    memory : str or int, optional
        The most memory the fit may use. These methods hold the sums of every feature seen; without ``memory`` they may
        grow without limit.
    sketch : (1, width), optional
        For ``b-arda``: hold the features that are not kept in a sketch of this width, so that memory does not grow.
        The result is approximate.
    passes : "auto" or int
        Passes over the data in `fit`. ``auto``: as many as lower the loss on held-out rows, up to 20; one for large
        data.
    refit : "auto" or bool
        Fit the selected features once more at the end of `fit`, with an l2 penalty that held-out rows choose.
        ``auto``: use the refit unless it is clearly worse on these rows.
    standardize : "auto" or bool
        Learn numeric columns of arrays and data frames in units of their own, so that it does not matter what they are
        measured in; ``coef_`` is in the unit of the data. Sparse features are divided by a power of two, by default if
        their scales differ by orders of magnitude. ``auto``: in `fit`, not in `partial_fit`; if True, the
        units of numeric columns follow the rows of `partial_fit`.
    tune : bool
        Tune ``eta`` and ``lam`` by successive halving on the same rows.
    shuffle : "auto" or bool
        Shuffle the rows in `fit`. `partial_fit` does not shuffle.
    random_state : int, RandomState or None
        The random seed; None is 0.
    fit_intercept : bool
        Learn an intercept.
    truncation : {"adaptive", "naive"}
        For ``b-arda`` and ``b-amd``: rank features by weight and evidence, as in the paper, or by |weight| alone.
    groups : Groups, sequence, array, path or "source", optional
        For ``b-arda`` and ``b-amd``: select whole groups of features; ``k`` is then the number of groups. See
        `thresher.online.settings.OnlineSettings`.
    keep_names : bool
        Keep the names of all features seen. Otherwise missing names are read from the data at the end.
    workers : int
        For ``b-arda`` with ``lam=0``: workers that share the rows and learn side by side; their sums are averaged in
        rounds. The result depends on their number. Data of few rows gets fewer workers, unless ``sync`` is set.
    sync : int, optional
        The rows that each worker learns between two rounds. Default: from 512 on, a sixteenth of what it has learned,
        up to 65,536.
    cluster : str, optional
        Where workers run: None, threads of this process; ``"ray"``, a Ray that is running or is started here; or the
        address of a Ray cluster. The result does not depend on it.
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
        The selected features: names, keys and weights, largest weight first.
    history_ : History
        The features kept at up to 64 moments.
    coef_ : array of shape (k,)
    intercept_ : float

    References
    ----------
    .. [1] T. Zhai, H. Wang, F. Koriche, Y. Gao, "Online Feature Selection by Adaptive Sub-gradient Methods", ECML
       PKDD 2018.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 50))
    >>> y = 3 * X[:, 7] - 2 * X[:, 31] + rng.normal(size=2000)
    >>> model = th.BudgetedRegressor(k=2).fit(X, y)
    >>> list(model.get_feature_names_out()), model.score(X, y) > 0.8
    (['x7', 'x31'], True)
    """

    def __init__(
        self,
        k: int | str = 100,
        *,
        k_max: int | None = None,
        method: str = "b-arda",
        loss: str = "squared",
        eta: float | None = None,
        lam: float | None = None,
        delta: float = 1e-2,
        memory: str | int | None = None,
        sketch: tuple[int, int] | None = None,
        passes: int | str = "auto",
        refit: bool | str = "auto",
        standardize: bool | str = "auto",
        tune: bool = False,
        shuffle: str | bool = "auto",
        random_state: Any = None,
        fit_intercept: bool = True,
        truncation: str = "adaptive",
        groups: Any = None,
        keep_names: bool = True,
        workers: int = 1,
        sync: int | None = None,
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
        self.method = method
        self.loss = loss
        self.eta = eta
        self.lam = lam
        self.delta = delta
        self.memory = memory
        self.sketch = sketch
        self.passes = passes
        self.refit = refit
        self.standardize = standardize
        self.tune = tune
        self.shuffle = shuffle
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.truncation = truncation
        self.groups = groups
        self.keep_names = keep_names
        self.workers = workers
        self.sync = sync
        self.cluster = cluster
        self._set_trust(
            *(fdr, splits, stand_ins, collapse, stability, expected_false, permutations, decoys, keep, drop),
            verbose=verbose,
        )
