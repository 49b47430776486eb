"""The share of rows that hold at least one selected feature: the prediction of the others is the intercept alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.core.batch import Batch
from thresher.display import visible
from thresher.selection.selection import Selection
from thresher.sources.arrays import DenseSource
from thresher.sources.base import Source, Wrapped


class Coverage:
    """Counts the rows of ``source`` that hold a feature of ``selection``.

    Where every row holds all features (a dense matrix, random features, hash buckets), or none is selected, nothing
    is counted.
    """

    def __init__(self, selection: Selection, source: Source) -> None:
        while isinstance(source, Wrapped):
            source = source.source
        space = selection.space
        everywhere = space.random_features is not None or space.hashing is not None or isinstance(source, DenseSource)
        self._counts = len(selection) > 0 and not everywhere
        self.rows = 0
        self.covered = 0

    def add(self, batch: Batch) -> None:
        """Count rows that have only the features of the selection."""
        if self._counts:
            self.rows += len(batch)
            self.covered += int(np.count_nonzero(np.diff(batch.indptr)))

    @property
    def share(self) -> float | None:
        """The share of the rows; None without rows."""
        return self.covered / self.rows if self.rows else None


def rows_of_test(provenance: dict[str, Any]) -> str:
    """Which rows were held out, if any, and how many of the tested rows hold a selected feature, unless all do."""
    held, share = provenance.get("holdout"), provenance.get("covered")
    # A file may hold anything here.
    parts = [visible(str(held["rows"]))] if isinstance(held, dict) and "rows" in held else []
    if isinstance(share, int | float) and 0 <= share < 1:
        parts.append(show_share(share))
    return "; ".join(parts)


def show_share(share: float) -> str:
    """A share below 1 as a sentence. It is 0 % only if no row holds a feature, and never 100 %."""
    if share == 0:
        return "no row holds a selected feature"
    percent = min(99.9, max(0.1, 100 * share))
    shown = f"{percent:.0f}" if 1 <= percent < 99 else f"{percent:.1f}"
    return f"{shown} % of the rows hold at least one selected feature"
