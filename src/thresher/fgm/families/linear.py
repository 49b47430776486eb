"""The columns themselves, or some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from thresher.core.feature_space import FeatureSpace
from thresher.fgm.families.column_selector import Column, chosen_columns, keys_of
from thresher.fgm.families.factors import Factor, OfFactors


@dataclass(frozen=True)
class Columns(OfFactors):
    """The columns themselves: ``linear``, where these are chosen or are a part of something else.

    Parameters
    ----------
    columns : sequence of int or str, optional
        Only these columns, given by position (keys, in general) or by name.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40))
    >>> y = X[:, 3] + X[:, 17] > 0
    >>> th.select(X, y, k=1, method="fgm", family=th.Columns(range(10))).names
    ['x3']
    """

    columns: Sequence[Column] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", chosen_columns(self.columns))

    def at(self, space: FeatureSpace) -> Columns:
        return replace(self, columns=keys_of(self.columns, space))

    @property
    def factors(self) -> tuple[Factor, ...]:
        return (Factor(self.columns),)

    def fingerprint(self) -> str:
        return repr(self)
