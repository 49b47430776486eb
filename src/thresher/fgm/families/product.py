"""Products of families: each feature is the product of one feature of every family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.sharded import Shards
from thresher.columns.types import Family
from thresher.core.feature_space import FeatureSpace
from thresher.errors import SettingsError
from thresher.fgm.families.column_selector import Column, check_positions, names_in
from thresher.fgm.families.product_search import BlockedProducts, ProductFamily
from thresher.fgm.families.sharded_products import ShardedProducts
from thresher.fgm.families.spec import FamilyLike, FamilySpec

#: The largest number of columns in a product.
MAX_DEGREE = 8


class Factor(NamedTuple):
    """The contribution of one family to a product: ``min_degree`` to ``max_degree`` of its ``columns`` (None: all).

    With ``powers`` a column may repeat. ``gamma`` and ``r`` are those of the map of (γ x'z + r)^max_degree.
    """

    columns: Sequence[Column] | None = None
    min_degree: int = 1
    max_degree: int = 1
    powers: bool = False
    gamma: float = 1.0
    r: float = 1.0


class ProductSpec(FamilySpec):
    """A family of products of columns, with one part from each of its factors."""

    prune: bool = True
    no_workers = ""

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The factors, at least one."""
        raise NotImplementedError

    @property
    def max_degree(self) -> int:
        """The largest number of columns in a product."""
        return sum(factor.max_degree for factor in self.factors)

    def column_names(self) -> tuple[str, ...]:
        return tuple(name for factor in self.factors for name in names_in(factor.columns))

    def check(self, size: int | None, k: int) -> None:
        for factor in self.factors:
            check_positions(factor.columns, size)

    def build(self, columns: InMemoryColumns) -> Family:
        return ProductFamily(self, columns)

    def build_blocked(self, blocks: ColumnBlocks) -> Family:
        return BlockedProducts(self, blocks)

    def build_sharded(self, shards: Shards, power: float) -> Family:
        return ShardedProducts(self, shards, power)


class Product(ProductSpec):
    """Products of one feature from each of several families, for example pairs between two sets of columns.

    This is the feature map of a product of kernels. ``Product(Columns(a), Columns(b))`` has the products of each column
    in ``a`` with each in ``b``; ``Product("linear", "polynomial:2")`` has those of a column with a column or with a
    product of two.

    Parameters
    ----------
    *families : FamilySpec or str
        `Columns`, `Polynomial` or `Product`, or their names: ``"linear"``, ``"linear:columns=3|age"``.
    prune : bool
        Skip products that cannot be among the best. This does not change the result.

    Notes
    -----
    The search uses the bounds of `Polynomial`. The families may share columns. A product that arises in several ways is
    still one feature, and its squared constants are added up (``scale=None``), as in the kernel's map.

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

    def __init__(self, *families: FamilyLike, prune: bool = True) -> None:
        from thresher.fgm.families.linear import Columns  # both modules import this one
        from thresher.fgm.families.parse import as_family_spec

        self.families: list[ProductSpec] = []
        for family in families:
            spec = as_family_spec(family) or Columns()
            if not isinstance(spec, ProductSpec):
                name = family if isinstance(family, str) else type(family).__name__
                raise SettingsError(
                    f"a product cannot contain {name}, whose groups are selected as a whole; combine them with Union "
                    "or + instead"
                )
            self.families.append(spec)
        if len(families) < 2:
            raise SettingsError(f"a product needs at least two families, got {len(families)}")
        self.prune = prune
        if self.max_degree > MAX_DEGREE:
            raise SettingsError(f"a product has at most {MAX_DEGREE} columns, not {self.max_degree}")

    @property
    def factors(self) -> tuple[Factor, ...]:
        return tuple(factor for family in self.families for factor in family.factors)

    def resolve(self, space: FeatureSpace) -> Product:
        return Product(*(family.resolve(space) for family in self.families), prune=self.prune)

    def fingerprint(self) -> str:
        return " * ".join(family.fingerprint() for family in self.families)
