"""Groups in a tree: the worst-case analysis that leaves out what cannot be among the best."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from thresher.columns.column_blocks import BlockedColumns
from thresher.columns.groups import GroupFamily, Groups
from thresher.columns.in_memory import StoredColumns
from thresher.columns.types import Floats, Proposal
from thresher.errors import SettingsError


class Tree(Groups):
    """Groups of which any two are apart, or one holds the other (Definition 1 of the paper).

    Parameters
    ----------
    groups : sequence of sequences of int, or path
        The members of each group, as columns by position, or a file with a line of them for each group. Which group is
        under which follows from that.

    Notes
    -----
    A group's score is a sum of squares, so no group under it can have more (Remark 2): the analysis goes down from
    the roots and never looks at what is under a group that is not among the best B. Scores divided by the size of
    the group do not have that property, so there is no ``by_size`` here.
    """

    def __init__(self, groups: Any, *, by_size: bool = False) -> None:
        if by_size:
            raise SettingsError(
                "scores by size may be larger further down a tree, so nothing could be left out: use Groups("
                "…, overlap=True, by_size=True)"
            )
        super().__init__(groups, overlap=True)
        self.parent = self._parents()

    def _parents(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The smallest group that holds each; -1 for a root."""
        sizes = np.diff(self.indptr)
        parent = np.full(len(self), -1, np.int64)
        inner: dict[int, int] = {}  # the smallest group so far that each feature is in
        for group in np.argsort(-sizes, kind="stable").tolist():
            members = self.keys[self.indptr[group] : self.indptr[group + 1]].tolist()
            over = {inner.get(member, -1) for member in members}
            if len(over) > 1:
                one, other = sorted(over)[:2]
                raise SettingsError(
                    f"not a tree: group {group} has features in common with group {max(one, other)}, but neither holds "
                    "the other. Use Groups(…, overlap=True) for groups that cross"
                )
            parent[group] = over.pop()
            if parent[group] >= 0 and sizes[parent[group]] == sizes[group]:
                raise SettingsError(f"not a tree: groups {parent[group]} and {group} are the same")
            inner.update(dict.fromkeys(members, group))
        return parent

    def over(self, columns: StoredColumns | BlockedColumns) -> TreeFamily:
        return TreeFamily(self, columns)


class TreeFamily(GroupFamily):
    """The groups of a tree. ``visited`` counts groups whose score was formed, in all analyses."""

    def __init__(self, tree: Tree, columns: StoredColumns | BlockedColumns) -> None:
        super().__init__(tree, columns)
        children: list[list[int]] = [[] for _ in range(len(tree))]
        self.roots: list[int] = []
        for group, parent in enumerate(tree.parent.tolist()):
            (self.roots if parent < 0 else children[parent]).append(group)
        self.children = children
        self.visited = 0
        self._every = np.unique(tree.keys)
        self._at = np.searchsorted(self._every, tree.keys)

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        return [self._top(squares[self._at], most) for squares in self.single.squared_sums(residuals, self._every)]

    def _top(self, squares: Floats, most: int) -> Proposal:
        best: list[tuple[float, int]] = []  # a heap of (score, -group): the worst of the kept first
        waiting = list(self.roots)
        while waiting:
            group = waiting.pop()
            self.visited += 1
            score = self._score(squares, group)
            if len(best) == most and score < best[0][0]:
                continue  # nor can anything under it
            if score > 0:
                (heapq.heappush if len(best) < most else heapq.heappushpop)(best, (score, -group))
            waiting += self.children[group]
        order = sorted(best, key=lambda one: (-one[0], -one[1]))
        ids = np.array([-group for _, group in order], np.uint64)
        return Proposal(ids, np.array([score for score, _ in order]))

    def _score(self, squares: Floats, group: int) -> float:
        begin, end = self.groups.indptr[group : group + 2]
        return float(np.add.reduceat(squares[begin:end], [0])[0])
