"""The protocol every source of examples follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import ReadLimits
from thresher.errors import SettingsError

#: Rows a batch, unless asked otherwise. It never changes an answer.
DEFAULT_ROWS = 8192


class Source(ABC):
    """Examples that can be read in batches, from any place on, again and again.

    A subclass gives `space`, `_read`, `fingerprint` and, where it can be divided, `shards`.
    """

    #: What the keys mean.
    space: FeatureSpace
    #: Whether it can be read more than once, and from a cursor on.
    rewindable: bool = True
    #: Stored bytes in all, where known; a cursor's ``read`` counts towards it.
    total_bytes: int | None = None
    #: Rows in all, where known.
    total_rows: int | None = None
    #: Whether a row has any number of labels, and how many there are, where known.
    multilabel: bool = False
    label_columns: int | None = None
    #: Bytes that the source itself keeps in memory, besides what it hands out.
    held_bytes: int = 0

    def batches(
        self,
        rows: int = DEFAULT_ROWS,
        *,
        start: Cursor | None = None,
        keys: NDArray[np.uint64] | None = None,
        want_names: bool = False,
        want_labels: bool = True,
    ) -> Iterator[tuple[Batch, Cursor]]:
        """Batches of at most ``rows`` rows, each with the cursor just behind it.

        A batch may be empty: its cursor then tells of bad lines that were passed over.

        Parameters
        ----------
        rows : int
            At most so many rows a batch. The rows themselves do not depend on it.
        start : Cursor, optional
            Go on from here, instead of from the beginning.
        keys : array of uint64, optional
            Leave out all other features (but no row).
        want_names : bool
            Say where the names stand, if keys do not decode by themselves.
        want_labels : bool
            A row without a label is an error; otherwise its label is NaN.
        """
        if rows < 1:
            raise SettingsError(f"a batch needs at least one row, not {rows}")
        start = start or Cursor()
        only = None if keys is None else _native.KeyIndex(np.unique(np.asarray(keys, dtype=np.uint64)))
        skip = start.past + start.skip
        start = replace(start, row=start.row - start.past, past=0, skip=0)
        for batch, cursor in self._read(rows, start, only, want_names, want_labels):
            if 0 < skip >= len(batch):
                skip -= len(batch)
                continue
            yield (batch.take(slice(skip, None)) if skip else batch), cursor
            skip = 0

    @abstractmethod
    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        """`batches` for a start without ``past`` and ``skip`` and with the keys as an index."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash that changes when the data or the way it is read changes."""

    def shards(self, n: int) -> list[Source]:
        """At most ``n`` sources that hold each row once, in order."""
        if n < 1:
            raise SettingsError(f"cannot make {n} shards")
        return [self]

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        """The same rows in another order, reproducible from the seed.

        By default through a buffer that holds at most ``rows`` rows and about ``features``
        features; a source with all rows at hand permutes them all.
        """
        from thresher.sources.transforms.shuffle import Shuffled

        return Shuffled(self, seed=seed, rows=rows, features=features)

    def limited(self, limits: ReadLimits) -> Source:
        """The same source, reading within these limits."""
        return self

    def files(self) -> list[str]:
        """The names of the files it reads, one after the other; a cursor's ``part`` counts them."""
        return []

    def skipped_files(self) -> dict[str, int]:
        """The bad lines (or records) passed over in each file that was read to its end and had some."""
        return {}

    def prepare(self) -> None:
        """Do now, and on this thread, what the first reading would otherwise begin with."""
        return

    def reading(self) -> dict[str, Any] | None:
        """How to read other files in the same way, as JSON has it, where names alone do not say it."""
        return None

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        """For people: where row ``row`` of ``batch`` stands; ``cursor`` came with the batch."""
        return f"row {cursor.row - len(batch) + row + 1}"

    def describe(self) -> str:
        """For people: what this is."""
        return type(self).__name__
