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
#: The defaults of settings that depend on whether ``lam`` is chosen.
_DEFAULTS = {"draws": {False: 100, True: 200}, "max_iter": {False: 20, True: 1}}


@dataclass(frozen=True, kw_only=True)
class SparseRFSettings:
    """The settings of Sparse Random Features.

    Parameters
    ----------
    k : int, optional
        The most random features to keep: ``lam`` is raised until no more are left. Default: no limit; with
        ``lam="auto"`` an eighth of the rows, but 100 to 500, with several classes 1000.
    kernel : str or RandomFeatures
        The kernel whose random features are drawn, see `thresher.columns.kernels`.
    gamma : float, "auto" or "scale"
        The width of the kernel; ``scale`` is 1 / (number of inputs × their mean variance), and ``auto`` the multiple of
        it that is best on held-out rows, see `thresher.sparse_rf.kernel_choice`.
    scale : {"auto", "std", "log"}, optional
        ``std`` divides every input by its standard deviation; ``log`` does so, and puts heavy-tailed inputs on a
        logarithmic scale. ``auto``: with ``gamma="auto"`` one of these, or none, by held-out rows. None: inputs as they
        are.
    lam : float, sequence of floats or "auto"
        The l1 penalty, against the *sum* of the losses: the paper's λ_N = Nλ. Several values are a path from the
        largest to the smallest; the one with the best validation score is the result. ``auto``: held-out rows choose
        from a path, and the number of features, see `thresher.sparse_rf.auto_engine`.
    draws : int, optional
        The number of random features that an iteration proposes, the paper's R. Default: 100; 200 with ``lam="auto"``.
    max_iter : int, optional
        Iterations for each ``lam``, the paper's T. Default: 20; 1 with ``lam="auto"``.
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
        With several classes, ``k`` random features for each rather than ``k`` by the norm across all; ``lam`` is then 1
        by default.
    """

    k: int | None = None
    kernel: str | RandomFeatures = "gaussian"
    gamma: float | str = "auto"
    scale: str | None = "auto"
    lam: float | str | Sequence[float] = "auto"
    draws: int | None = None
    max_iter: int | None = None
    loss: str = "squared_hinge"
    fit_intercept: bool = True
    q: int | None = None
    tol: float = 1e-4
    seed: int = 0
    per_class: bool = False

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise SettingsError(f"k must be at least 1, got {self.k}")
        if self.per_class and self.auto_lam:  # held-out rows choose features of all classes together
            object.__setattr__(self, "lam", 1.0)
        for name in ("draws", "max_iter"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, _DEFAULTS[name][self.auto_lam])
        if self.iterations < 1 or self.drawn < 1:
            raise SettingsError(f"draws and max_iter must be at least 1, got {self.draws} and {self.max_iter}")
        if not isinstance(self.kernel, (str, RandomFeatures)):
            raise SettingsError(f"kernel must be the name of a kernel or thresher.RandomFeatures, got {self.kernel!r}")
        if isinstance(self.gamma, str) and self.gamma not in ("auto", "scale"):
            raise SettingsError(f'gamma must be a number above 0, "auto" or "scale", got {self.gamma!r}')
        if self.scale not in ("auto", "std", "log", None):
            raise SettingsError(f'scale must be "auto", "std", "log" or None, got {self.scale!r}')
        if isinstance(self.lam, str) and self.lam != "auto":
            raise SettingsError(f'lam must be above 0 and finite, or "auto", got {self.lam!r}')
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
    def auto_lam(self) -> bool:
        """Whether held-out rows choose λ."""
        return self.lam == "auto"

    @property
    def drawn(self) -> int:
        """The number of random features per iteration."""
        assert self.draws is not None
        return self.draws

    @property
    def iterations(self) -> int:
        """Iterations for each λ."""
        assert self.max_iter is not None
        return self.max_iter

    @property
    def path(self) -> tuple[float, ...]:
        """The values of ``lam``, largest first; 1 while it is not chosen."""
        if isinstance(self.lam, str):
            return (1.0,)
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
        lam = "auto" if self.auto_lam else list(self.path) if len(self.path) > 1 else self.path[0]
        return {**plain, "kernel": self.kernel_name, "lam": lam}
