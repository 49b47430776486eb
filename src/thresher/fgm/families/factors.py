"""What families of columns and of products of columns share: each is a product of factors, of one at least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.family_spec import Structure
from thresher.columns.in_memory import StoredColumns
from thresher.columns.types import Family
from thresher.fgm.families.column_selector import Column, check_positions, names_in
from thresher.fgm.families.product_search import ProductFamily, StreamedProducts

#: Columns that a product may have.
MOST = 8


class Factor(NamedTuple):
    """What one family gives to a product: from ``least`` to ``most`` of its columns (None: of all), with ``powers``
    also a column with itself; ``gamma`` and ``r`` are those of the map of (γ x'z + r)^most."""

    columns: Sequence[Column] | None = None
    least: int = 1
    most: int = 1
    powers: bool = False
    gamma: float = 1.0
    r: float = 1.0


class OfFactors(Structure):
    """Products of columns, with a part of each of some factors."""

    prune: bool = True

    @property
    def factors(self) -> tuple[Factor, ...]:
        """These."""
        raise NotImplementedError

    @property
    def largest(self) -> int:
        """Columns of a product at most."""
        return sum(factor.most for factor in self.factors)

    def names(self) -> tuple[str, ...]:
        return tuple(name for factor in self.factors for name in names_in(factor.columns))

    def check(self, size: int | None, k: int) -> None:
        for factor in self.factors:
            check_positions(factor.columns, size, "products" if self.largest > 1 else "a family")

    def over(self, columns: StoredColumns) -> Family:
        return ProductFamily(self, columns)

    def streamed(self, blocks: ColumnBlocks) -> Family:
        return StreamedProducts(self, blocks)
