"""The settings of Online Substitution and of the other methods for features that arrive one by one."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from thresher.core.losses import get_loss
from thresher.display import did_you_mean, quoted
from thresher.errors import SettingsError

LOSSES = ("squared_hinge", "logistic", "squared", "huber", "squared_epsilon")
#: Online Substitution and its baselines.
STREAMING = ("os", "grafting", "grafting-light", "naive-l0", "naive-l1", "alpha-investing")
#: Methods with a penalty instead of a fixed number of features.
PENALISED = ("grafting", "grafting-light", "naive-l1")


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
    workers : int
        Asy-OS: the number of threads. Each holds its share of ``k``; the first ``k % workers`` hold one more.
    staleness : int, optional
        Simulate Asy-OS deterministically: a worker does not see the last ``staleness`` updates of the others.
    fit_intercept : bool
        Learn an intercept; columns are then centred implicitly.
    refit : bool or float
        Refit the selected features at the end, to convergence; a number is the ridge penalty of the refit.
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
    workers: int = 1
    staleness: int | None = None
    fit_intercept: bool = True
    refit: bool | float = True
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
        if not (self.refit >= 0 and math.isfinite(self.refit)):
            raise SettingsError(f"refit must be True, False or a ridge penalty above 0, got {self.refit}")
        if self.lam is not None and self.method not in PENALISED:
            raise SettingsError(f"{self.method} has no `lam`: it is for {', '.join(PENALISED)}")
        if self.lam is not None and not (self.lam > 0 and math.isfinite(self.lam)):
            raise SettingsError(f"lam must be above 0 and finite, got {self.lam}")
        if self.order not in ("given", "random"):
            raise SettingsError(f'order must be "given" or "random", got {self.order!r}')

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
    def ridge(self) -> float | None:
        """The ridge penalty of the refit; None: no refit. Without one, separable classes have no finite optimum."""
        if self.refit is False:
            return None
        small = 1e-6 if get_loss(self.loss).task == "real" else 1e-4
        return small if self.refit is True else float(self.refit)

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, for files."""
        return asdict(self)
