"""Additive kernels: a column as the group of the coordinates that the kernel's feature map gives it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from thresher import _native
from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.family_spec import Structure
from thresher.columns.in_memory import StoredColumns
from thresher.columns.types import Family, Floats
from thresher.core.feature_space import FeatureSpace
from thresher.core.terms import Coordinate
from thresher.errors import SettingsError
from thresher.fgm.families.column_selector import Column, check_positions, chosen_columns, keys_of, names_in
from thresher.fgm.families.kernel_groups import BlockedGroups, MappedFamily


class KernelFamily(Structure):
    """What additive kernels share: a group for each column, taken or left as a whole."""

    columns: Sequence[Column] | None

    def names(self) -> tuple[str, ...]:
        return names_in(self.columns)

    def check(self, size: int | None, k: int) -> None:
        check_positions(self.columns, size, "groups")

    def over(self, columns: StoredColumns) -> MappedFamily:
        columns.check()
        return MappedFamily(self, columns, _native.value_range(columns.store, columns.team))

    def streamed(self, blocks: ColumnBlocks) -> Family:
        return BlockedGroups(self, blocks)

    def map_of(self, value_range: tuple[float, float]) -> dict[str, Any]:
        """The map for data of this range, as `MappedColumns` takes it."""
        raise NotImplementedError

    def coordinates(self, largest: float, value_range: tuple[float, float]) -> list[Coordinate]:
        """The coordinates of a column with this largest value."""
        raise NotImplementedError

    def scales(self, largest: Floats) -> Floats:
        """What the coordinates of columns with these largest values count, where they are not scaled alike."""
        return np.ones(len(largest))


@dataclass(frozen=True)
class HIK(KernelFamily):
    """The (general) intersection kernel Σ min(|x|^power, |z|^power): each column a group of unary bins (Wu, 2012).

    Bin b is 1 where |x|^power reaches (b - ½) / bins of the column's largest, so the kernel's value of a column is
    right to half a bin. Bins are scored from histograms of the residual; only those of selected columns are formed.

    Parameters
    ----------
    bins : int
        Of each column.
    power : float
        1 is the histogram intersection kernel.
    columns : sequence of int or str, optional
        Only these columns, given by position (keys, in general) or by name.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 40))
    >>> y = abs(X[:, 3] - 0.5) < 0.25
    >>> model = th.FGMClassifier(k=1, family=th.HIK(bins=20)).fit(X, y)
    >>> model.score(X, y) > 0.95, model.selection_.names[0].split()[0]
    (True, 'x3')
    """

    bins: int = 100
    power: float = 1.0
    columns: Sequence[Column] | None = None

    def __post_init__(self) -> None:
        if type(self.bins) is not int or not 1 <= self.bins <= 10_000:
            raise SettingsError(f"bins are between 1 and 10000, not {self.bins!r}")
        if not (self.power > 0 and math.isfinite(self.power)):
            raise SettingsError(f"the power of |x| is above 0, not {self.power}")
        object.__setattr__(self, "columns", chosen_columns(self.columns))

    def at(self, space: FeatureSpace) -> HIK:
        return replace(self, columns=keys_of(self.columns, space))

    def fingerprint(self) -> str:
        return repr(self)

    def map_of(self, value_range: tuple[float, float]) -> dict[str, Any]:
        return {"bins": self.bins, "exponent": float(self.power)}

    def coordinates(self, largest: float, value_range: tuple[float, float]) -> list[Coordinate]:
        thresholds = [(b - 0.5) / self.bins * largest for b in range(1, self.bins + 1)]
        return [Coordinate("step", float(self.power), threshold) for threshold in thresholds]

    def scales(self, largest: Floats) -> Floats:
        scales: Floats = np.sqrt(largest / self.bins)
        return scales


@dataclass(frozen=True)
class Spectrum:
    """A kernel of two numbers by the function of their difference (of logarithms, times √(x z), where it is
    homogeneous), and that function's Fourier transform."""

    kernel: Callable[[Floats], Floats]
    density: Callable[[Floats], Floats]
    homogeneous: bool


def _sech(x: Any) -> Any:
    return 1.0 / np.cosh(x)


_HOMOGENEOUS = {
    "chi2": Spectrum(lambda d: _sech(d / 2), lambda f: _sech(np.pi * f), True),
    "intersection": Spectrum(lambda d: np.exp(-abs(d) / 2), lambda f: 2 / np.pi / (1 + 4 * f * f), True),
    "js": Spectrum(
        lambda d: (np.exp(d / 2) * np.log2(1 + np.exp(-d)) + np.exp(-d / 2) * np.log2(1 + np.exp(d))) / 2,
        lambda f: 2 / np.log(4) * _sech(np.pi * f) / (1 + 4 * f * f),
        True,
    ),
}
#: Additive kernels by name.
KERNELS = ("gaussian", *_HOMOGENEOUS)


