"""A worker of a fit in rounds of questions: it reads a part of the rows, and answers from what it holds.

The same code runs on threads and on Ray.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.sharded import Entries, ShardPart
from thresher.core.batch import Batch, Cursor
from thresher.sources.base import Source
from thresher.working_set.calibration import row_parts


@dataclass(frozen=True, kw_only=True)
class ShardSpec(ABC):
    """The share of a worker: part ``number`` of ``of`` parts of the rows to read, and what follows from it.

    Attributes
    ----------
    entries : int
        About the most features that a step of reading parses.
    want_parts : bool
        Assign the rows to tenths.
    threads : int
        Threads of the worker. The results do not depend on them.
    copies : bool
        What arrives must be copied to be kept.
    """

    #: What a worker holds, for messages.
    what: ClassVar[str]

    number: int
    of: int
    batch_rows: int
    entries: int
    want_parts: bool
    threads: int
    copies: bool = False

    @abstractmethod
    def make(self, source: Source, weights: NDArray[np.float64] | None = None) -> Shard:
        """The worker; see `Shard`."""


class ReadRows(NamedTuple):
    """Rows as the process that started the fit needs them: the labels, and no features."""

    labels: Batch
    cursor: Cursor
    features: int
    parts: NDArray[np.uint8] | None


class Parsed(NamedTuple):
    """The result of a step: rows, whether the part of the rows ends here, and the entries for each worker."""

    rows: list[ReadRows]
    ended: bool
    entries: list[list[Entries]]


class Summary(NamedTuple):
    """What a worker holds: columns or rows, their entries, and the peak of bytes while they were built."""

    items: int
    entries: int
    bytes: int


class Shard(ABC):
    """Reads a part of the rows, and answers.

    Everything follows from the data and the share, so that another worker can read again what a lost one held.

    Parameters
    ----------
    share : ShardSpec
    source : Source
        All rows.
    weights : array, optional
        The row weights, if all rows were read before: what the worker holds is then read again when it is needed.
    """

    def __init__(self, share: ShardSpec, source: Source, weights: NDArray[np.float64] | None = None) -> None:
        self.share = share
        self._source = source
        self._reading: Iterator[tuple[Batch, Cursor]] = iter(())
        part = self._part()
        if weights is None and part is not None:
            self._reading = part.batches(share.batch_rows)
        self._pool = _native.ThreadPool(share.threads)
        self._weights = weights
        self._built: dict[tuple[str, float], Any] = {}

    def _part(self) -> Source | None:
        """The rows that this worker reads; None if there are fewer parts than workers."""
        parts = self._source.shards(self.share.of)
        return parts[self.share.number] if self.share.number < len(parts) else None

    def parse(self) -> Parsed:
        """Read some more rows."""
        rows: list[ReadRows] = []
        entries: list[list[Entries]] = [[] for _ in range(self.share.of)]
        done = 0
        while done < self.share.entries:
            found = next(self._reading, None)
            if found is None:
                return Parsed(rows, True, entries)
            batch, cursor = found
            done += batch.nnz + len(batch)
            parts = row_parts(batch) if self.share.want_parts else None
            rows.append(ReadRows(without_features(batch), cursor, batch.nnz, parts))
            self._keep(batch, entries)
        return Parsed(rows, False, entries)

    @abstractmethod
    def _keep(self, batch: Batch, entries: list[list[Entries]]) -> None:
        """Keep the features of a batch, or divide them among the workers."""

    @abstractmethod
    def take(self, entries: list[list[Entries]]) -> int:
        """Keep what every worker sent in a step; returns the bytes held so far."""

    @abstractmethod
    def finish(self, weights: NDArray[np.float64]) -> Summary:
        """End reading; the weights are those of all rows."""

    @abstractmethod
    def held(self) -> Summary:
        """What the worker holds; it reads it again, without the other workers, if it has lost it."""

    def answer(self, part: ShardPart, power: float, name: str, *given: Any) -> Any:
        """Call a method of what ``part`` builds over what the worker holds."""
        self.held()
        key = part.identity, power
        if key not in self._built:
            self._built[key] = part.build(self._contents(power))
        return getattr(self._built[key], name)(*given)

    @abstractmethod
    def _contents(self, power: float) -> Any:
        """What a part is built over."""


def without_features(batch: Batch) -> Batch:
    """The rows of a batch with their labels and weights only."""
    nothing = np.zeros(len(batch) + 1, np.int64)
    return replace(batch, indptr=nothing, keys=np.empty(0, np.uint64), values=None, names=None)
