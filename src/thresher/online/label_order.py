"""Detection of rows that are sorted by class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class LabelOrder:
    """Detects rows that are sorted by class, from which an online learner forgets the earlier classes."""

    def __init__(self, has_classes: bool) -> None:
        self._counts: dict[float, int] = {}
        self._changes = 0
        self._last = np.nan
        self._has_classes = has_classes

    def add(self, targets: NDArray[np.float64]) -> None:
        """Count the next rows."""
        if not self._has_classes or not len(targets):
            return
        self._changes += int(targets[0] != self._last) + int((targets[1:] != targets[:-1]).sum())
        self._last = float(targets[-1])
        for target, count in zip(*np.unique(targets, return_counts=True), strict=True):
            self._counts[float(target)] = self._counts.get(float(target), 0) + int(count)

    @property
    def sorted(self) -> bool:
        """Whether neighbouring rows differ less than a quarter as often as by chance, in at least 100 rows."""
        rows = sum(self._counts.values())
        chance = 1.0 - sum((count / rows) ** 2 for count in self._counts.values()) if rows else 0.0
        return rows >= 100 and self._changes < 0.25 * chance * rows
