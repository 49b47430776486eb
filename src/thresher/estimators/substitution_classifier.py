"""Online Substitution and its rivals for scikit-learn: classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.estimators.batch_tasks import BatchClassifier
from thresher.estimators.substitution import SubstitutionEstimator


class SubstitutionClassifier(BatchClassifier, SubstitutionEstimator):
    """Classify by k features out of those that arrive, of which only k are ever held: Online Substitution [1]_.

    Every feature that arrives moves the weights of those that are kept a little, and takes the place of the weakest
    if its own weight is larger and the loss does not rise. Memory is that of k columns and a block.

    Parameters
    ----------
    k : int
        Features to keep. Fewer are kept where fewer arrive.
    method : {"os", "grafting", "grafting-light", "naive-l0", "naive-l1", "alpha-investing"}
        Its rivals hold what they like on the way, and the k strongest in the end.
    loss : {"squared_hinge", "logistic"}
        More than two classes are learned each against the rest.
    scans : int
        How often `fit` goes through the features.
    eta : float, optional
        The step, for columns scaled alike; unasked as long as is safe.
    m : float, optional
        Kept features move by ``eta / m``. Unasked the square root of k for numbers, three times k for classes.
    c : float
        How much the loss must fall for a newcomer to be taken, between 0 (not rise) and 1.
    rate : float
        Of the longest safe step, the share that is taken where ``eta`` is not given.
    check : bool, optional
        Whether the loss must not rise for a newcomer to be taken; unasked yes, but not by several workers.
    workers : int
        Asy-OS: so many threads share the features, without waiting for each other. The answer then depends on chance.
    staleness : int, optional
        Asy-OS simulated on one thread: workers see what the others did so many updates late.
    refit : bool or float
        Fit the features found once more, to the bottom (a number is the ridge of that fit).
    memory : str or int, optional
        What may be held; k columns, and as much of a block as is left.
    order : {"given", "random"}
        In which order features arrive, in every scan.
    lam : float, optional
        The l1 penalty of grafting, grafting-light and naive-l1.
    intercept : bool
        Learn a constant too.
    per_class : bool
        With several classes, k features for each rather than k by the norm across all.
    class_weight : dict or "balanced", optional
        Importance of each class.
    threads : int
        0: all cores. The answer does not depend on it.
    random_state : int, RandomState or None
        For a random order.

    Attributes
    ----------
    selection_ : Selection
        The features, with names, keys and weights. It, ``coef_``, `transform` and `get_feature_names_out` share one
        order: by |weight| (its norm across classes), the strongest first, ties to the smaller key.
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
        workers: int = 1,
        staleness: int | None = None,
        refit: bool | float = True,
        memory: str | int | None = None,
        order: str = "given",
        lam: float | None = None,
        intercept: bool = True,
        per_class: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        threads: int = 0,
        random_state: Any = None,
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
        self.workers = workers
        self.staleness = staleness
        self.refit = refit
        self.memory = memory
        self.order = order
        self.lam = lam
        self.intercept = intercept
        self.per_class = per_class
        self.class_weight = class_weight
        self.threads = threads
        self.random_state = random_state
