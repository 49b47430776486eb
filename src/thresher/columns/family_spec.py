"""What a family is before there is any data: groups and trees of columns, products of them."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.in_memory import StoredColumns
from thresher.columns.types import Family, Ids
from thresher.core.feature_space import FeatureSpace


class Structure(ABC):
    """Which features there are, or which belong together, before there is any data."""

    def at(self, space: FeatureSpace) -> Structure:
        """The same for data of these features; raise unless it goes with them."""
        return self

    def names(self) -> tuple[str, ...]:
        """The columns that are given by name."""
        return ()

    @abstractmethod
    def check(self, size: int | None, k: int) -> None:
        """Raise unless this goes with data of ``size`` columns (None: unknown) and ``k``."""

    @abstractmethod
    def over(self, columns: StoredColumns) -> Family:
        """The family that this is for the data's columns."""

    @abstractmethod
    def streamed(self, blocks: ColumnBlocks) -> Family:
        """The same where the columns do not fit into memory."""

    @abstractmethod
    def fingerprint(self) -> str:
        """What changes when the features do."""


class Grouped(Structure):
    """Which features belong together."""

    #: Where each group's members begin, and the members' keys.
    indptr: NDArray[np.int64]
    keys: Ids

    def fingerprint(self) -> str:
        digest = hashlib.blake2b(self.indptr.tobytes() + self.keys.tobytes(), digest_size=16)
        return f"{type(self).__name__}:{digest.hexdigest()}"
