"""The settings of Sparse Random Features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from thresher.columns.random_features import RandomFeatures
from thresher.core.losses import SMOOTH, get_loss
from thresher.errors import SettingsError

METHOD = "sparse-rf"


@dataclass(frozen=True, kw_only=True)
class SparseRFSettings:
    """What is drawn, and what is paid for keeping it.

    Parameters
    ----------
    k : int, optional
        At most so many functions: ``lam`` rises until no more are kept.
    kernel : str
        Whose random functions are drawn, see `thresher.columns.kernels`.
    gamma : float or "scale"
        The width of the kernel; ``scale`` is one over the number of inputs times their mean variance.
    lam : float or sequence of floats
        The paper's λ_N = Nλ: what a function pays for the size of its weight, against the *sum* of the losses. Several
        are a path from the largest to the smallest, of which the validation's score picks one.
    draws : int
        Random features proposed in an iteration, the paper's R.
    max_iter : int
        Iterations for each ``lam``, the paper's T.
    loss : {"squared_hinge", "logistic", "squared"}
        The squared hinge is the paper's, max(0, 1 - ym)².
    fit_intercept : bool
        Learn an intercept, without a penalty.
    q : int, optional
        A function looks at so many inputs only, chosen at random: for inputs of many columns.
    tol : float
        A problem is solved once its objective is within this share of the least.
    seed : int
    per_class : bool
        With several classes, ``k`` functions for each rather than ``k`` by the norm across all.
    """

    k: int | None = None
    kernel: str | RandomFeatures = "gaussian"
    gamma: float | str = 1.0
    lam: float | Sequence[float] = 1.0
    draws: int = 100
    max_iter: int = 20
    loss: str = "squared_hinge"
    fit_intercept: bool = True
    q: int | None = None
    tol: float = 1e-4
    seed: int = 0
    per_class: bool = False

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise SettingsError(f"k is the number of functions to keep: at least 1, not {self.k}")
        if self.draws < 1 or self.max_iter < 1:
            raise SettingsError(f"draws and max_iter must be at least 1, got {self.draws} and {self.max_iter}")
        if not isinstance(self.kernel, (str, RandomFeatures)):
            raise SettingsError(f"kernel must be the name of a kernel or thresher.RandomFeatures, got {self.kernel!r}")
        if isinstance(self.gamma, str) and self.gamma != "scale":
            raise SettingsError(f'gamma is a number above 0 or "scale", not {self.gamma!r}')
        if not isinstance(self.gamma, str) and not (self.gamma > 0 and math.isfinite(self.gamma)):
            raise SettingsError(f"gamma is the width of the kernel: above 0 and finite, not {self.gamma}")
        if not self.path or any(not (lam > 0 and math.isfinite(lam)) for lam in self.path):
            raise SettingsError(f"lam is what a weight pays: above 0 and finite, not {self.lam}")
        if get_loss(self.loss).name not in SMOOTH:
            raise SettingsError(f"sparse-rf takes the losses {', '.join(SMOOTH)}, not {self.loss}")
        if not self.tol > 0:
            raise SettingsError(f"tol is above 0, not {self.tol}")
        if not 0 <= self.seed < 2**64:
            raise SettingsError(f"a seed is a whole number from 0 on, not {self.seed}")

    @property
    def kernel_name(self) -> str:
        """The name of the kernel, or of the user's own random features."""
        return self.kernel if isinstance(self.kernel, str) else self.kernel.name

    @property
    def path(self) -> tuple[float, ...]:
        """Every ``lam``, the largest first."""
        if isinstance(self.lam, (int, float)):
            return (float(self.lam),)
        return tuple(sorted({float(lam) for lam in self.lam}, reverse=True))

    @property
    def loss_factor(self) -> float:
        """The paper's loss, in ours: its squared hinge has no half."""
        return 2.0 if get_loss(self.loss).name == "squared_hinge" else 1.0

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        plain = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        lam = list(self.path) if len(self.path) > 1 else self.path[0]
        return {**plain, "kernel": self.kernel_name, "lam": lam}
