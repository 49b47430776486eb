"""Learning under a budget of features, for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thresher.estimators.online import OnlineClassifier, OnlineRegressor
from thresher.online.dual_state import History


class Budgeted:
    """What the two share."""

    _fitted: Any

    @property
    def history_(self) -> History:
        """Which features were kept when."""
        history: History = self._fitted.engine.history
        return history


class BudgetedClassifier(Budgeted, OnlineClassifier):
    """Classify with at most k weights at every moment of the stream.

    The rows come one by one, and a feature that falls behind makes room for one that has gathered more evidence. More
    than two classes are told apart one against the rest.

    Parameters
    ----------
    k : int
        Features that may have a weight at any moment.
    method : {"b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"}
        B-ARDA and B-AMD [1]_, their rivals OFS and SOFS, and l1-ARDA and Ada-Fobos, whose number of weights
        follows from ``lam``; of these, the ``k`` largest are taken at the end.
    loss : {"squared_hinge", "hinge", "logistic", "softmax"}
        Of more than two classes ``logistic`` becomes ``softmax``, and the hinges tell each from the rest.
    eta : float, optional
        The step; without it steps follow the scale of the data.
    lam : float, optional
        The regulariser: l2, or l1 for ``l1-arda`` and ``ada-fobos``, where it is found by a search if not given.
    delta : float
        Added to the root of every sum of squared gradients.
    memory : str or int, optional
        What may be held. These methods know something of every feature seen; without ``memory`` that may grow.
    sketch : (1, width), optional
        For ``b-arda``: features that are not kept share this many cells, so that memory does not grow. Approximate.
    passes : int
        How often `fit` goes through the data.
    tune : bool
        Let several settings of ``eta`` and ``lam`` learn from the same rows; the worse half goes again and again.
    shuffle : "auto" or bool
        Mix the rows in `fit`. `partial_fit` never does.
    random_state : int, RandomState or None
        Where all randomness comes from. None is 0.
    fit_intercept : bool
        Learn an intercept.
    truncation : {"adaptive", "naive"}
        Rank by weight and evidence, or by |weight| alone, which the paper argues against.
    groups : Groups, sequence, array, path or "source", optional
        Of ``b-arda`` and ``b-amd``: features that are kept or left together; ``k`` then counts groups. See
        `thresher.select`.
    keep_names : bool
        Where features have names: keep those of all features seen, so that one pass names everything. Otherwise names
        that are missing are found by another look at the data.
    refit_intercept : bool, optional
        Of two classes: go through the data once more in `fit`, for the intercept; unasked where there are several
        passes.
    per_class : bool
        With several classes, k features for each rather than k for all of them together.
    class_weight : dict or "balanced", optional
        Importance of each class. `partial_fit` takes no ``balanced``, which needs all labels.

    Attributes
    ----------
    selection_ : Selection
        The features, with names, keys and weights, the largest weight first.
    history_ : History
        Which features were kept when, at up to 64 moments.
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
    _several: ClassVar[Mapping[str, str]] = {
        "logistic": "softmax",
        "hinge": "rest:hinge",
        "squared_hinge": "rest:squared_hinge",
    }

    def __init__(
        self,
        k: int = 100,
        *,
        method: str = "b-arda",
        loss: str = "squared_hinge",
        eta: float | None = None,
        lam: float | None = None,
        delta: float = 1e-2,
        memory: str | int | None = None,
        sketch: tuple[int, int] | None = None,
        passes: int = 1,
        tune: bool = False,
        shuffle: str | bool = "auto",
        random_state: Any = None,
        fit_intercept: bool = True,
        truncation: str = "adaptive",
        groups: Any = None,
        keep_names: bool = True,
        refit_intercept: bool | None = None,
        per_class: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.k = k
        self.method = method
        self.loss = loss
        self.eta = eta
        self.lam = lam
        self.delta = delta
        self.memory = memory
        self.sketch = sketch
        self.passes = passes
        self.tune = tune
        self.shuffle = shuffle
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.truncation = truncation
        self.groups = groups
        self.keep_names = keep_names
        self.refit_intercept = refit_intercept
        self.per_class = per_class
        self.class_weight = class_weight


class BudgetedRegressor(Budgeted, OnlineRegressor):
    """Predict a number with at most k weights at every moment of the stream.

    Parameters
    ----------
    k : int
        Features that may have a weight at any moment.
    method : {"b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"}
        B-ARDA and B-AMD [1]_, their rivals OFS and SOFS, and l1-ARDA and Ada-Fobos, whose number of weights
        follows from ``lam``; of these, the ``k`` largest are taken at the end.
    loss : {"squared", "huber:delta"}
        ``huber`` is not carried away by outliers.
    eta : float, optional
        The step; without it steps follow the scale of the data.
    lam : float, optional
        The regulariser: l2, or l1 for ``l1-arda`` and ``ada-fobos``, where it is found by a search if not given.
    delta : float
        Added to the root of every sum of squared gradients.
    memory : str or int, optional
        What may be held. These methods know something of every feature seen; without ``memory`` that may grow.
    sketch : (1, width), optional
        For ``b-arda``: features that are not kept share this many cells, so that memory does not grow. Approximate.
    passes : int
        How often `fit` goes through the data.
    tune : bool
        Let several settings of ``eta`` and ``lam`` learn from the same rows; the worse half goes again and again.
    shuffle : "auto" or bool
        Mix the rows in `fit`. `partial_fit` never does.
    random_state : int, RandomState or None
        Where all randomness comes from. None is 0.
    fit_intercept : bool
        Learn an intercept.
    truncation : {"adaptive", "naive"}
        Rank by weight and evidence, or by |weight| alone, which the paper argues against.
    groups : Groups, sequence, array, path or "source", optional
        Of ``b-arda`` and ``b-amd``: features that are kept or left together; ``k`` then counts groups. See
        `thresher.select`.
    keep_names : bool
        Where features have names: keep those of all features seen, so that one pass names everything. Otherwise names
        that are missing are found by another look at the data.

    Attributes
    ----------
    selection_ : Selection
        The features, with names, keys and weights, the largest weight first.
    history_ : History
        Which features were kept when, at up to 64 moments.
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
    >>> model = th.BudgetedRegressor(k=2, passes=3).fit(X, y)
    >>> list(model.get_feature_names_out()), model.score(X, y) > 0.8
    (['x7', 'x31'], True)
    """

    def __init__(
        self,
        k: int = 100,
        *,
        method: str = "b-arda",
        loss: str = "squared",
        eta: float | None = None,
        lam: float | None = None,
        delta: float = 1e-2,
        memory: str | int | None = None,
        sketch: tuple[int, int] | None = None,
        passes: int = 1,
        tune: bool = False,
        shuffle: str | bool = "auto",
        random_state: Any = None,
        fit_intercept: bool = True,
        truncation: str = "adaptive",
        groups: Any = None,
        keep_names: bool = True,
    ) -> None:
        self.k = k
        self.method = method
        self.loss = loss
        self.eta = eta
        self.lam = lam
        self.delta = delta
        self.memory = memory
        self.sketch = sketch
        self.passes = passes
        self.tune = tune
        self.shuffle = shuffle
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.truncation = truncation
        self.groups = groups
        self.keep_names = keep_names
