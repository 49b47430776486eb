"""Products of columns, in memory and of data larger than that."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.errors import FileFormatError
from thresher.expansion import Expansion, Term
from thresher.families.blocked import ENTRY, ColumnBlocks
from thresher.families.family import Columns, Family, Floats, Ids, Proposal, best_of
from thresher.families.stored import StoredColumns, scales_of

if TYPE_CHECKING:
    from thresher.families.polynomial import Polynomial


class KnownProducts(Family):
    """What is known of products that were proposed: the columns they are of.

    An id is the column's key, or the hash of the keys of the product's parts that it is for `Interactions` too.
    """

    def __init__(self, polynomial: Polynomial) -> None:
        self.polynomial = polynomial
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

    def __init__(self, polynomial: Polynomial, columns: StoredColumns) -> None:
        super().__init__(polynomial)
        self.single = columns
        self.rows = columns.rows
        self._search = _native.ProductSearch(
            columns.store,
            columns.weights,
            None if polynomial.columns is None else np.array(polynomial.columns, np.uint64),
            degree=polynomial.degree,
            powers=polynomial.powers,
            linear=polynomial.linear,
            unit=columns.unit,
            gamma=polynomial.gamma,
            r=polynomial.r,
            team=columns.team,
        )
        columns.check()
        self.bytes = columns.bytes + self._search.bytes

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        return [self._top(np.ascontiguousarray(residual), most) for residual in residuals]

    def _top(self, residual: Floats, most: int) -> Proposal:
        return self._known(*self._search.top(residual, most, self.polynomial.prune, self.single.team))

    def _known(self, ids: Ids, scores: Floats, starts: NDArray[np.int64], parts: Ids) -> Proposal:
        for i, key in enumerate(ids.tolist()):
            self.parts[key] = tuple(sorted(parts[starts[i] : starts[i + 1]].tolist()))
        return Proposal(ids, self.single.total * scores if self.single.unit else scores)

    def look(self, residual: Floats, most: int) -> tuple[Proposal, Ids, Floats, NDArray[np.int64]]:
        """The best columns; and the keys of all, what their products cannot exceed, and in how many rows they stand."""
        best, keys, bounds, sizes = self._search.look(np.ascontiguousarray(residual), most, self.single.team)
        return self._known(*best), keys, bounds * (self.single.total if self.single.unit else 1.0), sizes

    def columns(self, ids: Ids) -> Columns:
        products = [self.parts[key] for key in ids.tolist()]
        starts = np.concatenate([[0], np.cumsum([len(parts) for parts in products])]).astype(np.int64)
        keys = np.array([key for parts in products for key in parts], np.uint64)
        indptr, rows, values, squares = self._search.take(starts, keys)
        if self.single.unit:
            return Columns(indptr, rows, values, scales_of(squares, self.single.total, 1.0))
        return Columns(indptr, rows, values, np.sqrt([self.polynomial.factor(parts) for parts in products]))

    def report(self) -> dict[str, Any]:
        columns, entered, scored = self._search.counts
        return {"columns": columns, "entered": entered, "scored": scored}


class StreamedProducts(KnownProducts):
    """The products of columns that do not fit into memory.

    A first reading for each block of columns leaves those whose products may be among the best. Mostly these fit; where
    they do not, they are loaded two blocks at a time (three, for products of three), so that any two columns meet
    (Algorithm 5 of the paper).
    """

    def __init__(self, polynomial: Polynomial, blocks: ColumnBlocks) -> None:
        super().__init__(polynomial)
        self.blocks = blocks
        self.rows = blocks.rows
        self.bytes = blocks.memory

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        return [self._top(residual, most) for residual in residuals]

    def _top(self, residual: Floats, most: int) -> Proposal:
        best, keys, bounds, sizes = self._look(residual, most)
        floor = best.scores[-1] if self.polynomial.prune and len(best.ids) == most else 0.0
        left = bounds >= floor * (1 - 1e-12)
        for wanted in self._together(keys[left], sizes[left]):
            family = ProductFamily(self.polynomial, self.blocks.load(wanted))
            best = best_of([best, *family.top(residual[None, :], most)], most)
            self.parts |= family.parts
        return best

    def _look(self, residual: Floats, most: int) -> tuple[Proposal, Ids, Floats, NDArray[np.int64]]:
        """`ProductFamily.look` over all blocks."""
        best = Proposal(np.empty(0, np.uint64), np.empty(0))
        parts = []
        for block in self.blocks:
            family = ProductFamily(self.polynomial, block)
            found, *arrays = family.look(residual, most)
            best = best_of([best, found], most)
            self.parts |= family.parts
            parts.append(arrays)
        keys, bounds, sizes = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return best, keys, bounds, sizes

    def _together(self, keys: Ids, sizes: NDArray[np.int64]) -> list[Ids]:
        """Sets of columns to load: one of all, or as many as it takes for those of any product to meet in one."""
        if ENTRY * int(sizes.sum()) <= self.blocks.memory:
            return [keys] if len(keys) else []
        degree = self.polynomial.degree
        pieces = np.cumsum(sizes) // max(1, self.blocks.memory // (degree * ENTRY))
        cut = np.split(keys, np.flatnonzero(np.diff(pieces)) + 1)
        return [np.concatenate(some) for some in combinations(cut, min(degree, len(cut)))]

    def columns(self, ids: Ids) -> Columns:
        wanted = np.unique(np.array([key for one in ids.tolist() for key in self.parts[one]], np.uint64))
        family = ProductFamily(self.polynomial, self.blocks.load(wanted))
        family.parts = self.parts
        return family.columns(ids)
