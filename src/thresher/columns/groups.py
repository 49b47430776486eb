"""Groups of features, chosen or left whole."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thresher.columns.column_blocks import BlockedColumns, ColumnBlocks
from thresher.columns.family_spec import Grouped
from thresher.columns.group_file import read_groups
from thresher.columns.in_memory import StoredColumns
from thresher.columns.types import Columns, Family, Floats, Ids, Proposal
from thresher.errors import SettingsError


class Groups(Grouped):
    """Features in groups: ``k`` and ``B`` then count groups, and a group is taken or left as a whole.

    Parameters
    ----------
    groups : sequence of sequences of int, array, or path
        The members of each group, as columns by position (keys, in general); or, as an array, the number of the
        group that each column belongs to; or a file with a line of members for each group. Groups are known by their
        place in it.
    overlap : bool
        Whether a feature may be in several groups: it then counts in each of them as if it were there several times
        (no data is copied), and the model has the sum of its weights.
    by_size : bool
        Divide a group's score by its number of features, so that large groups are not favoured.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40))
    >>> y = X[:, 8:12].sum(axis=1) > 0
    >>> found = th.select(X, y, k=1, method="fgm", family=th.Groups(np.arange(40) // 4))
    >>> sorted(found.names)
    ['x10', 'x11', 'x8', 'x9']
    """

    def __init__(self, groups: Any, *, overlap: bool = False, by_size: bool = False) -> None:
        self.indptr, self.keys = _members(groups)
        self.overlap = overlap
        self.by_size = by_size
        empty = np.flatnonzero(np.diff(self.indptr) == 0)
        if not len(self.indptr) > 1 or len(empty):
            raise SettingsError("there are no groups" if len(self.indptr) == 1 else f"group {empty[0]} is empty")
        owner = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        order = np.lexsort((owner, self.keys))
        same = self.keys[order][1:] == self.keys[order][:-1]
        within = same & (owner[order][1:] == owner[order][:-1])
        if within.any():
            at = int(np.argmax(within))
            raise SettingsError(f"feature {self.keys[order][at]} is in group {owner[order][at]} twice")
        if same.any() and not overlap:
            at = int(np.argmax(same))
            raise SettingsError(
                f"feature {self.keys[order][at]} is in group {owner[order][at]} and in group {owner[order][at + 1]}: "
                "pass overlap=True if that is meant"
            )

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def fingerprint(self) -> str:
        return f"{super().fingerprint()}{':by_size' * self.by_size}"

    def check(self, size: int | None, k: int) -> None:
        if size is not None and int(self.keys.max()) >= size:
            group = int(np.searchsorted(self.indptr, int(self.keys.argmax()), side="right")) - 1
            raise SettingsError(f"group {group} holds column {self.keys.max()}, and columns go from 0 to {size - 1}")
        if k > len(self):
            raise SettingsError(f"k = {k} groups of {len(self)}: ask for no more than there are")

    def over(self, columns: StoredColumns | BlockedColumns) -> Family:
        return GroupFamily(self, columns)

    def streamed(self, blocks: ColumnBlocks) -> Family:
        return self.over(BlockedColumns(blocks))


class GroupFamily(Family):
    """The groups of a data's columns: scores are sums over their features."""

    def __init__(self, groups: Groups, columns: StoredColumns | BlockedColumns) -> None:
        self.groups = groups
        self.single = columns
        self.rows = columns.rows
        self.bytes = columns.bytes

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        return [self._top(squares, most) for squares in self.single.squared_sums(residuals, self.groups.keys)]

    def _top(self, squares: Floats, most: int) -> Proposal:
        """The best groups by the scores of their members."""
        scores = np.add.reduceat(squares, self.groups.indptr[:-1])
        if self.groups.by_size:
            scores = scores / np.diff(self.groups.indptr)
        order = np.argsort(-scores, kind="stable")[:most]  # ties to the smaller number
        order = order[scores[order] > 0]
        return Proposal(order.astype(np.uint64), scores[order])

    def columns(self, ids: Ids) -> Columns:
        return self.single.columns(self.features(ids)[1])

    def features(self, ids: Ids) -> tuple[np.ndarray[Any, np.dtype[np.int64]], Ids]:
        indptr, keys = self.groups.indptr, self.groups.keys
        parts = [keys[indptr[g] : indptr[g + 1]] for g in ids.astype(np.int64).tolist()]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        return starts, np.concatenate(parts) if parts else np.empty(0, np.uint64)


def as_groups(told: Any) -> Groups:
    """Groups as a user says them: `Groups`, what these are made of, or a file with a line each."""
    if isinstance(told, Groups):
        return told
    return Groups(told)


def _members(groups: Any) -> tuple[np.ndarray[Any, np.dtype[np.int64]], Ids]:
    if isinstance(groups, Mapping):
        raise SettingsError("groups are a sequence of groups, or the number of each column's group: no mapping")
    if isinstance(groups, (str, os.PathLike)):
        groups = read_groups(groups)
    if isinstance(groups, np.ndarray) and groups.ndim == 1 and groups.dtype.kind in "iu":
        if len(groups) and groups.min() < 0:
            raise SettingsError(f"the number of a group is negative: {groups.min()}")
        order = np.argsort(groups, kind="stable")
        counts = np.bincount(groups) if len(groups) else np.empty(0, np.int64)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), order.astype(np.uint64)
    if not isinstance(groups, (Sequence, np.ndarray)):
        raise SettingsError(f"groups are a sequence of groups of columns, not {type(groups).__name__}")
    parts = [np.array(group, np.uint64) if _keys(group) else np.asarray(group) for group in groups]
    for number, part in enumerate(parts):
        if part.ndim != 1 or (len(part) and part.dtype.kind not in "iu") or (part.size and int(part.min()) < 0):
            raise SettingsError(f"group {number} is no list of columns by position: {part.tolist()!r}")
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return starts, np.concatenate([*parts, np.empty(0, np.uint64)]).astype(np.uint64)


def _keys(group: Any) -> bool:
    """Whether this is a list of keys, of which some are too large for the integers that NumPy would take."""
    return isinstance(group, list) and all(isinstance(key, int) and 0 <= key < 2**64 for key in group)
