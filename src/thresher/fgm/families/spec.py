"""The description of a feature family, independent of any data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.groups import Groups
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.sharded import Shards
from thresher.columns.types import Family
from thresher.core.feature_space import FeatureSpace


class FamilySpec(ABC):
    """Describes a family of features. `build` and `build_blocked` make the family from the columns of a dataset."""

    #: Why workers that share the columns cannot search the family; empty if they can, by `build_sharded`.
    no_workers: str = "it does not divide its elements among workers"

    def resolve(self, space: FeatureSpace) -> FamilySpec:
        """Translate column names into keys of ``space``; raise if the family does not apply to these features."""
        return self

    def column_names(self) -> tuple[str, ...]:
        """The columns that were specified by name."""
        return ()

    @abstractmethod
    def check(self, size: int | None, k: int) -> None:
        """Raise if the family does not apply to ``size`` columns (None: unknown), or if it cannot provide ``k``
        elements."""

    @abstractmethod
    def build(self, columns: InMemoryColumns) -> Family:
        """Build the family from columns in memory."""

    @abstractmethod
    def build_blocked(self, blocks: ColumnBlocks) -> Family:
        """Build the family from columns that do not fit in memory."""

    def build_sharded(self, shards: Shards, power: float) -> Family:
        """Build the family from columns that workers hold; only if `no_workers` is empty."""
        raise NotImplementedError

    @abstractmethod
    def fingerprint(self) -> str:
        """A text that identifies the family in checkpoints."""


#: What ``family=`` accepts, see `thresher.fgm.families.parse.as_family_spec`.
FamilyLike: TypeAlias = str | FamilySpec | Groups