def _spectrum(kernel: str, gamma: float) -> Spectrum:
    if kernel != "gaussian":
        return _HOMOGENEOUS[kernel]
    width = 4 * np.pi * gamma
    return Spectrum(lambda d: np.exp(-gamma * d * d), lambda f: np.exp(-f * f / (4 * gamma)) / math.sqrt(width), False)


@cache
def sampled(kernel: str, gamma: float, order: int, span: float) -> tuple[float, tuple[float, ...], float]:
    """The distance of the spectrum's samples that comes nearest to the kernel, their amplitudes, and how near that is.

    The error is that of the kernel's value: over differences up to ``span`` for the Gaussian, relative to the larger of
    both numbers for the homogeneous kernels.
    """
    spectrum = _spectrum(kernel, gamma)
    unit = math.sqrt(gamma) if kernel == "gaussian" else 1.0
    differences = np.linspace(0.0, span if kernel == "gaussian" else 30.0, 600)
    damped = np.exp(-differences / 2) if spectrum.homogeneous else 1.0
    multiples: Floats = np.arange(1, order + 1, dtype=np.float64)

    def tried(step: float) -> tuple[float, float]:
        weights = 2 * step * spectrum.density(multiples * step)
        waves = (np.cos(np.outer(differences, multiples * step)) * weights).sum(axis=1)
        waves += step * spectrum.density(np.zeros(1))
        return float(np.abs(damped * (spectrum.kernel(differences) - waves)).max()), step

    error, step = min(tried(step) for step in unit * np.linspace(0.02, 3.0, 150))
    weights = 2 * step * spectrum.density(multiples * step)
    first = math.sqrt(step * float(spectrum.density(np.zeros(1))[0]))
    return step, (first, *np.sqrt(weights).tolist()), error


@dataclass(frozen=True)
class Additive(KernelFamily):
    """An additive kernel Σ_j k(x_j, z_j) by the sampled spectrum of k (Vedaldi and Zisserman, 2010).

    A column is a group of 2·order + 1 coordinates: cosines and sines of the column (of its logarithm, times its square
    root, for the homogeneous kernels). They are taken less their value at 0, which the model's constant makes up for;
    so zeros stay zeros.

    Parameters
    ----------
    kernel : {"gaussian", "chi2", "js", "intersection"}
        exp(-γ (x - z)²); 2xz / (x + z), Jensen and Shannon's, and min(x, z), for values that are not negative.
    order : int
        5 makes groups of 11.
    gamma : float
        Of the Gaussian.
    columns : sequence of int or str, optional
        Only these columns, given by position (keys, in general) or by name.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40))
    >>> y = abs(X[:, 3]) < 0.7
    >>> th.FGMClassifier(k=1, family=th.Additive("gaussian")).fit(X, y).score(X, y) > 0.95
    True
    """

    kernel: str = "gaussian"
    order: int = 5
    gamma: float = 1.0
    columns: Sequence[Column] | None = None

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise SettingsError(f"additive kernels are {', '.join(KERNELS)}, not {self.kernel!r}")
        if type(self.order) is not int or not 1 <= self.order <= 100:
            raise SettingsError(f"the order is between 1 and 100, not {self.order!r}")
        if not (self.gamma > 0 and math.isfinite(self.gamma)):
            raise SettingsError(f"gamma is above 0, not {self.gamma}")
        object.__setattr__(self, "columns", chosen_columns(self.columns))

    def at(self, space: FeatureSpace) -> Additive:
        return replace(self, columns=keys_of(self.columns, space))

    def fingerprint(self) -> str:
        return repr(self)

    def error(self, value_range: tuple[float, float] = (0.0, 1.0)) -> float:
        """How far off the kernel's value may be, for data of this range; of the homogeneous ones, as a share of the
        larger number."""
        return self._sampled(value_range)[2]

    def _sampled(self, value_range: tuple[float, float]) -> tuple[float, tuple[float, ...], float]:
        least, most = value_range
        if self.kernel != "gaussian" and least < 0:
            raise SettingsError(f"the {self.kernel} kernel is of values that are not negative, unlike {least:g}")
        return sampled(self.kernel, float(self.gamma), self.order, max(most - least, 1e-6))

    def map_of(self, value_range: tuple[float, float]) -> dict[str, Any]:
        step, amplitudes, _ = self._sampled(value_range)
        return {"amplitudes": np.array(amplitudes), "step": step, "homogeneous": self.kernel != "gaussian"}

    def coordinates(self, largest: float, value_range: tuple[float, float]) -> list[Coordinate]:
        step, amplitudes, _ = self._sampled(value_range)
        root = "" if self.kernel == "gaussian" else "root-"
        made = [Coordinate(f"{root}cosine", amplitudes[0], 0.0)]
        for j, amplitude in enumerate(amplitudes[1:], 1):
            made += [Coordinate(f"{root}cosine", amplitude, j * step), Coordinate(f"{root}sine", amplitude, j * step)]
        return made
