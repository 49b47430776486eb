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
    """The settings of Sparse Random Features.

    Parameters
    ----------
    k : int, optional
        The most random features to keep: ``lam`` is raised until no more are left. Default: no limit.
    kernel : str or RandomFeatures
        The kernel whose random features are drawn, see `thresher.columns.kernels`.
    gamma : float or "scale"
        The width of the kernel; ``scale`` is 1 / (number of inputs × their mean variance).
    lam : float or sequence of floats
        The l1 penalty, against the *sum* of the losses: the paper's λ_N = Nλ. Several values are a path from the
        largest to the smallest; the one with the best validation score is the result.
    draws : int
        The number of random features that an iteration proposes, the paper's R.
    max_iter : int
        Iterations for each ``lam``, the paper's T.
    loss : {"squared_hinge", "logistic", "squared"}
        The squared hinge is the paper's, max(0, 1 - ym)².
    fit_intercept : bool
        Learn an intercept, without a penalty.
    q : int, optional
        The number of inputs of each random feature, chosen at random. Default: all.
    tol : float
        The relative duality gap at which a subproblem is solved.
    seed : int
        The seed of the random features.
    per_class : bool
        With several classes, ``k`` random features for each rather than ``k`` by the norm across all.
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
            raise SettingsError(f"k must be at least 1, got {self.k}")
        if self.draws < 1 or self.max_iter < 1:
            raise SettingsError(f"draws and max_iter must be at least 1, got {self.draws} and {self.max_iter}")
        if not isinstance(self.kernel, (str, RandomFeatures)):
            raise SettingsError(f"kernel must be the name of a kernel or thresher.RandomFeatures, got {self.kernel!r}")
        if isinstance(self.gamma, str) and self.gamma != "scale":
            raise SettingsError(f'gamma must be a number above 0 or "scale", got {self.gamma!r}')
        if not isinstance(self.gamma, str) and not (self.gamma > 0 and math.isfinite(self.gamma)):
            raise SettingsError(f"gamma must be above 0 and finite, got {self.gamma}")
        if not self.path or any(not (lam > 0 and math.isfinite(lam)) for lam in self.path):
            raise SettingsError(f"lam must be above 0 and finite, got {self.lam}")
        if get_loss(self.loss).name not in SMOOTH:
            raise SettingsError(f"the loss of sparse-rf must be one of {', '.join(SMOOTH)}, got {self.loss}")
        if not self.tol > 0:
            raise SettingsError(f"tol must be above 0, got {self.tol}")
        if not 0 <= self.seed < 2**64:
            raise SettingsError(f"random_state must be an integer from 0 to 2^64 - 1, got {self.seed}")

    @property
    def kernel_name(self) -> str:
        """The name of the kernel or of the user-defined random features."""
        return self.kernel if isinstance(self.kernel, str) else self.kernel.name

    @property
    def path(self) -> tuple[float, ...]:
        """The values of ``lam``, largest first."""
        if isinstance(self.lam, (int, float)):
            return (float(self.lam),)
        return tuple(sorted({float(lam) for lam in self.lam}, reverse=True))

    @property
    def loss_factor(self) -> float:
        """The factor of the loss: the squared hinge of the paper has no factor 1/2."""
        return 2.0 if get_loss(self.loss).name == "squared_hinge" else 1.0

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, for files."""
        plain = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        lam = list(self.path) if len(self.path) > 1 else self.path[0]
        return {**plain, "kernel": self.kernel_name, "lam": lam}
