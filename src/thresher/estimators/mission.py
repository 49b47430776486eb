"""MISSION and its baselines for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from thresher.core.memory import DEFAULT_MEMORY
from thresher.estimators.online import OnlineClassifier, OnlineRegressor


class MissionClassifier(OnlineClassifier):
    """Classify by the k features that matter most, however many there are.

    MISSION [1]_: the k strongest features are kept in a table, all others in a count-sketch, where weak
    gradients add up until they show. Memory is bounded and planned before the first row, whatever the number
    of features. The same as `thresher.select`, to the bit, behind scikit-learn's interface.

    Parameters
    ----------
    k : int
        Features to keep. Fewer are kept where fewer are found.
    method : {"mission", "iht", "batch-iht", "hashing"}
        How to find them: ``iht`` forgets what is not among the k, ``batch-iht`` after gathering many gradients,
        and ``hashing`` learns a weight for every cell and selects nothing.
    loss : {"logistic", "softmax", "hinge", "squared_hinge"}
        More than two classes make ``logistic`` the same as ``softmax``.
    memory : str or int
        What may be held, planned before the first row and kept.
    sketch : (rows, width), optional
        The shape of the sketch, instead of what the memory leaves for it.
    active : {"exact", "sketch"}
        ``exact`` keeps the exact weights of the features in the table; ``sketch`` is the paper's MISSION.
    step : "auto", float, "adaptive:RATE" or "RATE/sqrt"
        The step along each example's gradient. ``auto`` adapts to every feature.
    passes : int
        How often `fit` goes through the data.
    minibatch : int
        Rows whose gradients are averaged before a step is taken.
    shuffle : "auto" or bool
        Mix the rows in `fit`: those in memory all, those of files through a buffer. `partial_fit` never does.
    interactions : {1, 2, 3} or list of tuples
        2: products of two features of a row are features too; 3: also of three; or of chosen groups only.
    random_state : int, RandomState or None
        Where all randomness comes from: the same data, settings and number give the same bits. None is 0.
    fit_intercept : bool
        Learn an intercept.
    l2, decay, lazy : float
        Decay of all weights, decay of those not kept, and by what share a newcomer must beat the weakest.
    per_class : bool
        With several classes, k features for each rather than k by the norm across all.
    class_weight : dict or "balanced", optional
        Importance of each class. `partial_fit` takes no ``balanced``, which needs all labels.

    Attributes
    ----------
    selection_ : Selection
        The features, with names, keys, weights and bounds. It, ``coef_``, `transform` and
        `get_feature_names_out` share one order: by |weight| (its norm across classes), the strongest first,
        ties to the smaller key.
    coef_ : array of shape (1, k), or (n_classes, k)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
        Where the number of columns is known.
    feature_names_in_ : array of str
        Where the data was a DataFrame.

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

    _several: ClassVar[Mapping[str, str]] = {"logistic": "softmax"}
    _regressor: ClassVar[str] = "MissionRegressor"

    def __init__(
        self,
        k: int = 1000,
        *,
        method: str = "mission",
        loss: str = "logistic",
        memory: str | int = DEFAULT_MEMORY,
        sketch: tuple[int, int] | None = None,
        active: str = "exact",
        step: str | float = "auto",
        passes: int = 1,
        minibatch: int = 1,
        shuffle: str | bool = "auto",
        interactions: int | Sequence[Sequence[str | int]] = 1,
        random_state: Any = None,
        fit_intercept: bool = True,
        l2: float = 0.0,
        decay: float = 1.0,
        lazy: float = 0.0,
        per_class: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.k = k
        self.method = method
        self.loss = loss
        self.memory = memory
        self.sketch = sketch
        self.active = active
        self.step = step
        self.passes = passes
        self.minibatch = minibatch
        self.shuffle = shuffle
        self.interactions = interactions
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.l2 = l2
        self.decay = decay
        self.lazy = lazy
        self.per_class = per_class
        self.class_weight = class_weight


class MissionRegressor(OnlineRegressor):
    """Predict a number by the k features that matter most, however many there are.

    MISSION [1]_: the k strongest features are kept in a table, all others in a count-sketch, where weak
    gradients add up until they show. The same as `thresher.select`, to the bit, behind scikit-learn's interface.

    Parameters
    ----------
    k : int
        Features to keep. Fewer are kept where fewer are found.
    loss : str
        ``squared``, or ``huber:delta``, which outliers do not carry away.
    method, memory, sketch, active, step, passes, minibatch, shuffle, interactions, random_state, intercept, l2, \
decay, lazy
        As for `MissionClassifier`.

    Attributes
    ----------
    selection_ : Selection
        The features, with names, keys, weights and bounds. It, ``coef_``, `transform` and
        `get_feature_names_out` share one order: by |weight|, the strongest first, ties to the smaller key.
    coef_ : array of shape (k,)
    intercept_ : float
    n_features_in_ : int
        Where the number of columns is known.
    feature_names_in_ : array of str
        Where the data was a DataFrame.

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
    >>> model = th.MissionRegressor(k=2, passes=3).fit(X, y)
    >>> list(model.get_feature_names_out()), model.score(X, y) > 0.85
    (['x7', 'x31'], True)
    """

    def __init__(
        self,
        k: int = 1000,
        *,
        method: str = "mission",
        loss: str = "squared",
        memory: str | int = DEFAULT_MEMORY,
        sketch: tuple[int, int] | None = None,
        active: str = "exact",
        step: str | float = "auto",
        passes: int = 1,
        minibatch: int = 1,
        shuffle: str | bool = "auto",
        interactions: int | Sequence[Sequence[str | int]] = 1,
        random_state: Any = None,
        fit_intercept: bool = True,
        l2: float = 0.0,
        decay: float = 1.0,
        lazy: float = 0.0,
    ) -> None:
        self.k = k
        self.method = method
        self.loss = loss
        self.memory = memory
        self.sketch = sketch
        self.active = active
        self.step = step
        self.passes = passes
        self.minibatch = minibatch
        self.shuffle = shuffle
        self.interactions = interactions
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.l2 = l2
        self.decay = decay
        self.lazy = lazy
