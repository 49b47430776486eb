"""The search for the best products of columns that workers hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.sharded import Shards, merged_tops
from thresher.columns.types import Floats, Ids, Proposal
from thresher.fgm.families.product_search import LoadedProducts, ProductFamily

if TYPE_CHECKING:
    from thresher.fgm.families.product import ProductSpec


@dataclass(frozen=True, eq=False)
class _Part:
    """What a worker builds over its columns."""

    spec: ProductSpec

    @property
    def identity(self) -> str:
        return self.spec.fingerprint()

    def build(self, columns: InMemoryColumns) -> _AnswersForProducts:
        return _AnswersForProducts(ProductFamily(self.spec, columns))


class _AnswersForProducts:
    """The answers of a worker for the products of its columns with any columns."""

    def __init__(self, family: ProductFamily) -> None:
        self.family = family

    def best_columns(self, residuals: Floats, limit: int) -> tuple[list[Proposal], dict[int, tuple[int, ...]], int]:
        """The best elements that are known from the columns alone, their parts, and the number of columns."""
        self.family.parts, columns = {}, 0
        best = []
        for residual in residuals:
            found, keys, _, _ = self.family.bound_products(residual, limit)
            best.append(found)
            columns = len(keys)
        return best, self.family.parts, columns

    def candidates(self, residual: Floats, limit: int, floor: float) -> tuple[Ids, NDArray[np.int64]]:
        """The columns whose products may score ``floor`` or more, and their numbers of nonzero rows."""
        _, keys, bounds, sizes = self.family.bound_products(residual, limit)
        return keys[bounds >= floor], sizes[bounds >= floor]


class _Loader:
    """Loads columns from the workers."""

    def __init__(self, shards: Shards, power: float) -> None:
        self.rows, self.memory = shards.rows, shards.memory
        self._shards, self._power = shards, power

    def load(self, keys: Ids) -> InMemoryColumns:
        """Load the columns of these keys."""
        return self._shards.load(keys, self._power)


class ShardedProducts(LoadedProducts):
    """Products of columns that workers hold.

    Each worker bounds the products of its columns. This process loads the columns whose products may be among the
    best, and searches their products.
    """

    def __init__(self, spec: ProductSpec, shards: Shards, power: float) -> None:
        super().__init__(spec, _Loader(shards, power))
        self.shards = shards
        self.power = power
        self.bytes = shards.bytes
        self._part = _Part(spec)

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        found = self.shards.ask(self._part, self.power, "best_columns", np.ascontiguousarray(residuals), limit)
        for _, parts, columns in found.values():
            self.parts |= parts
            self._stats["columns"] += columns * len(residuals)
        best = merged_tops([tops for tops, _, _ in found.values()], limit)
        if self.spec.max_degree == 1:
            return best
        return [self._top(residual, limit, one) for residual, one in zip(residuals, best, strict=True)]

    def _top(self, residual: Floats, limit: int, best: Proposal) -> Proposal:
        asked = np.ascontiguousarray(residual), limit, self._floor(best, limit)
        found = self.shards.ask(self._part, self.power, "candidates", *asked).values()
        keys, sizes = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return self._search(residual, limit, best, keys, sizes)
