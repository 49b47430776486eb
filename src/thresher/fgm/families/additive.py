"""Additive kernels: each column becomes the group of coordinates that the kernel's feature map gives it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.sharded import Shards
from thresher.columns.types import Family, Floats
from thresher.core.feature_space import FeatureSpace
from thresher.core.terms import Coordinate
from thresher.errors import SettingsError
from thresher.fgm.families.column_selector import Column, check_positions, column_keys, names_in, normalize_columns
from thresher.fgm.families.kernel_groups import BlockedKernelGroups, InMemoryKernelGroups, ShardedKernelGroups
from thresher.fgm.families.spec import FamilySpec
from thresher.fgm.families.spectral_sampling import KERNELS, sample_spectrum


class AdditiveKernel(FamilySpec):
    """Base class of additive kernels. Each column is a group, selected or rejected as a whole."""

    columns: Sequence[Column] | None
    no_workers = ""

    def column_names(self) -> tuple[str, ...]:
        return names_in(self.columns)

    def check(self, size: int | None, k: int) -> None:
        check_positions(self.columns, size)

    def build(self, columns: InMemoryColumns) -> InMemoryKernelGroups:
        columns.check()
        return InMemoryKernelGroups(self, columns, columns.value_range())

    def build_blocked(self, blocks: ColumnBlocks) -> Family:
        return BlockedKernelGroups(self, blocks)

    def build_sharded(self, shards: Shards, power: float) -> Family:
        return ShardedKernelGroups(self, shards, power)

    @abstractmethod
    def map_options(self, value_range: tuple[float, float]) -> dict[str, Any]:
        """The options of `MappedColumns` for data with values in this range."""

    @abstractmethod
    def coordinates(self, largest: float, value_range: tuple[float, float]) -> list[Coordinate]:
        """The coordinates of a column with this largest value."""

    def scales(self, largest: Floats) -> Floats:
        """The scales of the coordinates of unscaled columns with these largest values."""
        return np.ones(len(largest))


@dataclass(frozen=True)
class HIK(AdditiveKernel):
    """The intersection kernel Σ min(|x|^power, |z|^power): each column is a group of unary bins (Wu, 2012).

    Bin b is 1 if |x|^power is at least (b - ½) / bins of the column's largest value, so the kernel's value is exact up
    to half a bin per column. Scores of bins come from histograms of the residual. Only the bins of proposed columns are
    computed.

    Parameters
    ----------
    bins : int
        Bins per column.
    power : float
        1 gives the histogram intersection kernel.
    columns : sequence of int or str, optional
        Only these columns, by position (in general: key) or by name.

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
            raise SettingsError(f"the bins of hik must be between 1 and 10000, not {self.bins!r}")
        if not (self.power > 0 and math.isfinite(self.power)):
            raise SettingsError(f"the power of |x| must be above 0 and finite, not {self.power}")
        object.__setattr__(self, "columns", normalize_columns(self.columns))

    def resolve(self, space: FeatureSpace) -> HIK:
        return replace(self, columns=column_keys(self.columns, space))

    def fingerprint(self) -> str:
        return repr(self)

    def map_options(self, value_range: tuple[float, float]) -> dict[str, Any]:
        return {"bins": self.bins, "exponent": float(self.power)}

    def coordinates(self, largest: float, value_range: tuple[float, float]) -> list[Coordinate]:
        thresholds = [(b - 0.5) / self.bins * largest for b in range(1, self.bins + 1)]
        return [Coordinate("step", float(self.power), threshold) for threshold in thresholds]

    def scales(self, largest: Floats) -> Floats:
        scales: Floats = np.sqrt(largest / self.bins)
        return scales


@dataclass(frozen=True)
class Additive(AdditiveKernel):
    """An additive kernel Σ_j k(x_j, z_j), by samples of k's spectrum (Vedaldi and Zisserman, 2010).

    Each column is a group of 2·order + 1 coordinates: cosines and sines of the column (for a homogeneous kernel: of its
    logarithm, multiplied by its square root). Their value at 0 is subtracted, so that zeros stay zeros; the intercept
    makes up for it.

    Parameters
    ----------
    kernel : {"gaussian", "chi2", "js", "intersection"}
        exp(-γ (x - z)²), or for nonnegative values 2xz / (x + z), the Jensen-Shannon kernel, or min(x, z).
    order : int
        The number of frequencies; 5 gives groups of 11.
    gamma : float
        γ of the Gaussian kernel.
    columns : sequence of int or str, optional
        Only these columns, by position (in general: key) or by name.

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
            raise SettingsError(f"an additive kernel is one of {', '.join(KERNELS)}, not {self.kernel!r}")
        if type(self.order) is not int or not 1 <= self.order <= 100:
            raise SettingsError(f"the order of an additive kernel must be between 1 and 100, not {self.order!r}")
        if not (self.gamma > 0 and math.isfinite(self.gamma)):
            raise SettingsError(f"the gamma of an additive kernel must be above 0 and finite, not {self.gamma}")
        object.__setattr__(self, "columns", normalize_columns(self.columns))

    def resolve(self, space: FeatureSpace) -> Additive:
        return replace(self, columns=column_keys(self.columns, space))

    def fingerprint(self) -> str:
        return repr(self)

    def error(self, value_range: tuple[float, float] = (0.0, 1.0)) -> float:
        """The largest error of the kernel's value for data in this range; for a homogeneous kernel, relative to the
        larger of the two numbers."""
        return self._samples(value_range)[2]

    def _samples(self, value_range: tuple[float, float]) -> tuple[float, tuple[float, ...], float]:
        low, high = value_range
        if self.kernel != "gaussian" and low < 0:
            raise SettingsError(f"the {self.kernel} kernel needs nonnegative values, but the data contains {low:g}")
        return sample_spectrum(self.kernel, float(self.gamma), self.order, max(high - low, 1e-6))

    def map_options(self, value_range: tuple[float, float]) -> dict[str, Any]:
        step, amplitudes, _ = self._samples(value_range)
        return {"amplitudes": np.array(amplitudes), "step": step, "homogeneous": self.kernel != "gaussian"}

    def coordinates(self, largest: float, value_range: tuple[float, float]) -> list[Coordinate]:
        step, amplitudes, _ = self._samples(value_range)
        root = "" if self.kernel == "gaussian" else "root-"
        coordinates = [Coordinate(f"{root}cosine", amplitudes[0], 0.0)]
        for j, amplitude in enumerate(amplitudes[1:], 1):
            coordinates.append(Coordinate(f"{root}cosine", amplitude, j * step))
            coordinates.append(Coordinate(f"{root}sine", amplitude, j * step))
        return coordinates
