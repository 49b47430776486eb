"""The search for the best products of columns, in memory and out of core."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.column_blocks import BYTES_PER_ENTRY, ColumnBlocks
from thresher.columns.in_memory import InMemoryColumns, column_scales
from thresher.columns.types import Family, Floats, Ids, Proposal, ScaledColumns, merge_proposals
from thresher.core.terms import Expansion, Term
from thresher.errors import FileFormatError

if TYPE_CHECKING:
    from thresher.fgm.families.product import ProductSpec


class ProposedProducts(Family):
    """Remembers the columns of every proposed product.

    The id of a product is a hash of the keys of its columns, the same as `Interactions` computes. The id of a single
    column is its key.
    """

    def __init__(self, spec: ProductSpec) -> None:
        self.spec = spec
        self.parts: dict[int, tuple[int, ...]] = {}

    def expansion(self, keys: Ids) -> Expansion:
        return Expansion(tuple(Term(key, self.parts[key]) for key in keys.tolist()))

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "ids": np.array(list(self.parts), np.uint64),
            "sizes": np.array([len(parts) for parts in self.parts.values()], np.int64),
            "parts": np.array([key for parts in self.parts.values() for key in parts], np.uint64),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        sizes, parts = state["sizes"], state["parts"].tolist()
        if len(sizes) != len(state["ids"]) or int(sizes.sum()) != len(parts) or (sizes < 1).any():
            raise FileFormatError("inconsistent list of products")
        ends = np.cumsum(sizes).tolist()
        cut = [tuple(parts[end - size : end]) for end, size in zip(ends, sizes.tolist(), strict=True)]
        self.parts = dict(zip(state["ids"].tolist(), cut, strict=True))


class ProductFamily(ProposedProducts):
    """Products of columns in memory."""

    def __init__(self, spec: ProductSpec, columns: InMemoryColumns) -> None:
        super().__init__(spec)
        self.single = columns
        self.rows = columns.rows
        factors = [
            (
                None if factor.columns is None else np.array(factor.columns, np.uint64),
                *(factor.min_degree, factor.max_degree, factor.powers),
                *((1.0, 1.0) if columns.power == 1 else (factor.gamma, factor.r)),  # they cancel
            )
            for factor in spec.factors
        ]
        self._search = _native.ProductSearch(
            columns.store, columns.weights, factors, power=columns.power, pool=columns.pool
        )
        columns.check()
        self.bytes = columns.bytes + self._search.bytes

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        return [self._top(np.ascontiguousarray(residual), limit) for residual in residuals]

    def _top(self, residual: Floats, limit: int) -> Proposal:
        return self._remember(*self._search.top(residual, limit, self.spec.prune, self.single.pool))

    def _remember(self, ids: Ids, scores: Floats, starts: NDArray[np.int64], parts: Ids) -> Proposal:
        for i, key in enumerate(ids.tolist()):
            self.parts[key] = tuple(sorted(parts[starts[i] : starts[i + 1]].tolist()))
        return Proposal(ids, self._scale * scores)

    @property
    def _scale(self) -> float:
        """Converts scores of columns with unit norm to scores of columns with a root mean square of one."""
        return float(self.single.total**self.single.power)

    def bound_products(self, residual: Floats, limit: int) -> tuple[Proposal, Ids, Floats, NDArray[np.int64]]:
        """The best single columns; and of all columns the keys, the upper bounds of their products' scores, and the
        numbers of nonzero rows."""
        best, keys, bounds, sizes = self._search.look(np.ascontiguousarray(residual), limit, self.single.pool)
        return self._remember(*best), keys, bounds * self._scale, sizes

    def columns(self, ids: Ids) -> ScaledColumns:
        products = [self.parts[key] for key in ids.tolist()]
        starts = np.concatenate([[0], np.cumsum([len(parts) for parts in products])]).astype(np.int64)
        keys = np.array([key for parts in products for key in parts], np.uint64)
        indptr, rows, values, squares = self._search.take(starts, keys)
        constants = self._search.constants(starts, keys) ** (0.5 * (1 - self.single.power))
        scales = column_scales(squares, self.single.total, self.single.power) * constants
        return ScaledColumns(indptr, rows, values, scales)

    def search_stats(self) -> dict[str, int]:
        columns, entered, scored = self._search.counts
        return {"columns": columns, "entered": entered, "scored": scored}


class ColumnLoader(Protocol):
    """Loads columns into ``memory`` bytes of this process."""

    rows: int
    memory: int

    def load(self, keys: Ids) -> InMemoryColumns:
        """Load the columns of these keys."""


class LoadedProducts(ProposedProducts):
    """Products of columns that are not in the memory of this process: those in question are loaded for the search.

    They usually fit in memory. If they do not, the search loads every pair of their parts (every triple, for products
    of three), so that any two columns are in memory together once (Algorithm 5 of the paper).
    """

    def __init__(self, spec: ProductSpec, loader: ColumnLoader) -> None:
        super().__init__(spec)
        self.loader = loader
        self.rows = loader.rows
        self._stats = dict.fromkeys(("columns", "entered", "scored"), 0)

    def _floor(self, best: Proposal, limit: int) -> float:
        """The bound that the products of a column must reach."""
        floor = float(best.scores[-1]) if self.spec.prune and len(best.ids) == limit else 0.0
        return floor * (1 - 1e-12)

    def _search(self, residual: Floats, limit: int, best: Proposal, keys: Ids, sizes: NDArray[np.int64]) -> Proposal:
        """The best of what is known and of all products of these columns, which have so many nonzero rows."""
        for wanted in self._column_sets(keys, sizes):
            family = ProductFamily(self.spec, self.loader.load(wanted))
            best = merge_proposals([best, *family.top(residual[None, :], limit)], limit)
            self.parts |= family.parts
            for name in ("entered", "scored"):
                self._stats[name] += family.search_stats()[name]
        return best

    def _column_sets(self, keys: Ids, sizes: NDArray[np.int64]) -> list[Ids]:
        """Sets of columns that fit in memory; every product has all of its columns in one of them."""
        if BYTES_PER_ENTRY * int(sizes.sum()) <= self.loader.memory:
            return [keys] if len(keys) else []
        degree = self.spec.max_degree
        pieces = np.cumsum(sizes) // max(1, self.loader.memory // (degree * BYTES_PER_ENTRY))
        cut = np.split(keys, np.flatnonzero(np.diff(pieces)) + 1)
        return [np.concatenate(some) for some in combinations(cut, min(degree, len(cut)))]

    def columns(self, ids: Ids) -> ScaledColumns:
        wanted = np.unique(np.array([key for one in ids.tolist() for key in self.parts[one]], np.uint64))
        family = ProductFamily(self.spec, self.loader.load(wanted))
        family.parts = self.parts
        return family.columns(ids)

    def search_stats(self) -> dict[str, int]:
        return dict(self._stats)


class BlockedProducts(LoadedProducts):
    """Products of columns that do not fit in memory.

    A first pass for each block of columns finds those whose products may be among the best.
    """

    def __init__(self, spec: ProductSpec, blocks: ColumnBlocks) -> None:
        super().__init__(spec, blocks)
        self.blocks = blocks
        self.bytes = blocks.memory

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        bounded = self._bound_products(residuals, limit)
        return [self._top(residual, limit, *bounds) for residual, bounds in zip(residuals, bounded, strict=True)]

    def _top(
        self, residual: Floats, limit: int, best: Proposal, keys: Ids, bounds: Floats, sizes: NDArray[np.int64]
    ) -> Proposal:
        self._stats["columns"] += len(keys)
        if self.spec.max_degree == 1:
            return best
        left = bounds >= self._floor(best, limit)
        return self._search(residual, limit, best, keys[left], sizes[left])

    def _bound_products(self, residuals: Floats, limit: int) -> list[tuple[Proposal, Ids, Floats, NDArray[np.int64]]]:
        """`ProductFamily.bound_products` over all blocks, for each output."""
        best = [Proposal(np.empty(0, np.uint64), np.empty(0))] * len(residuals)
        parts: list[list[Any]] = [[] for _ in residuals]
        for block in self.blocks:
            family = ProductFamily(self.spec, block)
            for i, residual in enumerate(residuals):
                found, *arrays = family.bound_products(residual, limit)
                best[i] = merge_proposals([best[i], found], limit)
                parts[i].append(arrays)
            self.parts |= family.parts
        joined = [[np.concatenate(arrays) for arrays in zip(*part, strict=True)] for part in parts]
        return [(one, keys, bounds, sizes) for one, (keys, bounds, sizes) in zip(best, joined, strict=True)]
