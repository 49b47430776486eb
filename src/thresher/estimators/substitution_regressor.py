"""Online Substitution and its rivals for scikit-learn: numbers."""

from __future__ import annotations

from typing import Any

from thresher.estimators.batch_tasks import BatchRegressor
from thresher.estimators.substitution import SubstitutionEstimator


class SubstitutionRegressor(BatchRegressor, SubstitutionEstimator):
    """Predict a number by k features out of those that arrive, of which only k are ever held [1]_.

    With the squared loss a block of features costs one matrix product, and then no look at the rows.

    Parameters
    ----------
    loss : str
        ``squared``, ``huber:delta``, which outliers do not carry away, or ``squared_epsilon:delta``, which passes over
        residuals up to delta.
    k, method, scans, eta, rate, m, c, check, workers, staleness, refit, memory, order, lam, intercept, threads
        As for `SubstitutionClassifier`.
    random_state
        As for `SubstitutionClassifier`.

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
        workers: int = 1,
        staleness: int | None = None,
        refit: bool | float = True,
        memory: str | int | None = None,
        order: str = "given",
        lam: float | None = None,
        intercept: bool = True,
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
        self.threads = threads
        self.random_state = random_state
