"""The settings of Online Substitution and of the other methods for features that arrive one by one."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from thresher.core.losses import get_loss
from thresher.display import did_you_mean, quoted
from thresher.errors import SettingsError

LOSSES = ("squared_hinge", "logistic", "squared", "huber", "squared_epsilon")
#: Online Substitution and its baselines.
STREAMING = ("os", "grafting", "grafting-light", "naive-l0", "naive-l1", "alpha-investing")
#: Methods with a penalty instead of a fixed number of features.
PENALISED = ("grafting", "grafting-light", "naive-l1")
#: Pairs of `shrink` and `ridge` that held-out rows choose from. The first serves where no rows can be held out.
CANDIDATES = ((10.0, 0.5), (50.0, 0.5), (10.0, 1.0), (10.0, 0.05))
#: From this k on, arrivals share steps with numbers as targets too: inner products of all kept columns would cost k².
_MANY_KEPT = 500


@dataclass(frozen=True, kw_only=True)
class SubstitutionSettings:
    """The settings of Online Substitution and its baselines.

    Parameters
    ----------
    k : int
        The number of features to keep, the paper's s.
    method : str
        ``os``, Online Substitution; or a baseline: ``grafting``, ``grafting-light``, ``naive-l0``, ``naive-l1`` or
        ``alpha-investing``. Baselines may hold more than ``k`` features until the end; the ``k`` strongest are the
        result.
    loss : {"squared_hinge", "logistic", "squared", "huber:delta", "squared_epsilon:delta"}
        The loss, averaged over the rows.
    scans : int
        The number of passes over the features.
    eta : float, optional
        The step size of a new feature, for columns scaled to a mean square of one. Default: ``rate / L_F``, with an
        upper estimate of L_F that is updated as the set of features changes.
    rate : float
        Must be below 1, so that the objective never rises. The best value is 0.5 by the paper's theory, larger in our
        experiments.
    m : float, optional
        Kept features move by ``eta / m``; at least 1. Default: the square root of ``k`` for regression, three times
        ``k`` for classification, where weights that converge at once would block new features.
    c : float
        The decrease of the objective required to accept a new feature, from 0 (no increase) to 1.
    check : bool, optional
        Accept a new feature only if the objective decreases. Default: True, except for Asy-OS as in the paper, where
        each worker would have to read the central state once more and evaluate the objective twice.
    arrivals : int or "auto"
        The number of arrivals that share a step of the kept features. An arrival that is too weak to enter then costs
        its non-zero values only; the kept features make the steps of all such arrivals together, as soon as that many
        wait or one is strong enough. 1 is Algorithm 1 of the paper. ``auto``: ``k`` for classification, which lost no
        recall in our experiments; 1 for regression, the square root of ``k`` above 500 features.
    shrink : float or "auto"
        The scale of a column with c non-zero values is multiplied by √(c / (c + shrink)), so that a column of a
        handful of rows does not win by its scaling. ``auto``: chosen on held-out rows for classification, else 0.
    ridge : float or "auto"
        The l2 penalty of the objective. Without one, the first features that separate the classes leave nothing for
        better ones to explain. ``auto``: chosen on held-out rows for classification, else 0.
    workers : int
        Asy-OS: the number of workers. Each holds its share of ``k``; the first ``k % workers`` hold one more.
    staleness : int, optional
        Simulate Asy-OS deterministically: a worker does not see the last ``staleness`` updates of the others.
    exchange : int, optional
        Asy-OS: the most new features that a worker processes between two exchanges with the central state. Default: 1
        on threads, 8 on Ray.
    fit_intercept : bool
        Learn an intercept; columns are then centred implicitly.
    refit : "auto", bool or float
        Refit the selected features at the end. ``auto``: by `thresher.refit` with the penalty that held-out rows choose
        for classification by ``os``, else as True. True: to convergence, nearly without penalty; a number is the ridge
        penalty.
    lam : float, optional
        The l1 penalty of grafting, grafting-light and naive-l1. Default: a tenth of the largest gradient in the first
        block.
    order : {"given", "random"}
        The order of the features in every scan.
    per_class : bool
        With several classes, ``k`` features for each rather than ``k`` by the norm across all.
    seed : int
        The seed of a random order.
    """

    k: int
    method: str = "os"
    loss: str = "squared_hinge"
    scans: int = 3
    eta: float | None = None
    rate: float = 0.95
    m: float | None = None
    c: float = 0.0
    check: bool | None = None
    arrivals: int | str = "auto"
    shrink: float | str = "auto"
    ridge: float | str = "auto"
    workers: int = 1
    staleness: int | None = None
    exchange: int | None = None
    fit_intercept: bool = True
    refit: bool | float | str = "auto"
    lam: float | None = None
    order: str = "given"
    per_class: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SettingsError(f"k must be at least 1, got {self.k}")
        if self.method not in STREAMING:
            raise SettingsError(
                f"unknown method {quoted(self.method)}{did_you_mean(str(self.method), STREAMING, len(STREAMING))}"
            )
        if get_loss(self.loss).name not in LOSSES:
            raise SettingsError(
                f"the loss of {self.method} must be smooth, one of {', '.join(LOSSES)}, got {self.loss}"
            )
        if self.method == "grafting" and get_loss(self.loss).name not in LOSSES[:3]:
            raise SettingsError(f"the loss of grafting must be one of {', '.join(LOSSES[:3])}, got {self.loss}")
        if self.scans < 1:
            raise SettingsError(f"scans must be at least 1, got {self.scans}")
        if self.eta is not None and not (self.eta > 0 and math.isfinite(self.eta)):
            raise SettingsError(f"eta must be above 0 and finite, got {self.eta}")
        if not 0 < self.rate < 1:
            raise SettingsError(f"rate must be between 0 and 1, got {self.rate}")
        if self.m is not None and not (self.m >= 1 and math.isfinite(self.m)):
            raise SettingsError(f"m must be at least 1 and finite, got {self.m}")
        if not 0 <= self.c <= 1:
            raise SettingsError(f"c must be between 0 and 1, got {self.c}")
        if not 1 <= self.workers <= self.k:
            raise SettingsError(f"workers must be between 1 and `k={self.k}`, got {self.workers}")
        if self.staleness is not None and self.staleness < 0:
            raise SettingsError(f"staleness must be at least 0, got {self.staleness}")
        if self.asynchronous and (self.method != "os" or self.per_class):
            raise SettingsError("`workers` and `staleness` require method os without `per_class`")
        if self.exchange is not None and self.exchange < 1:
            raise SettingsError(f"exchange must be at least 1, got {self.exchange}")
        if self.exchange is not None and (self.workers == 1 or self.staleness is not None):
            raise SettingsError("`exchange` is for workers that run at the same time: pass `workers`, no `staleness`")
        self._check_automatic()
        if self.lam is not None and self.method not in PENALISED:
            raise SettingsError(f"{self.method} has no `lam`: it is for {', '.join(PENALISED)}")
        if self.lam is not None and not (self.lam > 0 and math.isfinite(self.lam)):
            raise SettingsError(f"lam must be above 0 and finite, got {self.lam}")
        if self.order not in ("given", "random"):
            raise SettingsError(f'order must be "given" or "random", got {self.order!r}')

    def _check_automatic(self) -> None:
        if isinstance(self.refit, str):
            if self.refit != "auto":
                raise SettingsError(f'refit must be "auto", True, False or a ridge penalty, got {self.refit!r}')
        elif not (self.refit >= 0 and math.isfinite(self.refit)):
            raise SettingsError(f'refit must be "auto", True, False or a ridge penalty above 0, got {self.refit}')
        if self.arrivals != "auto" and not (isinstance(self.arrivals, int) and self.arrivals >= 1):
            raise SettingsError(f'arrivals must be "auto" or at least 1, got {self.arrivals!r}')
        for name, value in (("shrink", self.shrink), ("ridge", self.ridge)):
            if value != "auto" and (isinstance(value, str) or not (value >= 0 and math.isfinite(value))):
                raise SettingsError(f'{name} must be "auto" or a number of at least 0, got {value!r}')
        neutral = self.arrivals in ("auto", 1) and self.shrink in ("auto", 0) and self.ridge in ("auto", 0)
        if not self.by_numbers and not neutral:
            raise SettingsError("`arrivals`, `shrink` and `ridge` require method os without `workers` or `staleness`")

    @property
    def regularised(self) -> bool:
        """Whether ``auto`` means a shrinkage and a penalty: Online Substitution for classes."""
        return self.by_numbers and get_loss(self.loss).task != "real"

    @property
    def chooses(self) -> bool:
        """Whether held-out rows choose the shrinkage, the penalty or the final fit."""
        return self.regularised and not self.per_class and "auto" in (self.shrink, self.ridge, self.refit)

    def candidates(self) -> list[Self]:
        """The settings to choose from, without ``auto`` except for the final fit."""
        pairs = CANDIDATES if self.regularised else ((0.0, 0.0),)
        chosen = [
            (a if self.shrink == "auto" else self.shrink, b if self.ridge == "auto" else self.ridge) for a, b in pairs
        ]
        arrivals = self.arrivals
        if arrivals == "auto":
            many = round(math.sqrt(self.k)) if self.by_numbers and self.k > _MANY_KEPT else 1
            arrivals = self.k if self.regularised else many
        return [replace(self, arrivals=arrivals, shrink=a, ridge=b) for a, b in dict.fromkeys(chosen)]

    @property
    def apart(self) -> bool:
        """Whether each output has its own features; baselines learn outputs separately and merge them."""
        return self.per_class or self.method != "os"

    @property
    def asynchronous(self) -> bool:
        """Whether workers share the features."""
        return self.workers > 1 or self.staleness is not None

    @property
    def by_numbers(self) -> bool:
        """Whether mostly-zero columns are stored sparse; workers and baselines need them dense."""
        return self.method == "os" and not self.asynchronous

    @property
    def checked(self) -> bool:
        """Whether a new feature is rejected if the objective would not decrease."""
        return not self.asynchronous if self.check is None else self.check

    @property
    def slowness(self) -> float:
        """The paper's m, by which kept features move more slowly; with several workers, from the share of each."""
        if self.m is not None:
            return self.m
        held = self.k / self.workers
        return max(1.0, math.sqrt(held) if get_loss(self.loss).task == "real" else 3.0 * held)

    @property
    def shares(self) -> list[int]:
        """The number of features of each worker: equal shares, with the remainder on the first ones."""
        each, more = divmod(self.k, self.workers)
        return [each + (t < more) for t in range(self.workers)]

    @property
    def refit_ridge(self) -> float | None:
        """The ridge penalty of the refit; None: no refit. Without one, separable classes have no finite optimum."""
        if self.refit is False:
            return None
        small = 1e-6 if get_loss(self.loss).task == "real" else 1e-4
        return small if self.refit in (True, "auto") else float(self.refit)

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, for files."""
        return asdict(self)
