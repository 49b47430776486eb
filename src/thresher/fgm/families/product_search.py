"""Products of columns, in memory and of data larger than that."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.column_blocks import ENTRY, ColumnBlocks
from thresher.columns.in_memory import StoredColumns, scales_of
from thresher.columns.types import Columns, Family, Floats, Ids, Proposal, best_of
from thresher.core.terms import Expansion, Term
from thresher.errors import FileFormatError

if TYPE_CHECKING:
    from thresher.fgm.families.factors import OfFactors


class KnownProducts(Family):
    """What is known of products that were proposed: the columns they are of.

    An id is the column's key, or the hash of the keys of the product's parts that it is for `Interactions` too.
    """

    def __init__(self, products: OfFactors) -> None:
        self.products = products
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
            raise FileFormatError("products that are none")
        ends = np.cumsum(sizes).tolist()
        cut = [tuple(parts[end - size : end]) for end, size in zip(ends, sizes.tolist(), strict=True)]
        self.parts = dict(zip(state["ids"].tolist(), cut, strict=True))


class ProductFamily(KnownProducts):
    """The products of columns in memory."""

    def __init__(self, products: OfFactors, columns: StoredColumns) -> None:
        super().__init__(products)
        self.single = columns
        self.rows = columns.rows
        factors = [
            (
                None if factor.columns is None else np.array(factor.columns, np.uint64),
                *(factor.least, factor.most, factor.powers),
                *((1.0, 1.0) if columns.power == 1 else (factor.gamma, factor.r)),  # they cancel
            )
            for factor in products.factors
        ]
        self._search = _native.ProductSearch(
            columns.store, columns.weights, factors, power=columns.power, team=columns.team
        )
        columns.check()
        self.bytes = columns.bytes + self._search.bytes

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        return [self._top(np.ascontiguousarray(residual), most) for residual in residuals]

    def _top(self, residual: Floats, most: int) -> Proposal:
        return self._known(*self._search.top(residual, most, self.products.prune, self.single.team))

    def _known(self, ids: Ids, scores: Floats, starts: NDArray[np.int64], parts: Ids) -> Proposal:
        for i, key in enumerate(ids.tolist()):
            self.parts[key] = tuple(sorted(parts[starts[i] : starts[i + 1]].tolist()))
        return Proposal(ids, self._scale * scores)

    @property
    def _scale(self) -> float:
        """What scores are multiplied by, with columns of a root mean square of one rather than of unit length."""
        return float(self.single.total**self.single.power)

    def look(self, residual: Floats, most: int) -> tuple[Proposal, Ids, Floats, NDArray[np.int64]]:
        """The best columns; and the keys of all, what their products cannot exceed, and in how many rows they stand."""
        best, keys, bounds, sizes = self._search.look(np.ascontiguousarray(residual), most, self.single.team)
        return self._known(*best), keys, bounds * self._scale, sizes

    def columns(self, ids: Ids) -> Columns:
        products = [self.parts[key] for key in ids.tolist()]
        starts = np.concatenate([[0], np.cumsum([len(parts) for parts in products])]).astype(np.int64)
        keys = np.array([key for parts in products for key in parts], np.uint64)
        indptr, rows, values, squares = self._search.take(starts, keys)
        constants = self._search.constants(starts, keys) ** (0.5 * (1 - self.single.power))
        return Columns(indptr, rows, values, scales_of(squares, self.single.total, self.single.power) * constants)

    def report(self) -> dict[str, int]:
        columns, entered, scored = self._search.counts
        return {"columns": columns, "entered": entered, "scored": scored}


class StreamedProducts(KnownProducts):
    """The products of columns that do not fit into memory.

    A first reading for each block of columns leaves those whose products may be among the best. Mostly these fit; where
    they do not, they are loaded two blocks at a time (three, for products of three), so that any two columns meet
    (Algorithm 5 of the paper).
    """

    def __init__(self, products: OfFactors, blocks: ColumnBlocks) -> None:
        super().__init__(products)
        self.blocks = blocks
        self.rows = blocks.rows
        self.bytes = blocks.memory
        self._looked = dict.fromkeys(("columns", "entered", "scored"), 0)

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        looks = self._look(residuals, most)
        return [self._top(residual, most, *look) for residual, look in zip(residuals, looks, strict=True)]

    def _top(
        self, residual: Floats, most: int, best: Proposal, keys: Ids, bounds: Floats, sizes: NDArray[np.int64]
    ) -> Proposal:
        self._looked["columns"] += len(keys)
        if self.products.largest == 1:
            return best
        floor = best.scores[-1] if self.products.prune and len(best.ids) == most else 0.0
        left = bounds >= floor * (1 - 1e-12)
        for wanted in self._together(keys[left], sizes[left]):
            family = ProductFamily(self.products, self.blocks.load(wanted))
            best = best_of([best, *family.top(residual[None, :], most)], most)
            self.parts |= family.parts
            for name in ("entered", "scored"):
                self._looked[name] += family.report()[name]
        return best

    def _look(self, residuals: Floats, most: int) -> list[tuple[Proposal, Ids, Floats, NDArray[np.int64]]]:
        """`ProductFamily.look` over all blocks, for each output."""
        best = [Proposal(np.empty(0, np.uint64), np.empty(0))] * len(residuals)
        parts: list[list[Any]] = [[] for _ in residuals]
        for block in self.blocks:
            family = ProductFamily(self.products, block)
            for i, residual in enumerate(residuals):
                found, *arrays = family.look(residual, most)
                best[i] = best_of([best[i], found], most)
                parts[i].append(arrays)
            self.parts |= family.parts
        joined = [[np.concatenate(arrays) for arrays in zip(*part, strict=True)] for part in parts]
        return [(one, keys, bounds, sizes) for one, (keys, bounds, sizes) in zip(best, joined, strict=True)]

    def _together(self, keys: Ids, sizes: NDArray[np.int64]) -> list[Ids]:
        """Sets of columns to load: one of all, or as many as it takes for those of any product to meet in one."""
        if ENTRY * int(sizes.sum()) <= self.blocks.memory:
            return [keys] if len(keys) else []
        degree = self.products.largest
        pieces = np.cumsum(sizes) // max(1, self.blocks.memory // (degree * ENTRY))
        cut = np.split(keys, np.flatnonzero(np.diff(pieces)) + 1)
        return [np.concatenate(some) for some in combinations(cut, min(degree, len(cut)))]

    def columns(self, ids: Ids) -> Columns:
        wanted = np.unique(np.array([key for one in ids.tolist() for key in self.parts[one]], np.uint64))
        family = ProductFamily(self.products, self.blocks.load(wanted))
        family.parts = self.parts
        return family.columns(ids)

    def report(self) -> dict[str, int]:
        return dict(self._looked)
