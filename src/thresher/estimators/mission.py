"""MISSION and its baselines for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from thresher.core.memory import DEFAULT_MEMORY
from thresher.estimators.online import OnlineClassifier, OnlineRegressor


class MissionClassifier(OnlineClassifier):
    """Classify with the k most important of any number of features.

    MISSION [1]_ keeps the k strongest features in a table and all others in a count-sketch, which accumulates weak
    gradients. Memory is bounded and planned before the first row, whatever the number of features. The result is that
    of `thresher.select`, to the bit.

    Parameters
    ----------
    k : int or "auto"
        The number of features to keep; fewer if fewer are found. ``auto``: the fewest, up to ``k_max``, whose
        loss on held-out rows is within one standard error of the least, see `thresher.choose_k`.
    k_max : int, optional
        The most features that ``k="auto"`` may choose. Default: 10,000, or fewer in little memory or of few columns.
    method : {"mission", "iht", "batch-iht", "hashing"}
        MISSION or a baseline: ``iht`` has weights of the k kept features only, ``batch-iht`` the same on large
        mini-batches, and ``hashing`` learns a weight per cell and selects nothing.
    loss : {"logistic", "softmax", "hinge", "squared_hinge"}
        For more than two classes ``logistic`` becomes ``softmax``.
    memory : str or int
        The most memory the fit may use, planned before the first row.
    sketch : (rows, width), optional
        The shape of the sketch. Default: as large as ``memory`` allows.
    active : {"exact", "sketch"}
        The weights in the table: exact, or the estimates of the sketch, as in the paper.
    step : "auto", float, "adaptive:RATE" or "RATE/sqrt"
        The step size. ``auto`` adapts to every feature.
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
    minibatch : int
        The number of rows whose gradients are averaged before a step.
    shuffle : "auto" or bool
        Shuffle the rows in `fit`: data in memory completely, files in blocks and through a bounded buffer.
        `partial_fit` does not shuffle.
    interactions : {1, 2, 3} or list of tuples
        2: add products of two features of a row; 3: also of three; tuples: only products of these groups.
    random_state : int, RandomState or None
        The random seed; None is 0. The same data, settings and seed give the same result to the bit.
    fit_intercept : bool
        Learn an intercept.
    l2 : float
        Every step first multiplies all weights by 1 - step * l2.
    decay : float
        Every step multiplies the weights of the features that are not kept by this.
    lazy : float
        The share by which a candidate must exceed the weakest kept feature to replace it. 0 is exact.
    workers : int
        Workers that share the rows and learn side by side; their models are averaged in rounds. The result depends on
        their number. ``memory`` is for each of them. Data of few rows gets fewer workers, unless ``sync`` is set.
    sync : int, optional
        The rows that each worker learns between two rounds. Default: from 512 on, a sixteenth of what it has learned,
        up to 65,536.
    cluster : str, optional
        Where workers run: None, threads of this process; ``"ray"``, a Ray that is running or is started here; or the
        address of a Ray cluster. The result does not depend on it.
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
        The selected features: names, keys, weights and error bounds. It, ``coef_``, `transform` and
        `get_feature_names_out` have the same order: by |weight| (the norm across classes), largest first, ties by key.
    coef_ : array of shape (1, k), or (n_classes, k)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
        The number of columns, if it is known.
    feature_names_in_ : array of str
        The names of the columns, if the data is a DataFrame.

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

    _multiclass_losses: ClassVar[Mapping[str, str]] = {"logistic": "softmax"}
    _regressor: ClassVar[str] = "MissionRegressor"

    def __init__(
        self,
        k: int | str = 1000,
        *,
        k_max: int | None = None,
        method: str = "mission",
        loss: str = "logistic",
        memory: str | int = DEFAULT_MEMORY,
        sketch: tuple[int, int] | None = None,
        active: str = "exact",
        step: str | float = "auto",
        passes: int | str = "auto",
        refit: bool | str = "auto",
        standardize: bool | str = "auto",
        minibatch: int = 1,
        shuffle: str | bool = "auto",
        interactions: int | Sequence[Sequence[str | int]] = 1,
        random_state: Any = None,
        fit_intercept: bool = True,
        l2: float = 0.0,
        decay: float = 1.0,
        lazy: float = 0.0,
        workers: int = 1,
        sync: int | None = None,
        cluster: str | None = None,
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
        self.memory = memory
        self.sketch = sketch
        self.active = active
        self.step = step
        self.passes = passes
        self.refit = refit
        self.standardize = standardize
        self.minibatch = minibatch
        self.shuffle = shuffle
        self.interactions = interactions
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.l2 = l2
        self.decay = decay
        self.lazy = lazy
        self.workers = workers
        self.sync = sync
        self.cluster = cluster
        self.per_class = per_class
        self.class_weight = class_weight
        self.calibrate = calibrate
        self._set_trust(
            *(fdr, splits, stand_ins, collapse, stability, expected_false, permutations, decoys, keep, drop),
            verbose=verbose,
        )


class MissionRegressor(OnlineRegressor):
    """Predict a number with the k most important of any number of features.

    MISSION [1]_ keeps the k strongest features in a table and all others in a count-sketch, which accumulates weak
    gradients. The result is that of `thresher.select`, to the bit.

    Parameters
    ----------
    k : int or "auto"
        The number of features to keep; fewer if fewer are found. ``auto``: the fewest, up to ``k_max``, whose
        loss on held-out rows is within one standard error of the least, see `thresher.choose_k`.
    k_max : int, optional
        The most features that ``k="auto"`` may choose. Default: 10,000, or fewer in little memory or of few columns.
    loss : str
        ``squared``, or ``huber:delta``, which is robust to outliers.
    method, memory, sketch, active, step, passes, refit, standardize, minibatch, shuffle, interactions, random_state, \
fit_intercept, l2, decay, lazy, workers, sync, cluster
        As for `MissionClassifier`.
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
        The selected features: names, keys, weights and error bounds. It, ``coef_``, `transform` and
        `get_feature_names_out` have the same order: by |weight|, largest first, ties by key.
    coef_ : array of shape (k,)
    intercept_ : float
    n_features_in_ : int
        The number of columns, if it is known.
    feature_names_in_ : array of str
        The names of the columns, if the data is a DataFrame.

    References
    ----------
    .. [1] A. Aghazadeh, R. Spring, D. LeJeune, G. Dasarathy, A. Shrivastava, R. Baraniuk, "MISSION: Ultra
       Large-Scale Feature Selection using Count-Sketches", ICML 2018.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 50))
    >>> y = 3 * X[:, 7] - 2 * X[:, 31] + rng.normal(size=2000)
    >>> model = th.MissionRegressor(k=2).fit(X, y)
    >>> list(model.get_feature_names_out()), model.score(X, y) > 0.85
    (['x7', 'x31'], True)
    """

    def __init__(
        self,
        k: int | str = 1000,
        *,
        k_max: int | None = None,
        method: str = "mission",
        loss: str = "squared",
        memory: str | int = DEFAULT_MEMORY,
        sketch: tuple[int, int] | None = None,
        active: str = "exact",
        step: str | float = "auto",
        passes: int | str = "auto",
        refit: bool | str = "auto",
        standardize: bool | str = "auto",
        minibatch: int = 1,
        shuffle: str | bool = "auto",
        interactions: int | Sequence[Sequence[str | int]] = 1,
        random_state: Any = None,
        fit_intercept: bool = True,
        l2: float = 0.0,
        decay: float = 1.0,
        lazy: float = 0.0,
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
        self.memory = memory
        self.sketch = sketch
        self.active = active
        self.step = step
        self.passes = passes
        self.refit = refit
        self.standardize = standardize
        self.minibatch = minibatch
        self.shuffle = shuffle
        self.interactions = interactions
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.l2 = l2
        self.decay = decay
        self.lazy = lazy
        self.workers = workers
        self.sync = sync
        self.cluster = cluster
        self._set_trust(
            *(fdr, splits, stand_ins, collapse, stability, expected_false, permutations, decoys, keep, drop),
            verbose=verbose,
        )
