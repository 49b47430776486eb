"""Products of families: each feature is made of a feature of every one of them."""

from __future__ import annotations

from thresher.columns.family_spec import Structure
from thresher.core.feature_space import FeatureSpace
from thresher.errors import SettingsError
from thresher.fgm.families.factors import MOST, Factor, OfFactors
from thresher.fgm.families.linear import Columns


class Product(OfFactors):
    """Products of a feature of each of several families: pairs between two sets of columns, and more.

    The map of a product of kernels. ``Product(Columns(a), Columns(b))`` has every column of ``a`` times every one of
    ``b``; ``Product("linear", "polynomial:2")`` columns times columns and times products of two.

    Parameters
    ----------
    *families : Structure or str
        `Columns`, `Polynomial`, `Product`, or what they are called: ``"linear"``, ``"linear:columns=3|age"``.
    prune : bool
        Pass over what cannot be among the best. The answer is the same without.

    Notes
    -----
    Searched as a `Polynomial` is, by the same bounds. A column may be of several families; a product that can be shared
    out among them in several ways is one feature, with the sum of their squared constants (``scale=None``), as in
    the kernel's map.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40))
    >>> y = X[:, 3] * X[:, 27] + X[:, 4] * X[:, 7] > 0
    >>> across = th.Product(th.Columns(range(20)), th.Columns(range(20, 40)))
    >>> th.select(X, y, k=1, method="fgm", family=across).names
    ['x3 × x27']
    """

    def __init__(self, *families: Structure | str, prune: bool = True) -> None:
        from thresher.fgm.families.parse import structure_of

        given = [structure_of(family) or Columns() for family in families]
        if len(given) < 2:
            raise SettingsError("a product is of two families at least")
        for family in given:
            if not isinstance(family, OfFactors):
                raise SettingsError(
                    f"products are of columns and of polynomials, not of {type(family).__name__}: its groups are taken "
                    "as a whole. Put it beside them, with Union or +"
                )
        self.families: list[OfFactors] = [family for family in given if isinstance(family, OfFactors)]
        self.prune = prune
        if self.largest > MOST:
            raise SettingsError(f"products of up to {self.largest} columns: {MOST} at most")

    @property
    def factors(self) -> tuple[Factor, ...]:
        return tuple(factor for family in self.families for factor in family.factors)

    def at(self, space: FeatureSpace) -> Product:
        return Product(*(family.at(space) for family in self.families), prune=self.prune)

    def fingerprint(self) -> str:
        return " * ".join(family.fingerprint() for family in self.families)
