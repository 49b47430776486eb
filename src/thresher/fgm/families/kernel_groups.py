"""Groups of coordinates of a kernel's map, in memory and in blocks."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.in_memory import StoredColumns, scales_of
from thresher.columns.types import Columns, Family, Floats, Ids, Proposal, best_of
from thresher.core.terms import Expansion, Term
from thresher.errors import FileFormatError

if TYPE_CHECKING:
    from thresher.fgm.families.additive import KernelFamily


class KernelGroups(Family):
    """What is known of groups that were proposed: the column each is of, and the largest value there.

    An id is a hash of the column's key and of the kernel; a coordinate's key is a hash of the id and of its number.
    """

    def __init__(self, kernel: KernelFamily, value_range: tuple[float, float]) -> None:
        self.kernel = kernel
        self.value_range = value_range
        self.known: dict[int, tuple[int, float]] = {}
        digest = hashlib.blake2b(kernel.fingerprint().encode(), digest_size=8).digest()
        self.salt = int.from_bytes(digest, "little")
        self.width = len(kernel.coordinates(1.0, value_range))

    def features(self, ids: Ids) -> tuple[NDArray[np.int64], Ids]:
        keys = [_native.hash_keys(np.ascontiguousarray(ids), number + 1) for number in range(self.width)]
        return np.arange(len(ids) + 1, dtype=np.int64) * self.width, np.stack(keys, axis=1).ravel()

    def expansion(self, keys: Ids) -> Expansion:
        every = np.array(list(self.known), np.uint64)
        made = self.features(every)[1].reshape(len(every), -1).tolist()
        terms: dict[int, Term] = {}
        for numbers, (column, largest) in zip(made, self.known.values(), strict=True):
            for key, coordinate in zip(numbers, self.kernel.coordinates(largest, self.value_range), strict=True):
                terms[key] = Term(key, (column,), coordinate)
        return Expansion(tuple(terms[key] for key in keys.tolist()))

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "ids": np.array(list(self.known), np.uint64),
            "columns": np.array([column for column, _ in self.known.values()], np.uint64),
            "largest": np.array([largest for _, largest in self.known.values()], np.float64),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        if not len(state["ids"]) == len(state["columns"]) == len(state["largest"]):
            raise FileFormatError("groups of no column")
        known = zip(state["columns"].tolist(), state["largest"].tolist(), strict=True)
        self.known = dict(zip(state["ids"].tolist(), known, strict=True))


class MappedFamily(KernelGroups):
    """The groups of columns in memory."""

    def __init__(self, kernel: KernelFamily, columns: StoredColumns, value_range: tuple[float, float]) -> None:
        super().__init__(kernel, value_range)
        self.single = columns
        self.rows = columns.rows
        self.bytes = columns.bytes
        only = None if kernel.columns is None else np.array(kernel.columns, np.uint64)
        how = kernel.map_of(value_range) | {"salt": self.salt, "power": columns.power, "team": columns.team}
        self._groups = _native.MappedColumns(columns.store, columns.weights, only, **how)

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        return [self._top(np.ascontiguousarray(residual), most) for residual in residuals]

    def _top(self, residual: Floats, most: int) -> Proposal:
        ids, scores, columns = self._groups.top(residual, most, self.single.team)
        for key, column in zip(ids.tolist(), columns.tolist(), strict=True):
            self.known[key] = column, self._largest(column)
        return Proposal(ids, self.single.total**self.single.power * scores)

    def _largest(self, column: int) -> float:
        return self._groups.largest(column) if "bins" in self.kernel.map_of(self.value_range) else 0.0

    def columns(self, ids: Ids) -> Columns:
        known = [self.known[key] for key in ids.tolist()]
        indptr, rows, values, squares = self._groups.take(np.array([column for column, _ in known], np.uint64))
        counts = self.kernel.scales(np.array([largest for _, largest in known])) ** (1 - self.single.power)
        scales = scales_of(squares, self.single.total, self.single.power) * np.repeat(counts, self.width)
        return Columns(indptr, rows, values, scales)


class BlockedGroups(KernelGroups):
    """The groups of columns that do not fit into memory: every analysis is a reading for each block of columns."""

    def __init__(self, kernel: KernelFamily, blocks: ColumnBlocks) -> None:
        super().__init__(kernel, blocks.value_range())
        self.blocks = blocks
        self.rows = blocks.rows
        self.bytes = blocks.memory

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        parts: list[list[Proposal]] = [[] for _ in residuals]
        for block in self.blocks:
            family = MappedFamily(self.kernel, block, self.value_range)
            for part, proposal in zip(parts, family.top(residuals, most), strict=True):
                part.append(proposal)
            self.known |= family.known
        return [best_of(part, most) for part in parts]

    def columns(self, ids: Ids) -> Columns:
        keys = np.unique(np.array([self.known[key][0] for key in ids.tolist()], np.uint64))
        family = MappedFamily(self.kernel, self.blocks.load(keys), self.value_range)
        family.known = self.known
        return family.columns(ids)
