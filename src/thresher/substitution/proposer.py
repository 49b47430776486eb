"""The proposer of Online Substitution: whatever arrives next, scan after scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Ids
from thresher.errors import SettingsError
from thresher.substitution.arriving.feature_stream import Block, FeatureStream
from thresher.working_set.loop import Problem


class NextToArrive:
    """Offers every problem the next block of a stream, until all scans are done.

    Parameters
    ----------
    stream : FeatureStream
    rows : int
        How long its columns must be.
    scans : int
    order : {"given", "random"}
        ``random`` is another order in every scan, by ``seed``.
    keep : array, optional
        Rows to take of every column.
    block : int
        Columns at a time.
    wide : bool
        More of columns with few numbers, in the same room.
    """

    def __init__(
        self,
        stream: FeatureStream,
        rows: int,
        *,
        scans: int,
        order: str = "given",
        seed: int = 0,
        keep: NDArray[np.int64] | None = None,
        block: int,
        wide: bool = False,
    ) -> None:
        if scans > 1 and not stream.rewindable:
            raise SettingsError(
                f"{stream.describe()} can be gone through once: set scans=1, or give a callable that makes them anew"
            )
        if order == "random" and stream.size is None:
            raise SettingsError(f"{stream.describe()} come in their own order: leave out order")
        self.stream = stream
        self.rows = rows
        self.scans = scans
        self.order = order
        self.seed = seed
        self.keep = keep
        self.block = block
        self.wide = wide
        self.scan = 0
        #: Features of the scan that have been dealt with; of the block on offer, those before it.
        self.reached = 0
        self.arrived = 0
        self._blocks: Iterator[Block] | None = None
        self.offered: Block | None = None

    def propose(self, problems: Sequence[Problem]) -> list[tuple[Ids, Any] | None]:
        """The next block, for all alike."""
        self.taken()
        while self.scan < self.scans:
            if self._blocks is None:
                self._blocks = self._begin()
            block = next(self._blocks, None)
            if block is None:
                self._blocks, self.scan, self.reached = None, self.scan + 1, 0
                continue
            self.offered = block
            return [(block.ids, block)] * len(problems)
        return [None] * len(problems)

    def taken(self) -> None:
        """What was offered has been dealt with."""
        if self.offered is not None:
            self.arrived += len(self.offered.ids)
            self.reached = self.offered.reached
            self.offered = None

    def _begin(self) -> Iterator[Block]:
        order = None
        if self.order == "random":
            order = np.random.default_rng([self.seed, self.scan]).permutation(self.stream.size or 0)
        return self.stream.arrive(
            self.rows,
            start=self.reached,
            order=order,
            keep=self.keep,
            block=self.block,
            wide=self.wide,
            count=self.scan == 0,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Where it stands."""
        return {"place": np.array([self.scan, self.reached, self.arrived], np.int64)}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on where the proposer that gave ``state`` stood."""
        self.scan, self.reached, self.arrived = state["place"].tolist()
        self._blocks = self.offered = None
