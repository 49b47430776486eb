"""The settings of the Feature Generating Machine."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, Self

from thresher.core.losses import SMOOTH, get_loss
from thresher.errors import SettingsError

SOLVERS = ("apg", "mkl")
#: The power of its root mean square by which each column is divided.
POWERS = {"norm": 1.0, "root": 0.5, None: 0.0}
#: What ``auto`` stands for by name: the settings of the paper, and those of a fit that cannot choose.
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"C": 10.0, "scale": None, "refit": False, "repeat": True},
    "fixed": {"C": 10.0, "scale": "norm", "refit": False, "repeat": True},
}


@dataclass(frozen=True, kw_only=True)
class FGMSettings:
    """The settings of the Feature Generating Machine.

    Parameters
    ----------
    k : int
        The number of features to select, or of groups if the family has groups.
    B : int, optional
        The number of features that an iteration proposes. Default: a tenth of ``k``, divided among the classes if
        there are several, so that ten iterations suffice if all proposed features are new.
    C : "auto" or float
        The weight of the loss: C Σ loss + half the squared sum of block norms is minimised. ``auto``: held-out rows
        choose, see `thresher.fgm.choice`.
    loss : {"squared_hinge", "logistic", "squared"}
    scale : {"auto", "norm", "root", None}
        ``auto``: ``norm``, unless ``root`` is better by two standard errors on held-out rows.
        ``norm``: scale every column to a root mean square of one, in the scores and in the subproblems; weights refer
        to the original columns. None: do not scale, as in the paper. ``root``: divide by the square root of the root
        mean square, which favours neither the rarest nor the most frequent features; good for words.
    fit_intercept : bool
        Learn an intercept (the paper's FGM-SHIFT).
    family : str or FamilySpec
        The features to select from: ``linear``, the columns, or another family of `thresher.fgm.families`.
    tol : float
        Stop when an iteration lowers the objective by at most this share of its initial value (equation 37).
        0: stop at ``k`` features.
    inner_tol : float
        Stop solving a subproblem when a step lowers its objective by at most this share (equation 40). The paper's
        inexact form has 1e-3, its exact form 1e-6.
    max_iter : int, optional
        The most iterations. Default: no limit.
    refit : "auto", bool, float or str
        Refit the selected features with an l2 penalty only. A number is the C of the refit, True uses the same C;
        ``l2:PENALTY`` is the logistic (or squared) loss with that penalty, see `thresher.refit`. ``auto``: such a
        refit, if it is better on held-out rows.
    solver : {"apg", "mkl"}
        ``mkl`` solves the subproblems in the dual, by multiple kernel learning; slow, for a few hundred rows.
    per_class : bool
        With several classes, ``k`` features for each rather than ``k`` by the norm across all.
    repeat : bool, optional
        Let iterations propose features again, in other combinations, as the paper does. It takes exact solutions of the
        subproblems where most features are selected, and long. Default: only if ``C``, ``scale`` and ``refit`` are set.
    preset : {"paper", "fixed"}, optional
        What ``auto`` stands for. Default: held-out rows choose. ``paper``: ``C=10, scale=None, refit=False``.
        ``fixed``: ``C=10, scale="norm", refit=False``, as before these were chosen.
    """

    k: int
    B: int | None = None
    C: float | str = "auto"
    loss: str = "squared_hinge"
    scale: str | None = "auto"
    fit_intercept: bool = True
    family: Any = "linear"
    tol: float = 0.0
    inner_tol: float = 1e-3
    max_iter: int | None = None
    refit: bool | float | str = "auto"
    solver: str = "apg"
    per_class: bool = False
    repeat: bool | None = None
    preset: str | None = None

    def __post_init__(self) -> None:
        if self.preset is not None and self.preset not in PRESETS:
            raise SettingsError(f"preset must be one of {', '.join(PRESETS)}, got {self.preset!r}")
        if self.preset is not None:
            for name, value in PRESETS[self.preset].items():
                if getattr(self, name) == ("auto" if name != "repeat" else None):
                    object.__setattr__(self, name, value)
        if self.repeat is None and not self.chooses:
            object.__setattr__(self, "repeat", True)
        if self.k < 1:
            raise SettingsError(f"k must be at least 1, got {self.k}")
        if self.B is not None and self.B < 1:
            raise SettingsError(f"B must be at least 1, got {self.B}")
        if not (self.C == "auto" or _positive(self.C)):
            raise SettingsError(f'C must be above 0 and finite, or "auto", got {self.C!r}')
        if get_loss(self.loss).name not in SMOOTH:
            raise SettingsError(f"the loss of fgm must be one of {', '.join(SMOOTH)}, got {self.loss}")
        if self.scale != "auto" and self.scale not in POWERS:
            raise SettingsError(f'scale must be "auto", "norm", "root" or None, got {self.scale!r}')
        if not (self.tol >= 0 and self.inner_tol >= 0):
            raise SettingsError(f"tol and inner_tol must be at least 0, got {self.tol} and {self.inner_tol}")
        if self.max_iter is not None and self.max_iter < 1:
            raise SettingsError(f"max_iter must be at least 1, got {self.max_iter}")
        if self.refit not in ("auto", False) and not _positive(self._refit_number()):
            raise SettingsError(
                f'refit must be "auto", True, False, a C above 0 or "l2:PENALTY" with one above 0, got {self.refit!r}'
            )
        if self.per_class and self.penalty is not None:
            raise SettingsError("a refit would give every class the features of all: leave out `refit` or `per_class`")
        if self.solver not in SOLVERS:
            raise SettingsError(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}")
        if self.solver == "mkl" and self.loss != "squared_hinge":
            raise SettingsError(f"the loss of the mkl solver must be squared_hinge, got {self.loss}")

    @property
    def power(self) -> float:
        """The power of its root mean square by which each column is divided."""
        return POWERS[self.scale]

    @property
    def loss_weight(self) -> float:
        """C as a number."""
        assert not isinstance(self.C, str)
        return self.C

    @property
    def chooses(self) -> bool:
        """Whether a setting is still to be chosen."""
        return "auto" in (self.C, self.scale, self.refit)

    def fixed(self) -> Self:
        """These settings with fixed values for all that is still to be chosen."""
        return replace(self, preset="fixed")

    def describe(self) -> str:
        """What was chosen, in a line."""
        refit = "no refit" if self.refit is False else f"refit {self.refit}"
        return f"C = {self.C:g}, scale = {str(self.scale).lower()}, {refit}"

    def proposed(self, outputs: int) -> int:
        """The number of features that an iteration proposes for each output."""
        shared = 1 if self.per_class else outputs
        return min(self.k, self.B) if self.B is not None else max(1, -(-self.k // (10 * shared)))

    @property
    def penalty(self) -> float | None:
        """The penalty of an ``l2:`` refit; None: no such refit."""
        return self._refit_number() if isinstance(self.refit, str) and self.refit != "auto" else None

    @property
    def refit_C(self) -> float | None:
        """The C of the refit; None: no refit of this kind."""
        if not self.refit or isinstance(self.refit, str):
            return None
        return self.loss_weight if self.refit is True else float(self.refit)

    def _refit_number(self) -> float:
        """The number of `refit`; not a number if there is none."""
        text = self.refit
        if not isinstance(text, str):
            return float(text)
        try:
            return float(text.removeprefix("l2:")) if text.startswith("l2:") else math.nan
        except ValueError:
            return math.nan

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, for files."""
        plain = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        return {**plain, "family": self.family if isinstance(self.family, str) else self.family.fingerprint()}


def _positive(number: Any) -> bool:
    return isinstance(number, Real) and float(number) > 0 and math.isfinite(number)
