"""Groups of features that a function of their keys tells, such as k-mers that begin alike: in memory and in blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.in_memory import StoredColumns
from thresher.columns.types import Columns, Family, Floats, Ids, Proposal
from thresher.core.memory import show_size
from thresher.errors import FileFormatError, SettingsError

if TYPE_CHECKING:
    from thresher.fgm.families.kmer_spectrum import Spectrum


class MarkedGroups(Family):
    """Groups by what their features have in common: a group's id is the mark that these share.

    Only features that occur are in any group. Scores are added up in the order of the features' hashes, in which blocks
    of columns come too, so they have the same bits however many there are.
    """

    def __init__(self, spectrum: Spectrum) -> None:
        self.spectrum = spectrum
        #: The features of groups that were proposed, rising.
        self.members: dict[int, Ids] = {}

    @abstractmethod
    def _marked(self) -> Iterable[tuple[StoredColumns, Ids, Ids]]:
        """Columns, their keys in the order of their hashes, and their marks."""

    @abstractmethod
    def _find(self, marks: Ids) -> Ids:
        """The features of these groups, rising."""

    def _check(self, groups: int, outputs: int) -> None:
        """Raise where the scores of so many groups do not fit."""

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        groups, sizes, scores = np.empty(0, np.uint64), np.empty(0), np.empty((len(residuals), 0))
        for columns, keys, marks in self._marked():
            every = np.union1d(groups, marks)
            self._check(len(every), len(residuals))
            places = np.searchsorted(every, groups)
            old_sizes, old_scores = sizes, scores
            sizes, scores = np.zeros(len(every)), np.zeros((len(residuals), len(every)))
            sizes[places], scores[:, places], groups = old_sizes, old_scores, every
            at = np.searchsorted(groups, marks)
            np.add.at(sizes, at, 1.0)
            for mine, squares in zip(scores, columns.squared_sums(residuals, keys), strict=True):
                np.add.at(mine, at, squares)
        if self.spectrum.by_size:
            scores /= sizes
        proposals = []
        for mine in scores:
            order = np.lexsort((groups, -mine))[:most]
            order = order[mine[order] > 0]
            proposals.append(Proposal(groups[order], mine[order]))
        self._learn(np.concatenate([proposal.ids for proposal in proposals]))
        return proposals

    def _learn(self, ids: Ids) -> None:
        new = np.array([mark for mark in np.unique(ids).tolist() if mark not in self.members], np.uint64)
        if len(new):
            keys = self._find(new)
            marks = self.spectrum.marks(keys)
            self.members |= {mark: keys[marks == mark] for mark in new.tolist()}

    def features(self, ids: Ids) -> tuple[NDArray[np.int64], Ids]:
        parts = [self.members[mark] for mark in ids.tolist()]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        return starts, np.concatenate([np.empty(0, np.uint64), *parts])

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "ids": np.array(list(self.members), np.uint64),
            "sizes": np.array([len(keys) for keys in self.members.values()], np.int64),
            "members": np.concatenate([np.empty(0, np.uint64), *self.members.values()]),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        ids, sizes, members = state["ids"], state["sizes"], state["members"]
        if len(ids) != len(sizes) or (sizes < 0).any() or int(sizes.sum()) != len(members):
            raise FileFormatError("groups of no features")
        self.members = (
            dict(zip(ids.tolist(), np.split(members, np.cumsum(sizes)[:-1]), strict=True)) if len(ids) else {}
        )


def _by_hash(columns: StoredColumns) -> Ids:
    assert isinstance(columns.store, _native.ColumnStore)
    keys = columns.store.keys
    return keys[np.argsort(_native.mix_keys(keys))]


class StoredMarks(MarkedGroups):
    """Groups of columns in memory."""

    def __init__(self, spectrum: Spectrum, columns: StoredColumns) -> None:
        super().__init__(spectrum)
        self.single = columns
        self.rows = columns.rows
        keys = _by_hash(columns)
        self._every = columns, keys, spectrum.marks(keys)
        self.bytes = columns.bytes + 2 * keys.nbytes

    def _marked(self) -> Iterable[tuple[StoredColumns, Ids, Ids]]:
        return [self._every]

    def _find(self, marks: Ids) -> Ids:
        _, keys, every = self._every
        return np.sort(keys[np.isin(every, marks)])

    def columns(self, ids: Ids) -> Columns:
        return self.single.columns(self.features(ids)[1])


class BlockedMarks(MarkedGroups):
    """Groups of columns that do not fit into memory: every analysis is a reading for each block of columns, and one
    more where groups are new."""

    def __init__(self, spectrum: Spectrum, blocks: ColumnBlocks) -> None:
        super().__init__(spectrum)
        self.blocks = blocks
        self.rows = blocks.rows
        self.bytes = blocks.memory

    def _marked(self) -> Iterable[tuple[StoredColumns, Ids, Ids]]:
        for columns in self.blocks:
            keys = _by_hash(columns)
            yield columns, keys, self.spectrum.marks(keys)

    def _find(self, marks: Ids) -> Ids:
        return self.blocks.keys(lambda keys: np.isin(self.spectrum.marks(keys), marks))

    def _check(self, groups: int, outputs: int) -> None:
        needed = 16 * groups * (2 + outputs)
        if needed > self.blocks.memory:
            raise SettingsError(
                f"the scores of {groups} groups of k-mers take {show_size(needed)}, and "
                f"{show_size(self.blocks.memory)} are left for them: give more memory, or group by fewer letters"
            )

    def columns(self, ids: Ids) -> Columns:
        keys = self.features(ids)[1]
        return self.blocks.load(np.unique(keys)).columns(keys)
