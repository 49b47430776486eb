"""Features in groups: what groups and trees share."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thresher.families.family import Family, Ids
from thresher.families.stored import StoredColumns

if TYPE_CHECKING:
    from thresher.working_set.settings import FGMSettings


class Structure(ABC):
    """Which features belong together, before there is any data."""

    #: Where each group's members begin, and the members' keys.
    indptr: NDArray[np.int64]
    keys: Ids

    @abstractmethod
    def check(self, size: int | None, settings: FGMSettings) -> None:
        """Raise unless this goes with data of ``size`` columns (None: unknown) and these settings."""

    @abstractmethod
    def over(self, columns: StoredColumns) -> Family:
        """The family of these groups of the data's columns."""

    def fingerprint(self) -> str:
        """A hash that changes when the groups do."""
        digest = hashlib.blake2b(self.indptr.tobytes() + self.keys.tobytes(), digest_size=16)
        return f"{type(self).__name__}:{digest.hexdigest()}"
