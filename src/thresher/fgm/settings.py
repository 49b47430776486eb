"""The settings of the Feature Generating Machine."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from thresher.core.losses import SMOOTH, get_loss
from thresher.errors import SettingsError

SOLVERS = ("apg", "mkl")
#: The power of its root mean square by which each column is divided.
POWERS = {"norm": 1.0, "root": 0.5, None: 0.0}


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
    C : float
        The weight of the loss: C Σ loss + half the squared sum of block norms is minimised.
    loss : {"squared_hinge", "logistic", "squared"}
    scale : {"norm", "root", None}
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
    refit : bool or float
        Refit the selected features with an l2 penalty only; a number is the C of the refit, True uses the same C.
    solver : {"apg", "mkl"}
        ``mkl`` solves the subproblems in the dual, by multiple kernel learning; slow, for a few hundred rows.
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
            raise SettingsError(f"k must be at least 1, got {self.k}")
        if self.B is not None and self.B < 1:
            raise SettingsError(f"B must be at least 1, got {self.B}")
        if not (self.C > 0 and math.isfinite(self.C)):
            raise SettingsError(f"C must be above 0 and finite, got {self.C}")
        if get_loss(self.loss).name not in SMOOTH:
            raise SettingsError(f"the loss of fgm must be one of {', '.join(SMOOTH)}, got {self.loss}")
        if self.scale not in POWERS:
            raise SettingsError(f'scale must be "norm", "root" or None, got {self.scale!r}')
        if not (self.tol >= 0 and self.inner_tol >= 0):
            raise SettingsError(f"tol and inner_tol must be at least 0, got {self.tol} and {self.inner_tol}")
        if self.max_iter is not None and self.max_iter < 1:
            raise SettingsError(f"max_iter must be at least 1, got {self.max_iter}")
        if not self.refit >= 0 or not math.isfinite(self.refit):
            raise SettingsError(f"refit must be True, False or a C above 0, got {self.refit}")
        if self.solver not in SOLVERS:
            raise SettingsError(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}")
        if self.solver == "mkl" and self.loss != "squared_hinge":
            raise SettingsError(f"the loss of the mkl solver must be squared_hinge, got {self.loss}")

    @property
    def power(self) -> float:
        """The power of its root mean square by which each column is divided."""
        return POWERS[self.scale]

    def proposed(self, outputs: int) -> int:
        """The number of features that an iteration proposes for each output."""
        shared = 1 if self.per_class else outputs
        return min(self.k, self.B) if self.B is not None else max(1, -(-self.k // (10 * shared)))

    @property
    def refit_C(self) -> float | None:
        """The C of the refit; None: no refit."""
        if not self.refit:
            return None
        return self.C if self.refit is True else float(self.refit)

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, for files."""
        plain = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        return {**plain, "family": self.family if isinstance(self.family, str) else self.family.fingerprint()}
