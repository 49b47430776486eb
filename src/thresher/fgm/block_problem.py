"""One output's inner problem: ½(Σ_h ‖w_h‖)² + C Σ loss, over blocks of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Columns, Family, Floats, Ids
from thresher.core.losses import get_loss
from thresher.errors import FileFormatError

#: Steps of an inner problem at most; it ends long before.
_MOST_STEPS = 10_000
#: The tolerance of an inner problem that counts as solved exactly, the paper's "exact" setting.
_EXACT = 1e-6


@dataclass(frozen=True, slots=True)
class Solved:
    """What a solve came to. ``dual - ½ Σ (B largest scores)`` is below the objective of any blocks there could be."""

    objective: float
    dual: float
    bound: float
    steps: int


class _Answer(NamedTuple):
    """Where the last solve that was not stopped half way left the solver."""

    blocks: int
    weights: Floats
    shift: float
    tau: float


class BlockProblem:
    """The inner problem (30), solved by accelerated proximal gradient; see ``native/working_set/block_solver.hpp``.

    Parameters
    ----------
    y, weights : arrays of one number a row
        Targets as the loss takes them, and C times the importance of each row.
    """

    def __init__(
        self,
        loss: str,
        y: Floats,
        weights: Floats,
        *,
        shift: bool,
        tolerance: float,
        team: _native.Team,
    ) -> None:
        kind = get_loss(loss)
        self._solver = _native.BlockSolver(kind.name, kind.delta, y, weights, shift)
        self._tolerance = tolerance
        self._team = team
        self.blocks: list[Ids] = []
        self.scales: list[Floats] = []
        self.counts: list[NDArray[np.uint64]] = []
        self.solved = Solved(0.0, 0.0, 0.0, 0)
        self._answer = _Answer(0, np.empty(0), 0.0, 0.0)
        self.solve()
        #: The objective without any feature, at the best shift.
        self.start = self.solved.objective

    def add(self, ids: Ids, columns: Columns) -> None:
        """A new block, its weights at zero."""
        self._solver.add_block(*columns)
        self.blocks.append(ids)
        self.scales.append(columns.scales)
        self.counts.append(columns.counts)

    def solve(self) -> None:
        """Solve over all blocks, from the weights that are there.

        What stops it half way (Ctrl-C) leaves the answer of the last solve: its blocks, weights and shift.
        """
        try:
            self.solved = self._solve()
        except BaseException:
            for parts in (self.blocks, self.scales, self.counts):
                del parts[self._answer.blocks :]
            raise
        self._answer = _Answer(len(self.blocks), self._solver.weights, float(self._solver.shift), self._solver.tau)

    def _solve(self) -> Solved:
        return Solved(**_without(self._solver.solve(self._tolerance, _MOST_STEPS, self._team), "shift"))

    def sharpen(self) -> bool:
        """Solve again, ten times as exactly; False, and nothing done, where it is exact already."""
        if self._tolerance <= _EXACT:
            return False
        self._tolerance = max(_EXACT, 0.1 * self._tolerance)
        self.solve()
        return True

    @property
    def residual(self) -> Floats:
        return self._solver.slopes

    @property
    def bytes(self) -> int:
        """What the columns take in the solver."""
        return self._solver.bytes

    @property
    def margins(self) -> Floats:
        """w'x of each row, without the shift."""
        return self._solver.margins

    @property
    def shift(self) -> float:
        """The constant."""
        return self._answer.shift

    @property
    def weights(self) -> Floats:
        """Of the columns as the data has them, block after block."""
        scales = np.concatenate(self.scales) if self.scales else np.empty(0)
        return self._answer.weights * scales

    @property
    def elements(self) -> Ids:
        """All that was proposed, each once, in the order it came."""
        ids = np.concatenate(self.blocks) if self.blocks else np.empty(0, np.uint64)
        _, first = np.unique(ids, return_index=True)
        return ids[np.sort(first)]

    def state(self) -> dict[str, NDArray[Any]]:
        """What going on needs, besides the data."""
        return {
            "ids": np.concatenate(self.blocks) if self.blocks else np.empty(0, np.uint64),
            "sizes": np.array([len(ids) for ids in self.blocks], np.int64),
            "weights": self._answer.weights,
            "numbers": np.array([self._answer.shift, self._answer.tau, self.start, self._tolerance]),
            "solved": np.array([self.solved.objective, self.solved.dual, self.solved.bound, self.solved.steps]),
        }

    def restore(self, state: dict[str, NDArray[Any]], family: Family) -> None:
        """Go on where the problem that gave ``state`` stood."""
        if int(state["sizes"].sum()) != len(state["ids"]) or (state["sizes"] < 0).any():
            raise FileFormatError("blocks that are none")
        for ids in np.split(state["ids"], np.cumsum(state["sizes"])[:-1]) if len(state["sizes"]) else []:
            self.add(ids, family.columns(ids))
        shift, tau, self.start, self._tolerance = state["numbers"].tolist()
        self._solver.restore(state["weights"], shift, tau, self._team)
        self._answer = _Answer(len(self.blocks), state["weights"], shift, tau)
        objective, dual, bound, steps = state["solved"].tolist()
        self.solved = Solved(objective, dual, bound, int(steps))


def _without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}
