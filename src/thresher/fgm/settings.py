"""The settings of the Feature Generating Machine."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from thresher.core.losses import SMOOTH, get_loss
from thresher.errors import SettingsError

SOLVERS = ("apg", "mkl")
#: What power of its root mean square each column is divided by.
POWERS = {"norm": 1.0, "root": 0.5, None: 0.0}


@dataclass(frozen=True, kw_only=True)
class FGMSettings:
    """What is to be found and how.

    Parameters
    ----------
    k : int
        Features in all; groups, where the family has groups.
    B : int, optional
        Features that an iteration proposes. Unasked a tenth of ``k`` (shared by the classes, where there are
        several): ten iterations, if all that is proposed is new.
    C : float
        Weight of the loss: C Σ loss, against half the squared sum of block norms.
    loss : {"squared_hinge", "logistic", "squared"}
    scale : {"norm", "root", None}
        ``norm``: every column is scaled to a root mean square of one, in the scores and in the inner problem, and
        the weights are mapped back. None: columns as they are, the paper's form. ``root`` is half way between:
        columns are divided by the square root of that, so that neither the rarest nor the most frequent features
        are favoured, as is good for words.
    fit_intercept : bool
        Learn an intercept (the paper's FGM-SHIFT).
    family : str or FamilySpec
        Where features come from: ``linear``, the columns, or one that `thresher.fgm.families` offers.
    tol : float
        End once an iteration lowers the objective by no more than this share of what it was at the start (37).
        0: go on until there are ``k`` features.
    inner_tol : float
        End an inner problem once a step lowers its objective by no more than this share (40): 1e-3 is the paper's
        inexact form, 1e-6 its exact one.
    max_iter : int, optional
        The most iterations.
    refit : bool or float
        Fit the selected features once more, with half their squared norm as the only penalty; a number is the C of
        that fit, True takes the same C.
    solver : {"apg", "mkl"}
        ``mkl`` solves the inner problem as multiple kernel learning in the dual: for a few hundred rows, to compare.
    per_class : bool
        With several classes, ``k`` features for each rather than ``k`` by the norm across all.
    """

    k: int
    B: int | None = None
    C: float = 10.0
    loss: str = "squared_hinge"
    scale: str | None = "norm"
    fit_intercept: bool = True
    family: Any = "linear"
    tol: float = 0.0
    inner_tol: float = 1e-3
    max_iter: int | None = None
    refit: bool | float = False
    solver: str = "apg"
    per_class: bool = False

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SettingsError(f"k is the number of features to keep: at least 1, not {self.k}")
        if self.B is not None and self.B < 1:
            raise SettingsError(f"B is the number of features an iteration proposes: at least 1, not {self.B}")
        if not (self.C > 0 and math.isfinite(self.C)):
            raise SettingsError(f"C weighs the loss: above 0, not {self.C}")
        if get_loss(self.loss).name not in SMOOTH:
            raise SettingsError(f"fgm takes the losses {', '.join(SMOOTH)}, not {self.loss}")
        if self.scale not in POWERS:
            raise SettingsError(f'scale is "norm", "root" or None, not {self.scale!r}')
        if not (self.tol >= 0 and self.inner_tol >= 0):
            raise SettingsError("tol and inner_tol are not negative")
        if self.max_iter is not None and self.max_iter < 1:
            raise SettingsError(f"max_iter must be at least 1, got {self.max_iter}")
        if not self.refit >= 0 or not math.isfinite(self.refit):
            raise SettingsError(f"refit is True, False or a C above 0, not {self.refit}")
        if self.solver not in SOLVERS:
            raise SettingsError(f"solver is one of {', '.join(SOLVERS)}, not {self.solver!r}")
        if self.solver == "mkl" and self.loss != "squared_hinge":
            raise SettingsError("the mkl solver takes the squared hinge loss only")

    @property
    def power(self) -> float:
        """What power of its root mean square each column is divided by."""
        return POWERS[self.scale]

    def proposed(self, outputs: int) -> int:
        """Features that an iteration proposes to each output."""
        shared = 1 if self.per_class else outputs
        return min(self.k, self.B) if self.B is not None else max(1, -(-self.k // (10 * shared)))

    @property
    def refit_C(self) -> float | None:
        """The C of the refit; None for none."""
        if not self.refit:
            return None
        return self.C if self.refit is True else float(self.refit)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for files."""
        plain = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        return {**plain, "family": self.family if isinstance(self.family, str) else self.family.fingerprint()}
