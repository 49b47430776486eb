"""What a family is before there is any data: groups and trees of columns, products of them."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thresher.errors import SettingsError
from thresher.families.blocked import ColumnBlocks
from thresher.families.family import Family, Ids
from thresher.families.stored import StoredColumns
from thresher.sizes import show_size
from thresher.space import FeatureSpace

if TYPE_CHECKING:
    from thresher.working_set.settings import FGMSettings


class Structure(ABC):
    """Which features there are, or which belong together, before there is any data."""

    def at(self, space: FeatureSpace) -> Structure:
        """The same for data of these features; raise unless it goes with them."""
        return self

    @abstractmethod
    def check(self, size: int | None, settings: FGMSettings) -> None:
        """Raise unless this goes with data of ``size`` columns (None: unknown) and these settings."""

    @abstractmethod
    def over(self, columns: StoredColumns) -> Family:
        """The family that this is for the data's columns."""

    def streamed(self, blocks: ColumnBlocks) -> Family:
        """The same where the columns do not fit into memory."""
        raise SettingsError(
            f"groups and trees need their columns in memory, and these take more than the {show_size(blocks.memory)} "
            "that are left for them: give more memory"
        )

    @abstractmethod
    def fingerprint(self) -> str:
        """What changes when the features do."""


def chosen_columns(columns: Sequence[int] | None) -> tuple[int, ...] | None:
    """Columns by position, each once and rising; None for all."""
    if columns is None:
        return None
    chosen = np.unique(np.asarray(columns))
    if not len(chosen) or chosen.dtype.kind not in "iu" or int(chosen.min()) < 0:
        raise SettingsError(f"columns are given by position, unlike {columns!r}")
    return tuple(chosen.tolist())


def check_scale(power: float) -> None:
    """Raise where columns are scaled half way: bounds and maps are of columns scaled alike, or as they are."""
    if power not in (0.0, 1.0):
        raise SettingsError('this family knows columns scaled alike (scale="norm") and as they are (None), not between')


class Grouped(Structure):
    """Which features belong together."""

    #: Where each group's members begin, and the members' keys.
    indptr: NDArray[np.int64]
    keys: Ids

    def fingerprint(self) -> str:
        digest = hashlib.blake2b(self.indptr.tobytes() + self.keys.tobytes(), digest_size=16)
        return f"{type(self).__name__}:{digest.hexdigest()}"
