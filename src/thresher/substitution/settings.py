"""The settings of Online Substitution and of the other methods for features that arrive one by one."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from thresher.core.losses import get_loss
from thresher.errors import SettingsError

LOSSES = ("squared_hinge", "logistic", "squared", "huber", "squared_epsilon")
#: The methods; all but the first are rivals of it.
STREAMING = ("os", "grafting", "grafting-light", "naive-l0", "naive-l1", "alpha-investing")
#: Those that have a penalty in place of a number of features.
PENALISED = ("grafting", "grafting-light", "naive-l1")


@dataclass(frozen=True, kw_only=True)
class SubstitutionSettings:
    """What is to be found and how.

    Parameters
    ----------
    k : int
        Features to keep, the paper's s.
    method : str
        ``os``, Online Substitution; ``grafting``, ``grafting-light``, ``naive-l0``, ``naive-l1`` or
        ``alpha-investing``, which keep what they like until the end, when the ``k`` strongest are the answer.
    loss : {"squared_hinge", "logistic", "squared", "huber:delta", "squared_epsilon:delta"}
        As a mean over the rows.
    scans : int
        How often to go through the features.
    eta : float, optional
        The step of a newcomer, for columns scaled to a mean square of one. Unasked ``rate / L_F``, with L_F
        estimated from above as the set of features changes.
    rate : float
        Below 1, for the objective never to rise; the paper's best by theory is 0.5, by experiment longer steps are.
    m : float, optional
        Features that are kept move by ``eta / m``; at least 1. Unasked the square root of ``k`` for numbers and three
        times ``k`` for classes, where weights that settle at once leave newcomers no chance.
    c : float
        How much the objective must fall for a newcomer to be taken, between 0 (not rise) and 1.
    check : bool, optional
        Whether the objective must fall for a newcomer to be taken. Unasked yes, but of Asy-OS no, as in the paper:
        there it costs each worker another look at the central state, and two at the objective.
    workers : int
        Asy-OS: so many threads, each with its share of ``k`` (the first ``k % workers`` one more).
    staleness : int, optional
        Asy-OS simulated: a worker sees what the others did but for their last so many updates. Deterministic.
    fit_intercept : bool
        Learn an intercept: columns then count as centred.
    refit : bool or float
        Fit the features found once more at the end, to the bottom; a number is the ridge of that fit.
    lam : float, optional
        The l1 penalty of grafting, grafting-light and naive-l1. Unasked a tenth of the largest gradient in the first
        block.
    order : {"given", "random"}
        In which order features come in every scan.
    per_class : bool
        With several classes, ``k`` features for each rather than ``k`` by the norm across all.
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
            raise SettingsError(f"k is the number of features to keep: at least 1, not {self.k}")
        if self.method not in STREAMING:
            raise SettingsError(f"unknown method {self.method!r}: one of {', '.join(STREAMING)}")
        if get_loss(self.loss).name not in LOSSES:
            raise SettingsError(
                f"{self.method} takes the losses {', '.join(LOSSES)}, not {self.loss}: a step length needs a loss "
                "without kinks"
            )
        if self.method == "grafting" and get_loss(self.loss).name not in LOSSES[:3]:
            raise SettingsError(f"grafting takes the losses {', '.join(LOSSES[:3])}, not {self.loss}")
        if self.scans < 1:
            raise SettingsError(f"scans is how often to go through the features: at least 1, not {self.scans}")
        if self.eta is not None and not (self.eta > 0 and math.isfinite(self.eta)):
            raise SettingsError(f"eta is a step, above 0, not {self.eta}")
        if not 0 < self.rate < 1:
            raise SettingsError(f"rate is between 0 and 1, not {self.rate}")
        if self.m is not None and not (self.m >= 1 and math.isfinite(self.m)):
            raise SettingsError(f"m is at least 1, not {self.m}")
        if not 0 <= self.c <= 1:
            raise SettingsError(f"c is between 0 and 1, not {self.c}")
        if not 1 <= self.workers <= self.k:
            raise SettingsError(f"workers share the {self.k} features: between 1 and {self.k} of them")
        if self.staleness is not None and self.staleness < 0:
            raise SettingsError(f"staleness is a number of updates, not {self.staleness}")
        if self.asynchronous and (self.method != "os" or self.per_class):
            raise SettingsError("workers and staleness are for os, with features shared by the classes")
        if not (self.refit >= 0 and math.isfinite(self.refit)):
            raise SettingsError(f"refit is True, False or a ridge above 0, not {self.refit}")
        if self.lam is not None and (self.method not in PENALISED or not (self.lam > 0 and math.isfinite(self.lam))):
            raise SettingsError(f"lam is the penalty, above 0, of {', '.join(PENALISED)}, not {self.lam}")
        if self.order not in ("given", "random"):
            raise SettingsError(f'order is "given" or "random", not {self.order!r}')

    @property
    def apart(self) -> bool:
        """Whether every output has features of its own; of several, rivals learn each alone and are merged."""
        return self.per_class or self.method != "os"

    @property
    def asynchronous(self) -> bool:
        """Whether workers share the features."""
        return self.workers > 1 or self.staleness is not None

    @property
    def by_numbers(self) -> bool:
        """Whether columns that are nearly all zeros are taken without them; workers and rivals want them whole."""
        return self.method == "os" and not self.asynchronous

    @property
    def checked(self) -> bool:
        """Whether a newcomer is refused for which the objective would not fall."""
        return not self.asynchronous if self.check is None else self.check

    @property
    def slowness(self) -> float:
        """The paper's m. Of several workers each moves what it keeps so much more seldom."""
        if self.m is not None:
            return self.m
        held = self.k / self.workers
        return max(1.0, math.sqrt(held) if get_loss(self.loss).task == "real" else 3.0 * held)

    @property
    def shares(self) -> list[int]:
        """Features that each worker may keep: as equal as can be, the first ones one more."""
        each, more = divmod(self.k, self.workers)
        return [each + (t < more) for t in range(self.workers)]

    @property
    def ridge(self) -> float | None:
        """Of the refit; None for none. Classes that can be told apart need one, or weights would have no end."""
        if self.refit is False:
            return None
        small = 1e-6 if get_loss(self.loss).task == "real" else 1e-4
        return small if self.refit is True else float(self.refit)

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        return asdict(self)
