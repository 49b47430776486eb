"""What other methods for features that arrive one by one share, to compare Online Substitution with.

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
from thresher.columns.types import Floats, Ids
from thresher.core.losses import get_loss
from thresher.substitution.arriving.feature_stream import Block
from thresher.substitution.problem import Kept, Targets
from thresher.substitution.settings import SubstitutionSettings


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
        self._room = np.empty((0, len(self.y)), np.float32)  # of columns; some may still be free
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
        columns = self._block.whole
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
    def columns(self) -> NDArray[np.float32]:
        """What is held."""
        return self._room[: len(self.ids)]

    @property
    def lam(self) -> float:
        """The penalty."""
        return float(self.numbers[0])

    def scale(self, column: NDArray[np.float32]) -> float:
        """What brings a column to a mean square of one, less its mean where there is a constant."""
        wide = column.astype(np.float64)
        mean = float(self.shares @ wide) if self.settings.fit_intercept else 0.0
        return 1.0 / math.sqrt(float(self.shares @ (wide - mean) ** 2))

    def slopes(self) -> Floats:
        """Of the mean loss, after a step of the constant."""
        slopes = self.shares * self.loss.derivative(self.margins + self.shift, self.y)
        if not self.settings.fit_intercept:
            return slopes
        self.shift -= float(slopes.sum()) / self.loss.curvature
        return self.shares * self.loss.derivative(self.margins + self.shift, self.y)

    def _slope(self, column: NDArray[np.float32]) -> float:
        slopes = self.slopes()
        centred = slopes - self.shares * slopes.sum() if self.settings.fit_intercept else slopes
        return self.scale(column) * float(column @ centred)

    def take(self, id: int, column: NDArray[np.float32], weight: float) -> None:
        """Keep one more."""
        if len(self.ids) == len(self._room):
            more = np.empty((max(16, len(self.ids)), len(self.y)), np.float32)
            self._room = np.concatenate([self._room, more])
        self._room[len(self.ids)] = column
        self.ids.append(id)
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
            first = int(np.argmax(gone))
            stay = self.columns[first:][~gone[first:]]
            self._room[first : first + len(stay)] = stay
            self.ids = [id for id, out in zip(self.ids, gone.tolist(), strict=True) if not out]
            self.scales, self.weights = self.scales[~gone], self.weights[~gone]

    def kept(self) -> Kept:
        return Kept(np.array(self.ids, np.uint64), self.weights[:, None], self.columns.copy(), self.scales)

    def kept_ids(self) -> Ids:
        return np.array(self.ids, np.uint64)

    def facts(self) -> dict[str, Any]:
        """What there is to say: how many columns were held at most, and the penalty."""
        return {"most_held": self.most, "held": len(self.ids), "lam": self.lam}

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "ids": np.array(self.ids, np.uint64),
            "columns": self.columns.ravel().copy(),
            "scales": self.scales,
            "weights": self.weights,
            "margins": self.margins,
            "numbers": np.array([*self.numbers, self.shift, self.most]),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        self.ids = state["ids"].tolist()
        self._room = np.array(state["columns"]).reshape(len(self.ids), len(self.y))
        self.scales, self.weights, self.margins = (np.array(state[name]) for name in ("scales", "weights", "margins"))
        *numbers, self.shift, most = state["numbers"].tolist()
        self.numbers, self.most = np.array(numbers), int(most)
