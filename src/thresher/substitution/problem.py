"""What the loop requires of a method for arriving features: its problem, the targets, and the features it keeps."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Floats, Ids
from thresher.substitution.arriving.feature_stream import Block


class Kept(NamedTuple):
    """The features that a method keeps: ``weights`` is features x outputs, for columns multiplied by ``scales``."""

    ids: Ids
    weights: Floats
    columns: NDArray[np.float32]
    scales: Floats

    @property
    def norms(self) -> Floats:
        """The norm of each feature's weights across outputs."""
        return np.asarray(np.sqrt((self.weights**2).sum(axis=1)))

    def subset(self, which: NDArray[np.intp]) -> Kept:
        """These of the features; no copy, if these are all."""
        if len(which) == len(self.ids) and (which == np.arange(len(which))).all():
            return self
        return Kept(self.ids[which], self.weights[which], self.columns[which], self.scales[which])


class Targets(NamedTuple):
    """What a problem fits: targets as outputs x rows, and the weights of the rows (None: all equal)."""

    y: Floats
    weights: Floats | None

    @property
    def shares(self) -> Floats:
        """The row weights as native code takes them: normalised to sum to one, or empty if equal."""
        return np.empty(0) if self.weights is None else self.weights / self.weights.sum()


class StreamProblem(Protocol):
    """The problem of one set of features, which arriving features may enter and leave."""

    #: Features of the current block that are processed.
    done: int
    #: Features at the start of the next block that are processed already, since an interrupt cut a block short.
    ahead: int

    def add(self, ids: Ids, columns: Block) -> None:
        """Receive a block."""

    def solve(self) -> None:
        """Process the block."""

    def kept(self) -> Kept:
        """The features kept so far."""

    def kept_ids(self) -> Ids:
        """The ids of the features kept so far."""

    def state(self) -> dict[str, NDArray[Any]]:
        """The state as arrays, for a checkpoint."""

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from a `state`."""

    def summary(self) -> dict[str, Any]:
        """Counts and constants of the run, for the provenance of the selection."""


class BlockwiseProblem:
    """The part of a `StreamProblem` that tracks progress within a block."""

    def __init__(self) -> None:
        self.done = self.ahead = 0
        self._block: Block | None = None

    def add(self, ids: Ids, columns: Block) -> None:
        self._block, self.done = columns, min(self.ahead, len(ids))
        self.ahead -= self.done


def kept_from_state(state: dict[str, NDArray[Any]], rows: int, outputs: int) -> Kept:
    """The features in the state of a native object, with arrays of the right shape."""
    ids = state["ids"]
    return Kept(
        ids,
        state["weights"].reshape(len(ids), outputs),
        state["columns"].reshape(len(ids), rows),
        state["scalings"].reshape(len(ids), 2)[:, 1],
    )
