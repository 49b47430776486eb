"""The feature map of an additive kernel as groups of coordinates, in memory and out of core."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.in_memory import InMemoryColumns, column_scales
from thresher.columns.sharded import ShardedColumns, Shards, gathered, merged_tops
from thresher.columns.types import Family, Floats, Ids, Proposal, ScaledColumns, merge_proposals
from thresher.core.terms import Expansion, Term
from thresher.errors import FileFormatError

if TYPE_CHECKING:
    from thresher.fgm.families.additive import AdditiveKernel


class KernelGroups(Family):
    """Remembers the column of every proposed group, and the largest value in it.

    The id of a group is a hash of the column's key and the kernel. The key of a coordinate is a hash of the group's id
    and the coordinate's number.
    """

    def __init__(self, kernel: AdditiveKernel, value_range: tuple[float, float]) -> None:
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
        ids = np.array(list(self.known), np.uint64)
        coordinate_keys = self.features(ids)[1].reshape(len(ids), -1).tolist()
        terms: dict[int, Term] = {}
        for group, (column, largest) in zip(coordinate_keys, self.known.values(), strict=True):
            for key, coordinate in zip(group, self.kernel.coordinates(largest, self.value_range), strict=True):
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
            raise FileFormatError("inconsistent list of kernel groups")
        known = zip(state["columns"].tolist(), state["largest"].tolist(), strict=True)
        self.known = dict(zip(state["ids"].tolist(), known, strict=True))


class InMemoryKernelGroups(KernelGroups):
    """Kernel groups of columns in memory."""

    def __init__(self, kernel: AdditiveKernel, columns: InMemoryColumns, value_range: tuple[float, float]) -> None:
        super().__init__(kernel, value_range)
        self.single = columns
        self.rows = columns.rows
        self.bytes = columns.bytes
        only = None if kernel.columns is None else np.array(kernel.columns, np.uint64)
        options = kernel.map_options(value_range) | {"salt": self.salt, "power": columns.power, "pool": columns.pool}
        self._groups = _native.KernelGroups(columns.store, columns.weights, only, **options)

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        return [self._top(np.ascontiguousarray(residual), limit) for residual in residuals]

    def _top(self, residual: Floats, limit: int) -> Proposal:
        ids, scores, columns = self._groups.top(residual, limit, self.single.pool)
        for key, column in zip(ids.tolist(), columns.tolist(), strict=True):
            self.known[key] = column, self._largest(column)
        return Proposal(ids, self.single.total**self.single.power * scores)

    def _largest(self, column: int) -> float:
        return self._groups.largest(column) if "bins" in self.kernel.map_options(self.value_range) else 0.0

    def columns(self, ids: Ids) -> ScaledColumns:
        known = [self.known[key] for key in ids.tolist()]
        indptr, rows, values, squares = self._groups.take(np.array([column for column, _ in known], np.uint64))
        factors = self.kernel.scales(np.array([largest for _, largest in known])) ** (1 - self.single.power)
        scales = column_scales(squares, self.single.total, self.single.power) * np.repeat(factors, self.width)
        return ScaledColumns(indptr, rows, values, scales)


class BlockedKernelGroups(KernelGroups):
    """Kernel groups of columns that do not fit in memory: every analysis reads the data once per block of columns."""

    def __init__(self, kernel: AdditiveKernel, blocks: ColumnBlocks) -> None:
        super().__init__(kernel, blocks.value_range())
        self.blocks = blocks
        self.rows = blocks.rows
        self.bytes = blocks.memory

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        parts: list[list[Proposal]] = [[] for _ in residuals]
        for block in self.blocks:
            family = InMemoryKernelGroups(self.kernel, block, self.value_range)
            for part, proposal in zip(parts, family.top(residuals, limit), strict=True):
                part.append(proposal)
            self.known |= family.known
        return [merge_proposals(part, limit) for part in parts]

    def columns(self, ids: Ids) -> ScaledColumns:
        keys = np.unique(np.array([self.known[key][0] for key in ids.tolist()], np.uint64))
        family = InMemoryKernelGroups(self.kernel, self.blocks.load(keys), self.value_range)
        family.known = self.known
        return family.columns(ids)


@dataclass(frozen=True)
class _Part:
    """What a worker builds over its columns."""

    kernel: AdditiveKernel
    value_range: tuple[float, float]

    @property
    def identity(self) -> str:
        return f"{self.kernel.fingerprint()} {self.value_range}"

    def build(self, columns: InMemoryColumns) -> _AnswersForGroups:
        return _AnswersForGroups(InMemoryKernelGroups(self.kernel, columns, self.value_range))


class _AnswersForGroups:
    """The answers of a worker for the groups of its columns."""

    def __init__(self, family: InMemoryKernelGroups) -> None:
        self.family = family

    def top(self, residuals: Floats, limit: int) -> tuple[list[Proposal], dict[int, tuple[int, float]]]:
        """The best groups, and the column and largest value of each."""
        self.family.known = {}
        return self.family.top(residuals, limit), self.family.known

    def columns(self, ids: Ids, known: dict[int, tuple[int, float]]) -> ScaledColumns:
        """The coordinates of these groups."""
        self.family.known = known
        return self.family.columns(ids)


class ShardedKernelGroups(KernelGroups):
    """Kernel groups of columns that workers hold: a group belongs to the worker that has its column."""

    def __init__(self, kernel: AdditiveKernel, shards: Shards, power: float) -> None:
        super().__init__(kernel, ShardedColumns(shards, power).value_range())
        self.shards = shards
        self.power = power
        self.rows = shards.rows
        self.bytes = shards.bytes
        self._part = _Part(kernel, self.value_range)

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        found = self.shards.ask(self._part, self.power, "top", np.ascontiguousarray(residuals), limit)
        best = merged_tops([tops for tops, _ in found.values()], limit)
        proposed = {key for proposal in best for key in proposal.ids.tolist()}
        for _, known in found.values():
            self.known |= {key: column for key, column in known.items() if key in proposed}
        return best

    def columns(self, ids: Ids) -> ScaledColumns:
        known = [self.known[key] for key in ids.tolist()]
        places = self.shards.by_shard(np.array([column for column, _ in known], np.uint64))
        own = {shard: (ids[at], {int(ids[i]): known[i] for i in at.tolist()}) for shard, at in places.items()}
        found = self.shards.ask(self._part, self.power, "columns", own=own)
        within = np.arange(self.width)
        parts = [((at[:, None] * self.width + within).ravel(), found[shard]) for shard, at in places.items()]
        return gathered(parts, len(ids) * self.width)
