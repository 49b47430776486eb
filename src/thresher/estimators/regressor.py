"""MISSION and its rivals as a regressor for scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thresher.core.memory import DEFAULT_MEMORY
from thresher.estimators.online_regressor import OnlineRegressor


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
        intercept: bool = True,
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
        self.intercept = intercept
        self.l2 = l2
        self.decay = decay
        self.lazy = lazy
