"""Other methods for features that arrive one by one, to compare Online Substitution with.

They hold what they like on the way: how much that is follows from a penalty or a test, not from ``k``. Columns are
scaled as Online Substitution scales them, so one penalty or step serves all; one output each.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.families.family import Floats, Ids
from thresher.families.stream import Block
from thresher.losses import get_loss
from thresher.working_set.substitution import Kept, Targets
from thresher.working_set.substitution_settings import SubstitutionSettings


class Rival(ABC):
    """Kept columns, their weights, and the slopes of the loss at them; a subclass says what a feature may do."""

    #: What the loop tells of an interrupt in the midst of a block.
    done = ahead = 0

    def __init__(self, settings: SubstitutionSettings, targets: Targets, team: _native.Team) -> None:
        self.settings = settings
        self.loss = get_loss(settings.loss)
        self.y = np.ascontiguousarray(targets.y[0])
        even = targets.weights is None
        self.shares = np.full(len(self.y), 1.0 / len(self.y)) if even else targets.shares
        self.team = team
        self.ids: list[int] = []
        self.columns = np.empty((0, len(self.y)), np.float32)
        self.scales = np.empty(0)
        self.weights = np.empty(0)
        self.shift = 0.0
        self.margins = np.zeros(len(self.y))
        #: The penalty, and what else a method counts.
        self.numbers = np.array([settings.lam or 0.0, 0.0, 0.0])
        self.most = 0
        self._block: Block | None = None

    def add(self, ids: Ids, columns: Block) -> None:
        """A block arrives."""
        self._block, self.done = columns, min(self.ahead, len(ids))
        self.ahead -= self.done

    def solve(self) -> None:
        """One feature after the other."""
        assert self._block is not None
        columns = self._block.columns
        if self.numbers[0] == 0.0:
            self.numbers[0] = 0.1 * max((abs(self._slope(column)) for column in columns), default=1.0)
        while self.done < len(columns):
            self.receive(int(self._block.ids[self.done]), columns[self.done])
            self.most = max(self.most, len(self.ids))
            self.done += 1

    @abstractmethod
    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        """What a feature may do."""

    # ── what they share ──────────────────────────────────────────────────────────────────────────

    @property
    def lam(self) -> float:
        """The penalty."""
        return float(self.numbers[0])

    def scale(self, column: NDArray[np.float32]) -> float:
        """What brings a column to a mean square of one, less its mean where there is a constant."""
        wide = column.astype(np.float64)
        mean = float(self.shares @ wide) if self.settings.intercept else 0.0
        return 1.0 / math.sqrt(float(self.shares @ (wide - mean) ** 2))

    def slopes(self) -> Floats:
        """Of the mean loss, after a step of the constant."""
        slopes = self.shares * self.loss.derivative(self.margins + self.shift, self.y)
        if not self.settings.intercept:
            return slopes
        self.shift -= float(slopes.sum()) / self.loss.curvature
        return self.shares * self.loss.derivative(self.margins + self.shift, self.y)

    def _slope(self, column: NDArray[np.float32]) -> float:
        slopes = self.slopes()
        centred = slopes - self.shares * slopes.sum() if self.settings.intercept else slopes
        return self.scale(column) * float(column @ centred)

    def take(self, id: int, column: NDArray[np.float32], weight: float) -> None:
        """Keep one more."""
        self.ids.append(id)
        self.columns = np.vstack([self.columns, column[None]])
        self.scales = np.append(self.scales, self.scale(column))
        self.weights = np.append(self.weights, weight)
        self.margins += weight * self.scales[-1] * column

    def move(self, slot: int, weight: float) -> None:
        """Another weight for one."""
        self.margins += (weight - self.weights[slot]) * self.scales[slot] * self.columns[slot]
        self.weights[slot] = weight

    def leave(self, gone: NDArray[np.bool_]) -> None:
        """Drop some, which have no weight."""
        if gone.any():
            self.ids = [id for id, out in zip(self.ids, gone.tolist(), strict=True) if not out]
            self.columns, self.scales, self.weights = self.columns[~gone], self.scales[~gone], self.weights[~gone]

    def kept(self) -> Kept:
        return Kept(np.array(self.ids, np.uint64), self.weights[:, None], self.columns, self.scales)

    def kept_ids(self) -> Ids:
        return np.array(self.ids, np.uint64)

    def facts(self) -> dict[str, Any]:
        """What there is to say: how many columns were held at most, and the penalty."""
        return {"most_held": self.most, "held": len(self.ids), "lam": self.lam}

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "ids": np.array(self.ids, np.uint64),
            "columns": self.columns.ravel(),
            "scales": self.scales,
            "weights": self.weights,
            "margins": self.margins,
            "numbers": np.array([*self.numbers, self.shift, self.most]),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        self.ids = state["ids"].tolist()
        self.columns = np.array(state["columns"]).reshape(len(self.ids), len(self.y))
        self.scales, self.weights, self.margins = (np.array(state[name]) for name in ("scales", "weights", "margins"))
        *numbers, self.shift, most = state["numbers"].tolist()
        self.numbers, self.most = np.array(numbers), int(most)


class NaiveL0(Rival):
    """Coordinate descent on what arrives, then the projection on at most k: nothing else moves."""

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        step = -self._slope(column) / self.loss.curvature
        if id in self.ids:
            slot = self.ids.index(id)
            self.move(slot, float(self.weights[slot]) + step)
            return
        self.take(id, column, step)
        if len(self.ids) > self.settings.k:
            weakest = int(np.lexsort((-np.array(self.ids, np.float64), np.abs(self.weights)))[0])
            self.move(weakest, 0.0)
            self.leave(np.arange(len(self.ids)) == weakest)


class NaiveL1(Rival):
    """Coordinate descent on what arrives, with the proximal operator of the penalty."""

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        slot = self.ids.index(id) if id in self.ids else None
        now = 0.0 if slot is None else float(self.weights[slot])
        point = now - self._slope(column) / self.loss.curvature
        weight = math.copysign(max(0.0, abs(point) - self.lam / self.loss.curvature), point)
        if slot is not None:
            self.move(slot, weight)
            self.leave(self.weights == 0.0)
        elif weight != 0.0:
            self.take(id, column, weight)


class Grafting(Rival):
    """A feature whose slope is above the penalty comes in, and all that are in are fitted to the bottom [1]_.

    References
    ----------
    .. [1] S. Perkins, J. Theiler, "Online Feature Selection using Grafting", ICML 2003.
    """

    def __init__(self, settings: SubstitutionSettings, targets: Targets, team: _native.Team) -> None:
        super().__init__(settings, targets, team)
        self._solver = self._fresh()

    def _fresh(self) -> _native.L1Solver:
        return _native.L1Solver(self.loss.name, self.y, np.ascontiguousarray(self.shares), self.settings.intercept)

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        if id in self.ids or not abs(self._slope(column)) > self.lam:
            return
        self.take(id, column, 0.0)
        self._solver.add(column[None].copy(), 1.0 / self.scales[-1:], self.team)  # it keeps what it is given
        self._solver.solve(self.lam, 1e-5, 100, self.team)
        self.weights = self._solver.weights / self.scales
        self.margins, self.shift = self._solver.margins, float(self._solver.shift)
        gone = self.weights == 0.0
        if gone.any():
            self._solver.keep(np.flatnonzero(~gone))
            self.leave(gone)

    def slopes(self) -> Floats:
        """The solver leaves the constant at its best."""
        if self.ids:
            return self.shares * self.loss.derivative(self.margins + self.shift, self.y)
        return super().slopes()

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        super().restore(state)
        self._solver = self._fresh()
        if self.ids:
            self._solver.add(self.columns.copy(), 1.0 / self.scales, self.team)
            self._solver.restore(self.weights * self.scales, self.shift, self.team)


class GraftingLight(Rival):
    """As grafting, but with a single proximal step over all that are in for every feature that arrives [1]_.

    References
    ----------
    .. [1] J. Zhu, N. Lao, E. P. Xing, "Grafting-Light: Fast, Incremental Feature Selection and Structure Learning of
       Markov Random Fields", KDD 2010.
    """

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        if id not in self.ids and abs(self._slope(column)) > self.lam:
            self.take(id, column, 0.0)
        if not self.ids:
            return
        slopes = self.slopes()
        value = float(self.shares @ self.loss.value(self.margins + self.shift, self.y))
        gradient = self.scales * (self.columns @ slopes.astype(np.float32))
        bound = max(float(self.numbers[1]) / 1.5, self.loss.curvature)  # the step may become longer again
        while True:
            point = self.weights - gradient / bound
            weights = np.sign(point) * np.maximum(0.0, np.abs(point) - self.lam / bound)
            move = weights - self.weights
            margins = self.margins + (move * self.scales).astype(np.float32) @ self.columns
            after = float(self.shares @ self.loss.value(margins + self.shift, self.y))
            if after <= value + float(gradient @ move) + 0.5 * bound * float(move @ move) + 1e-15:
                break
            bound *= 2.0
        self.numbers[1] = bound
        self.weights, self.margins = weights, margins
        self.leave(weights == 0.0)


class AlphaInvesting(Rival):
    """A feature comes in if its p-value in the regression on what is in is below what the wealth allows [1]_.

    Targets of classes count as numbers. The wealth is 0.5 at first and for every feature taken.

    References
    ----------
    .. [1] J. Zhou, D. Foster, R. Stine, L. Ungar, "Streamwise Feature Selection", JMLR 7, 2006.
    """

    def __init__(self, settings: SubstitutionSettings, targets: Targets, team: _native.Team) -> None:
        super().__init__(settings, targets, team)
        self.numbers[:] = [1.0, 0.5, 0.0]  # there is no penalty; wealth, and features tried
        self._root = np.sqrt(self.shares)
        self._start()

    def _start(self) -> None:
        self._basis = np.empty((0, len(self.y)))
        self._left = self._root * self.y
        if self.settings.intercept:
            self._join(self._root.copy())

    def _join(self, direction: Floats) -> None:
        direction = direction / math.sqrt(float(direction @ direction))
        self._basis = np.vstack([self._basis, direction[None]])
        self._left = self._left - direction * float(direction @ self._left)

    def _new(self, column: NDArray[np.float32]) -> Floats:
        rest = self._root * column
        for _ in range(2):
            rest = rest - (self._basis @ rest) @ self._basis
        return np.asarray(rest)

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        if id in self.ids:
            return
        self.numbers[2] += 1
        wealth = float(self.numbers[1])
        alpha = wealth / (2.0 * self.numbers[2])
        rest = self._new(column)
        square, left = float(rest @ rest), float(self._left @ self._left)
        if square <= 1e-12 or left <= 1e-300:
            return
        explained = min(float(rest @ self._left) ** 2 / square / left, 1.0 - 1e-15)
        z = math.sqrt(-len(self.y) * math.log1p(-explained))
        taken = math.erfc(z / math.sqrt(2.0)) < alpha
        self.numbers[1] = wealth - alpha + 0.5 * taken
        if taken:
            self._join(rest)
            self.take(id, column, 0.0)

    def kept(self) -> Kept:
        """With the weights of least squares on what is in."""
        if not self.ids:
            return super().kept()
        wide = self._root * self.columns * self.scales[:, None]
        wide = wide if not self.settings.intercept else np.vstack([wide, self._root[None]])
        best = np.linalg.lstsq(wide.T, self._root * self.y, rcond=None)[0]
        self.weights = best[: len(self.ids)]
        return super().kept()

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        super().restore(state)
        self._start()
        for column in self.columns:
            self._join(self._new(column))


RIVALS: dict[str, type[Rival]] = {
    "grafting": Grafting,
    "grafting-light": GraftingLight,
    "naive-l0": NaiveL0,
    "naive-l1": NaiveL1,
    "alpha-investing": AlphaInvesting,
}
