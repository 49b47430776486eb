"""Products of columns: all of them, though none is ever stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import cast

from thresher.core.feature_space import FeatureSpace
from thresher.errors import SettingsError
from thresher.fgm.families.column_selector import Column, chosen_columns, keys_of
from thresher.fgm.families.factors import MOST, Factor, OfFactors


@dataclass(frozen=True)
class Polynomial(OfFactors):
    """The explicit map of the polynomial kernel (γ x'z + r)^degree: columns, and products of up to ``degree`` of them.

    Every analysis looks for the best among all products, of which there may be 10^14 (section 6.2 of the paper); only
    those that are proposed are ever formed.

    Parameters
    ----------
    degree : int
        Columns of a product at most, up to 8.
    gamma, r : float
        The kernel's. They weigh products against columns where columns are taken as they are (``scale=None``): a
        product of two counts √2·γ times, a square γ times, a column √(2γr) times, at degree 2. Under
        ``scale="norm"`` they cancel; under ``"root"``, half way, the roots of these count.
    squares : bool, optional
        Products of a column with itself. Unasked with degree 2; products of more are of different columns, so
        conjunctions where columns are of zeros and ones.
    linear : bool
        The columns themselves too.
    columns : sequence of int or str, optional
        Only products of these columns, given by position (keys, in general) or by name.
    prune : bool
        Pass over what cannot be among the best. The answer is the same without.

    Notes
    -----
    What is passed over follows from bounds. Of columns scaled alike, (Σ a x)²/Σ x² ≤ Σ a² over the rows where x ≠ 0
    (Cauchy and Schwarz), and a product has no rows that its parts have not; where no value is negative, the larger of
    the sums over positive and over negative residuals is enough. Of columns as they are, |Σ a x z| ≤ Σ |a x| max |z|.
    Values may be any: numbers in [0, 1] only make these bounds sharper.

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
        if type(self.degree) is not int or not 2 <= self.degree <= MOST:
            raise SettingsError(f"a polynomial's degree is between 2 and {MOST}, not {self.degree!r}")
        if not (self.gamma > 0 and math.isfinite(self.gamma) and self.r >= 0 and math.isfinite(self.r)):
            raise SettingsError(f"gamma is above 0 and r not below, unlike {self.gamma} and {self.r}")
        object.__setattr__(self, "columns", chosen_columns(self.columns))

    @property
    def powers(self) -> bool:
        """Whether a column may stand in a product twice."""
        return self.degree == 2 if self.squares is None else self.squares

    def at(self, space: FeatureSpace) -> Polynomial:
        return replace(self, columns=keys_of(self.columns, space))

    @property
    def factors(self) -> tuple[Factor, ...]:
        columns = cast(Sequence[int] | None, self.columns)
        return (Factor(columns, 1 if self.linear else 2, self.degree, self.powers, self.gamma, self.r),)

    def fingerprint(self) -> str:
        return f"Polynomial:{asdict(self) | {'prune': None}}"
