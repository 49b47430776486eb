"""The feature map of the polynomial kernel, searched without storing it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from thresher.core.feature_space import FeatureSpace
from thresher.errors import SettingsError
from thresher.fgm.families.column_selector import Column, column_keys, normalize_columns
from thresher.fgm.families.product import MAX_DEGREE, Factor, ProductSpec


@dataclass(frozen=True)
class Polynomial(ProductSpec):
    """The explicit map of the polynomial kernel (γ x'z + r)^degree: columns, and products of up to ``degree`` of them.

    Every analysis finds the best among all products, of which there may be 10^14 (section 6.2 of the paper). Only
    proposed products are ever computed.

    Parameters
    ----------
    degree : int
        The largest number of columns in a product, up to 8.
    gamma, r : float
        The kernel's γ and r. They weight products against columns if columns are not scaled (``scale=None``): at degree
        2, a product of two columns is multiplied by √2·γ, a square by γ and a column by √(2γr). With ``scale="norm"``
        they cancel. With ``scale="root"`` the square roots of these factors apply.
    squares : bool, optional
        Include products in which a column repeats. By default only at degree 2; products of higher degree are then of
        different columns, which makes them conjunctions if the columns are binary.
    linear : bool
        Include the columns themselves.
    columns : sequence of int or str, optional
        Only products of these columns, by position (in general: key) or by name.
    prune : bool
        Skip products that cannot be among the best. This does not change the result.

    Notes
    -----
    Pruning uses upper bounds. For scaled columns, (Σ a x)²/Σ x² ≤ Σ a² over the rows where x ≠ 0 (Cauchy-Schwarz), and
    a product is zero wherever one of its parts is; if no value is negative, the larger of the sums over positive and
    over negative residuals suffices. For unscaled columns, |Σ a x z| ≤ Σ |a x| max |z|. The bounds hold for any
    values, and are tightest for values in [0, 1].

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40))
    >>> y = X[:, 3] * X[:, 17] > 0
    >>> th.select(X, y, k=1, method="fgm", family=th.Polynomial(2)).names
    ['x3 × x17']
    """

    degree: int = 2
    gamma: float = 1.0
    r: float = 1.0
    squares: bool | None = None
    linear: bool = True
    columns: Sequence[Column] | None = None
    prune: bool = True

    def __post_init__(self) -> None:
        if type(self.degree) is not int or not 2 <= self.degree <= MAX_DEGREE:
            raise SettingsError(f"the degree of a polynomial must be between 2 and {MAX_DEGREE}, not {self.degree!r}")
        if not (self.gamma > 0 and math.isfinite(self.gamma) and self.r >= 0 and math.isfinite(self.r)):
            raise SettingsError(
                f"the gamma of a polynomial must be above 0 and its r at least 0, got {self.gamma} and {self.r}"
            )
        object.__setattr__(self, "columns", normalize_columns(self.columns))

    @property
    def powers(self) -> bool:
        """Whether a column may repeat in a product."""
        return self.degree == 2 if self.squares is None else self.squares

    def resolve(self, space: FeatureSpace) -> Polynomial:
        return replace(self, columns=column_keys(self.columns, space))

    @property
    def factors(self) -> tuple[Factor, ...]:
        return (Factor(self.columns, 1 if self.linear else 2, self.degree, self.powers, self.gamma, self.r),)

    def fingerprint(self) -> str:
        return f"Polynomial:{asdict(self) | {'prune': None}}"
