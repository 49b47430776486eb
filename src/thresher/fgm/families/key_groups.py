"""Groups of features by a function of their keys, such as k-mers with the same prefix; in memory and out of core."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.types import Family, Floats, Ids, Proposal, ScaledColumns
from thresher.core.memory import show_size
from thresher.errors import FileFormatError, SettingsError
from thresher.fgm.families.group_family import concatenate_groups

if TYPE_CHECKING:
    from thresher.fgm.families.kmer_spectrum import Spectrum


class KeyGroups(Family):
    """Groups of the features whose keys have the same ``spectrum.group_ids``.

    Only features that occur in the data belong to a group. Scores are summed in the order of the features' hashes,
    which is also the order of the column blocks. Therefore the number of blocks does not change a bit of them.
    """

    def __init__(self, spectrum: Spectrum) -> None:
        self.spectrum = spectrum
        #: The features of proposed groups, in ascending order.
        self.members: dict[int, Ids] = {}

    @abstractmethod
    def _columns_by_hash(self) -> Iterable[tuple[InMemoryColumns, Ids, Ids]]:
        """Columns, their keys in the order of their hashes, and the group ids of these keys."""

    @abstractmethod
    def _find_members(self, ids: Ids) -> Ids:
        """The features of these groups, in ascending order."""

    def _check_memory(self, groups: int, outputs: int) -> None:
        """Raise if the scores of this many groups do not fit in memory."""

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        groups, sizes, scores = np.empty(0, np.uint64), np.empty(0), np.empty((len(residuals), 0))
        for columns, keys, ids in self._columns_by_hash():
            merged = np.union1d(groups, ids)
            self._check_memory(len(merged), len(residuals))
            places = np.searchsorted(merged, groups)
            old_sizes, old_scores = sizes, scores
            sizes, scores = np.zeros(len(merged)), np.zeros((len(residuals), len(merged)))
            sizes[places], scores[:, places], groups = old_sizes, old_scores, merged
            at = np.searchsorted(groups, ids)
            np.add.at(sizes, at, 1.0)
            for output_scores, squares in zip(scores, columns.squared_sums(residuals, keys), strict=True):
                np.add.at(output_scores, at, squares)
        if self.spectrum.by_size:
            scores /= sizes
        proposals = []
        for output_scores in scores:
            order = np.lexsort((groups, -output_scores))[:limit]
            order = order[output_scores[order] > 0]
            proposals.append(Proposal(groups[order], output_scores[order]))
        self._remember(np.concatenate([proposal.ids for proposal in proposals]))
        return proposals

    def _remember(self, ids: Ids) -> None:
        new = np.array([one for one in np.unique(ids).tolist() if one not in self.members], np.uint64)
        if len(new):
            keys = self._find_members(new)
            key_ids = self.spectrum.group_ids(keys)
            self.members |= {one: keys[key_ids == one] for one in new.tolist()}

    def features(self, ids: Ids) -> tuple[NDArray[np.int64], Ids]:
        return concatenate_groups([self.members[one] for one in ids.tolist()])

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "ids": np.array(list(self.members), np.uint64),
            "sizes": np.array([len(keys) for keys in self.members.values()], np.int64),
            "members": np.concatenate([np.empty(0, np.uint64), *self.members.values()]),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        ids, sizes, members = state["ids"], state["sizes"], state["members"]
        if len(ids) != len(sizes) or (sizes < 0).any() or int(sizes.sum()) != len(members):
            raise FileFormatError("inconsistent list of groups")
        self.members = (
            dict(zip(ids.tolist(), np.split(members, np.cumsum(sizes)[:-1]), strict=True)) if len(ids) else {}
        )


def _keys_by_hash(columns: InMemoryColumns) -> Ids:
    if not isinstance(columns.store, _native.ColumnStore):
        raise SettingsError("groups of keys need sparse columns, but the data is a dense matrix; choose another family")
    keys = columns.store.keys
    return keys[np.argsort(_native.mix_keys(keys))]


class InMemoryKeyGroups(KeyGroups):
    """Groups of columns in memory."""

    def __init__(self, spectrum: Spectrum, columns: InMemoryColumns) -> None:
        super().__init__(spectrum)
        self.single = columns
        self.rows = columns.rows
        keys = _keys_by_hash(columns)
        self._sorted = columns, keys, spectrum.group_ids(keys)
        self.bytes = columns.bytes + 2 * keys.nbytes

    def _columns_by_hash(self) -> Iterable[tuple[InMemoryColumns, Ids, Ids]]:
        return [self._sorted]

    def _find_members(self, ids: Ids) -> Ids:
        _, keys, key_ids = self._sorted
        return np.sort(keys[np.isin(key_ids, ids)])

    def columns(self, ids: Ids) -> ScaledColumns:
        return self.single.columns(self.features(ids)[1])


class BlockedKeyGroups(KeyGroups):
    """Groups of columns that do not fit in memory: every analysis reads the data once per block of columns, and once
    more if it proposes new groups."""

    def __init__(self, spectrum: Spectrum, blocks: ColumnBlocks) -> None:
        super().__init__(spectrum)
        self.blocks = blocks
        self.rows = blocks.rows
        self.bytes = blocks.memory

    def _columns_by_hash(self) -> Iterable[tuple[InMemoryColumns, Ids, Ids]]:
        for columns in self.blocks:
            keys = _keys_by_hash(columns)
            yield columns, keys, self.spectrum.group_ids(keys)

    def _find_members(self, ids: Ids) -> Ids:
        return self.blocks.find_keys(lambda keys: np.isin(self.spectrum.group_ids(keys), ids))

    def _check_memory(self, groups: int, outputs: int) -> None:
        needed = 16 * groups * (2 + outputs)
        if needed > self.blocks.memory:
            raise SettingsError(
                f"the scores of {groups} groups of k-mers need {show_size(needed)}, but only "
                f"{show_size(self.blocks.memory)} are available; increase `memory`, or group by fewer letters"
            )

    def columns(self, ids: Ids) -> ScaledColumns:
        keys = self.features(ids)[1]
        return self.blocks.load(np.unique(keys)).columns(keys)
