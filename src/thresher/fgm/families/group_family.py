"""Groups of columns as a feature family."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher.columns.column_blocks import BlockedColumns, ColumnBlocks
from thresher.columns.groups import Groups
from thresher.columns.sharded import ShardedColumns, Shards
from thresher.columns.types import Family, Floats, Ids, Proposal, ScaledColumns, SingleColumns
from thresher.fgm.families.spec import FamilySpec


class GroupSpec(FamilySpec):
    """The family whose elements are the given groups."""

    no_workers = ""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups

    def check(self, size: int | None, k: int) -> None:
        self.groups.check(size, k)

    def build(self, columns: SingleColumns) -> Family:
        return GroupFamily(self.groups, columns)

    def build_blocked(self, blocks: ColumnBlocks) -> Family:
        return self.build(BlockedColumns(blocks))

    def build_sharded(self, shards: Shards, power: float) -> Family:
        return self.build(ShardedColumns(shards, power))

    def fingerprint(self) -> str:
        return self.groups.fingerprint()


class GroupFamily(Family):
    """Groups over the columns of a dataset. The score of a group is the sum of its columns' scores."""

    def __init__(self, groups: Groups, columns: SingleColumns) -> None:
        self.groups = groups
        self.single = columns
        self.rows = columns.rows
        self.bytes = columns.bytes

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        return [self._top(squares, limit) for squares in self.single.squared_sums(residuals, self.groups.keys)]

    def _top(self, squares: Floats, limit: int) -> Proposal:
        """The best groups, given the scores of all members in the order of ``groups.keys``."""
        scores = np.add.reduceat(squares, self.groups.indptr[:-1])
        if self.groups.by_size:
            scores = scores / np.diff(self.groups.indptr)
        order = np.argsort(-scores, kind="stable")[:limit]  # ties go to the smaller number
        order = order[scores[order] > 0]
        return Proposal(order.astype(np.uint64), scores[order])

    def columns(self, ids: Ids) -> ScaledColumns:
        return self.single.columns(self.features(ids)[1])

    def features(self, ids: Ids) -> tuple[NDArray[np.int64], Ids]:
        indptr, keys = self.groups.indptr, self.groups.keys
        return concatenate_groups([keys[indptr[g] : indptr[g + 1]] for g in ids.astype(np.int64).tolist()])


def concatenate_groups(members: list[Ids]) -> tuple[NDArray[np.int64], Ids]:
    """Where each group's members begin, and the members of all groups."""
    starts = np.concatenate([[0], np.cumsum([len(keys) for keys in members])]).astype(np.int64)
    return starts, np.concatenate([np.empty(0, np.uint64), *members])
