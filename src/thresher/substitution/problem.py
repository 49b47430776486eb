"""What every method for arriving features is to the loop: a problem, its targets, and what it keeps."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Floats, Ids
from thresher.substitution.arriving.feature_stream import Block


class Kept(NamedTuple):
    """What a method holds on to: ``weights`` is features x outputs, of columns times their ``scales``."""

    ids: Ids
    weights: Floats
    columns: NDArray[np.float32]
    scales: Floats

    @property
    def norms(self) -> Floats:
        """Of the weights, across outputs."""
        return np.asarray(np.sqrt((self.weights**2).sum(axis=1)))

    def only(self, these: NDArray[np.intp]) -> Kept:
        """Some of them."""
        return Kept(self.ids[these], self.weights[these], self.columns[these], self.scales[these])


class StreamProblem(Protocol):
    """The problem of one set of features, which arriving ones may enter and leave."""

    def add(self, ids: Ids, columns: Block) -> None:
        """A block arrives."""

    def solve(self) -> None:
        """Deal with it."""

    #: Features of the block on offer that it has dealt with.
    done: int
    #: Features that it has dealt with already of those to be offered next: an interrupt came in their midst.
    ahead: int

    def kept(self) -> Kept:
        """What is held."""

    def kept_ids(self) -> Ids:
        """Of which features."""

    def state(self) -> dict[str, NDArray[Any]]:
        """What going on needs."""

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Go on where the problem that gave ``state`` stood."""

    def facts(self) -> dict[str, Any]:
        """What there is to say about it."""


class Targets(NamedTuple):
    """What a problem is to fit: outputs x rows, and the rows' importance (None: all alike)."""

    y: Floats
    weights: Floats | None

    @property
    def shares(self) -> Floats:
        """The rows' weights as native code takes them: summing to one, or none."""
        return np.empty(0) if self.weights is None else self.weights / self.weights.sum()


def kept_of(state: dict[str, NDArray[Any]], rows: int, outputs: int) -> Kept:
    """What native code keeps, as arrays of the right shape."""
    ids = state["ids"]
    return Kept(
        ids,
        state["weights"].reshape(len(ids), outputs),
        state["columns"].reshape(len(ids), rows),
        state["scalings"].reshape(len(ids), 2)[:, 1],
    )
