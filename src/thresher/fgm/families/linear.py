"""The columns of the data, or some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from thresher.core.feature_space import FeatureSpace
from thresher.fgm.families.column_selector import Column, column_keys, normalize_columns
from thresher.fgm.families.product import Factor, ProductSpec


@dataclass(frozen=True)
class Columns(ProductSpec):
    """The columns of the data: the family ``linear``, restricted to some columns or as part of another family.

    Parameters
    ----------
    columns : sequence of int or str, optional
        Only these columns, by position (in general: key) or by name.

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
        object.__setattr__(self, "columns", normalize_columns(self.columns))

    def resolve(self, space: FeatureSpace) -> Columns:
        return replace(self, columns=column_keys(self.columns, space))

    @property
    def factors(self) -> tuple[Factor, ...]:
        return (Factor(self.columns),)

    def fingerprint(self) -> str:
        return repr(self)
