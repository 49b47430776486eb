"""The inner problem of one output: ½(Σ_h ‖w_h‖)² + C Σ loss, over blocks of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Family, Floats, Ids, ScaledColumns
from thresher.core.losses import get_loss
from thresher.errors import FileFormatError

#: The iteration limit of an inner problem; convergence takes far fewer.
_MAX_STEPS = 10_000
#: The tolerance at which an inner problem counts as solved exactly, the paper's "exact" setting.
_EXACT = 1e-6


@dataclass(frozen=True, slots=True)
class SolveResult:
    """The result of a solve. ``dual - ½ Σ (B largest scores)`` is a lower bound of the objective over all blocks."""

    objective: float
    dual: float
    bound: float
    steps: int


class _Solution(NamedTuple):
    """The solver's state after the last solve that was not interrupted."""

    blocks: int
    weights: Floats
    intercept: float
    tau: float


class BlockProblem:
    """The inner problem (30), solved by accelerated proximal gradient; see ``native/solvers/block_solver.hpp``.

    Parameters
    ----------
    y : array of shape (rows,)
        The targets, encoded for the loss.
    weights : array of shape (rows,)
        C times the weight of each row.
    tolerance : float
        Stop once a step lowers the objective by no more than this share (40).
    """

    def __init__(
        self,
        loss: str,
        y: Floats,
        weights: Floats,
        *,
        fit_intercept: bool,
        tolerance: float,
        pool: _native.ThreadPool,
    ) -> None:
        kind = get_loss(loss)
        self._solver = _native.BlockSolver(kind.name, kind.delta, y, weights, fit_intercept)
        self._tolerance = tolerance
        self._pool = pool
        self.blocks: list[Ids] = []
        # The elements of this number of blocks: in the order they were added, and sorted.
        self._elements = 0, np.empty(0, np.uint64), np.empty(0, np.uint64)
        self.scales: list[Floats] = []
        self.counts: list[NDArray[np.uint64]] = []
        self.solved = SolveResult(0.0, 0.0, 0.0, 0)
        self._solution = _Solution(0, np.empty(0), 0.0, 0.0)
        self.solve()
        #: The objective without features, at the best intercept.
        self.start = self.solved.objective

    def add(self, ids: Ids, columns: ScaledColumns) -> None:
        """Add a block with zero weights."""
        self._solver.add_block(*columns)
        self.blocks.append(ids)
        self.scales.append(columns.scales)
        self.counts.append(columns.counts)

    def solve(self) -> None:
        """Solve over all blocks, warm-started from the current weights.

        An interrupt (Ctrl-C) leaves the blocks, weights and intercept of the last complete solve.
        """
        try:
            self.solved = self._solve()
        except BaseException:
            for parts in (self.blocks, self.scales, self.counts):
                del parts[self._solution.blocks :]
            self._elements = -1, *self._elements[1:]
            raise
        solver = self._solver
        self._solution = _Solution(len(self.blocks), solver.weights, float(solver.intercept), solver.tau)

    def _solve(self) -> SolveResult:
        fields = self._solver.solve(self._tolerance, _MAX_STEPS, self._pool)
        return SolveResult(**{name: value for name, value in fields.items() if name != "intercept"})

    def tighten(self) -> bool:
        """Solve again with a tenth of the tolerance; return False without solving if it is exact already."""
        if self._tolerance <= _EXACT:
            return False
        self._tolerance = max(_EXACT, 0.1 * self._tolerance)
        self.solve()
        return True

    @property
    def residual(self) -> Floats:
        """The derivative of C Σ loss with respect to each row's margin."""
        return self._solver.slopes

    @property
    def bytes(self) -> int:
        """Bytes of the columns in the solver."""
        return self._solver.bytes

    @property
    def margins(self) -> Floats:
        """w'x of each row, without the intercept."""
        return self._solver.margins

    @property
    def intercept(self) -> float:
        """The intercept."""
        return self._solution.intercept

    @property
    def weights(self) -> Floats:
        """The weights of the unscaled columns, block after block."""
        scales = np.concatenate(self.scales) if self.scales else np.empty(0)
        return self._solution.weights * scales

    @property
    def elements(self) -> Ids:
        """All distinct elements of the blocks, in the order they were added."""
        return self._listed()[1]

    @property
    def sorted_elements(self) -> Ids:
        """`elements`, ascending."""
        return self._listed()[2]

    def _listed(self) -> tuple[int, Ids, Ids]:
        if self._elements[0] != len(self.blocks):
            ids = np.concatenate(self.blocks) if self.blocks else np.empty(0, np.uint64)
            distinct, first = np.unique(ids, return_index=True)
            self._elements = len(self.blocks), ids[np.sort(first)], distinct
        return self._elements

    def has(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of these elements are in a block."""
        known = self.sorted_elements
        if not len(known):
            return np.zeros(len(ids), np.bool_)
        found: NDArray[np.bool_] = known[np.minimum(np.searchsorted(known, ids), len(known) - 1)] == ids
        return found

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that `restore` needs, besides the data."""
        return {
            "ids": np.concatenate(self.blocks) if self.blocks else np.empty(0, np.uint64),
            "sizes": np.array([len(ids) for ids in self.blocks], np.int64),
            "weights": self._solution.weights,
            "numbers": np.array([self._solution.intercept, self._solution.tau, self.start, self._tolerance]),
            "solved": np.array([self.solved.objective, self.solved.dual, self.solved.bound, self.solved.steps]),
        }

    def restore(self, state: dict[str, NDArray[Any]], family: Family) -> None:
        """Restore the result of `state`."""
        if int(state["sizes"].sum()) != len(state["ids"]) or (state["sizes"] < 0).any():
            raise FileFormatError("inconsistent list of blocks")
        for ids in np.split(state["ids"], np.cumsum(state["sizes"])[:-1]) if len(state["sizes"]) else []:
            self.add(ids, family.columns(ids))
        intercept, tau, self.start, self._tolerance = state["numbers"].tolist()
        self._solver.restore(state["weights"], intercept, tau, self._pool)
        self._solution = _Solution(len(self.blocks), state["weights"], intercept, tau)
        objective, dual, bound, steps = state["solved"].tolist()
        self.solved = SolveResult(objective, dual, bound, int(steps))
