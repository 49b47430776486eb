"""Groups that form a tree, searched from the roots with pruning."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.groups import Groups
from thresher.columns.types import Floats, Proposal, SingleColumns
from thresher.errors import SettingsError
from thresher.fgm.families.group_family import GroupFamily, GroupSpec


class Tree(Groups):
    """Groups that form a tree: any two are either disjoint or nested (Definition 1 of the paper).

    Parameters
    ----------
    groups : sequence of sequences of int, or path
        The members of each group, as column positions, or the path of a text file with one group per line. The tree
        follows from the members.

    Notes
    -----
    A group's score is a sum of squares, so no descendant has a larger one (Remark 2). The analysis descends from the
    roots and skips the descendants of every group that is not among the best B. Scores divided by group size do not
    have this property, so a tree has no ``by_size``.
    """

    def __init__(self, groups: Any, *, by_size: bool = False) -> None:
        if by_size:
            raise SettingsError(
                "a tree cannot divide scores by size, because a descendant could then score higher than its parent; "
                "use Groups(…, overlap=True, by_size=True)"
            )
        super().__init__(groups, overlap=True)
        self.parent = self._parents()

    def _parents(self) -> NDArray[np.int64]:
        """The smallest group that contains each group; -1 for a root."""
        sizes = np.diff(self.indptr)
        parent = np.full(len(self), -1, np.int64)
        innermost: dict[int, int] = {}  # the smallest group so far that contains each column
        for group in np.argsort(-sizes, kind="stable").tolist():
            members = self.keys[self.indptr[group] : self.indptr[group + 1]].tolist()
            containers = {innermost.get(member, -1) for member in members}
            if len(containers) > 1:
                one, other = sorted(containers)[:2]
                raise SettingsError(
                    f"not a tree: groups {group} and {max(one, other)} overlap, but neither contains the other; use "
                    "Groups(…, overlap=True) for groups that are not nested"
                )
            parent[group] = containers.pop()
            if parent[group] >= 0 and sizes[parent[group]] == sizes[group]:
                raise SettingsError(f"not a tree: groups {parent[group]} and {group} have the same members")
            innermost.update(dict.fromkeys(members, group))
        return parent


class TreeSpec(GroupSpec):
    """The family whose elements are the groups of a tree."""

    groups: Tree

    def build(self, columns: SingleColumns) -> TreeFamily:
        return TreeFamily(self.groups, columns)


class TreeFamily(GroupFamily):
    """The groups of a tree over the columns of a dataset. ``visited`` counts the scores computed so far."""

    def __init__(self, tree: Tree, columns: SingleColumns) -> None:
        super().__init__(tree, columns)
        children: list[list[int]] = [[] for _ in range(len(tree))]
        self.roots: list[int] = []
        for group, parent in enumerate(tree.parent.tolist()):
            (self.roots if parent < 0 else children[parent]).append(group)
        self.children = children
        self.visited = 0
        self._distinct = np.unique(tree.keys)
        self._at = np.searchsorted(self._distinct, tree.keys)

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        return [self._top(squares[self._at], limit) for squares in self.single.squared_sums(residuals, self._distinct)]

    def _top(self, squares: Floats, limit: int) -> Proposal:
        best: list[tuple[float, int]] = []  # a heap of (score, -group), the worst first
        waiting = list(self.roots)
        while waiting:
            group = waiting.pop()
            self.visited += 1
            score = self._score(squares, group)
            if len(best) == limit and score < best[0][0]:
                continue  # its descendants score no higher
            if score > 0:
                (heapq.heappush if len(best) < limit else heapq.heappushpop)(best, (score, -group))
            waiting += self.children[group]
        order = sorted(best, key=lambda one: (-one[0], -one[1]))
        ids = np.array([-group for _, group in order], np.uint64)
        return Proposal(ids, np.array([score for score, _ in order]))

    def _score(self, squares: Floats, group: int) -> float:
        begin, end = self.groups.indptr[group : group + 2]
        return float(np.add.reduceat(squares[begin:end], [0])[0])
