"""The proposer of the loop over a stream: it offers each block as it arrives, scan after scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Ids
from thresher.errors import SettingsError
from thresher.substitution.arriving.feature_stream import Block, FeatureStream
from thresher.working_set.loop import Problem


class StreamProposer:
    """Offers every problem the next block of a stream, until all scans are done.

    Parameters
    ----------
    stream : FeatureStream
    rows : int
        The length that every column must have.
    scans : int
    order : {"given", "random"}
        ``random`` draws a new order for every scan, from ``seed``.
    keep : array, optional
        Rows to use of every column.
    block : int
        Dense columns to hold at a time.
    wide : bool
        Put more columns into a block if they are sparse, in the same memory.
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
                f"{stream.describe()} can be scanned once: set `scans=1`, or pass a callable that returns them anew"
            )
        if order == "random" and stream.size is None:
            raise SettingsError(f"{stream.describe()} come in their own order: leave out `order`")
        self.stream = stream
        self.rows = rows
        self.scans = scans
        self.order = order
        self.seed = seed
        self.keep = keep
        self.block = block
        self.wide = wide
        self.scan = 0
        #: Features of this scan before the block on offer.
        self.reached = 0
        #: Processed features of all scans.
        self.arrived = 0
        self._blocks: Iterator[Block] | None = None
        self.offered: Block | None = None

    def propose(self, problems: Sequence[Problem]) -> list[tuple[Ids, Any] | None]:
        """Offer the next block to all problems."""
        self.finish_block()
        while self.scan < self.scans:
            if self._blocks is None:
                self._blocks = self._begin_scan()
            block = next(self._blocks, None)
            if block is None:
                self._blocks, self.scan, self.reached = None, self.scan + 1, 0
                continue
            self.offered = block
            return [(block.ids, block)] * len(problems)
        return [None] * len(problems)

    def finish_block(self) -> None:
        """Count the block on offer as processed."""
        if self.offered is not None:
            self.arrived += len(self.offered.ids)
            self.reached = self.offered.reached
            self.offered = None

    def _begin_scan(self) -> Iterator[Block]:
        order = None
        if self.order == "random":
            order = np.random.default_rng([self.seed, self.scan]).permutation(self.stream.size or 0)
        return self.stream.blocks(
            self.rows,
            start=self.reached,
            order=order,
            keep=self.keep,
            block=self.block,
            wide=self.wide,
            count_skipped=self.scan == 0,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """The position in the stream."""
        return {"place": np.array([self.scan, self.reached, self.arrived], np.int64)}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from the position of a `state`; ValueError if there is no such position."""
        scan, reached, arrived = state["place"].tolist()
        if not (0 <= scan <= self.scans and reached >= 0 and arrived >= 0):
            raise ValueError("the position in the stream is invalid")
        self.scan, self.reached, self.arrived = scan, reached, arrived
        self._blocks = self.offered = None
