"""Base of the methods for arriving features that Online Substitution is compared with.

During the run they keep as many features as their penalty or test admits; ``k`` limits only the answer. Columns are
scaled as in Online Substitution, so one penalty or step length suits all features. Each problem has one output.
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
from thresher.errors import SettingsError
from thresher.substitution.problem import BlockwiseProblem, Kept, Targets
from thresher.substitution.settings import PENALISED, SubstitutionSettings


class Baseline(BlockwiseProblem, ABC):
    """The kept columns, their weights and margins; a subclass defines in `receive` what an arriving feature changes."""

    def __init__(self, settings: SubstitutionSettings, targets: Targets, pool: _native.ThreadPool) -> None:
        super().__init__()
        self.settings = settings
        self.loss = get_loss(settings.loss)
        self.y = np.ascontiguousarray(targets.y[0])
        even = targets.weights is None
        self.shares = np.full(len(self.y), 1.0 / len(self.y)) if even else targets.shares
        self.pool = pool
        self.ids: list[int] = []
        self._buffer = np.empty((0, len(self.y)), np.float32)  # columns; the last ones may be unused
        self.scales = np.empty(0)
        self.weights = np.empty(0)
        self.intercept = 0.0
        self.margins = np.zeros(len(self.y))
        #: The penalty, and two numbers that a method may use.
        self.numbers = np.array([settings.lam or 0.0, 0.0, 0.0])
        self.most_kept = 0
        #: The most features that memory holds.
        self.limit: int | None = None

    def solve(self) -> None:
        """Process the features of the block one by one."""
        assert self._block is not None
        columns = self._block.dense
        if self.numbers[0] == 0.0:
            self.numbers[0] = 0.1 * max((abs(self.slope(column)) for column in columns), default=1.0)
        while self.done < len(columns):
            self.receive(int(self._block.ids[self.done]), columns[self.done])
            self.most_kept = max(self.most_kept, len(self.ids))
            self.done += 1

    @abstractmethod
    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        """Process one feature."""

    @property
    def columns(self) -> NDArray[np.float32]:
        """The kept columns."""
        return self._buffer[: len(self.ids)]

    @property
    def lam(self) -> float:
        """The penalty."""
        return float(self.numbers[0])

    def scale(self, column: NDArray[np.float32]) -> float:
        """The factor that gives a column, centred if there is an intercept, a mean square of one."""
        wide = column.astype(np.float64)
        mean = float(self.shares @ wide) if self.settings.fit_intercept else 0.0
        return 1.0 / math.sqrt(float(self.shares @ (wide - mean) ** 2))

    def derivatives(self) -> Floats:
        """The derivative of the mean loss in each margin, after a step of the intercept."""
        derivatives = self.shares * self.loss.derivative(self.margins + self.intercept, self.y)
        if not self.settings.fit_intercept:
            return derivatives
        self.intercept -= float(derivatives.sum()) / self.loss.curvature
        return self.shares * self.loss.derivative(self.margins + self.intercept, self.y)

    def slope(self, column: NDArray[np.float32]) -> float:
        """The derivative of the mean loss in the weight of the scaled column."""
        derivatives = self.derivatives()
        centred = derivatives - self.shares * derivatives.sum() if self.settings.fit_intercept else derivatives
        return self.scale(column) * float(column @ centred)

    def keep(self, id: int, column: NDArray[np.float32], weight: float) -> None:
        """Keep one more feature."""
        kept = len(self.ids)
        if kept == self.limit:
            smaller = "a larger `lam`, " if self.settings.method in PENALISED else ""
            raise SettingsError(
                f"{self.settings.method} keeps more than {kept} columns of {len(self.y)} rows, all that memory holds: "
                f"pass more `memory`, {smaller}or the method os, which keeps at most `k`"
            )
        if kept == len(self._buffer):
            more = max(16, kept // 4)
            more = more if self.limit is None else min(more, self.limit - kept)
            self._buffer = np.concatenate([self._buffer, np.empty((more, len(self.y)), np.float32)])
        self._buffer[len(self.ids)] = column
        self.ids.append(id)
        self.scales = np.append(self.scales, self.scale(column))
        self.weights = np.append(self.weights, weight)
        self.margins += weight * self.scales[-1] * column

    def set_weight(self, slot: int, weight: float) -> None:
        """Change the weight of a kept feature."""
        self.margins += (weight - self.weights[slot]) * self.scales[slot] * self.columns[slot]
        self.weights[slot] = weight

    def drop(self, dropped: NDArray[np.bool_]) -> None:
        """Drop some of the kept features, whose weights are zero."""
        if dropped.any():
            first = int(np.argmax(dropped))
            rest = self.columns[first:][~dropped[first:]]
            self._buffer[first : first + len(rest)] = rest
            self.ids = [id for id, out in zip(self.ids, dropped.tolist(), strict=True) if not out]
            self.scales, self.weights = self.scales[~dropped], self.weights[~dropped]

    def kept(self) -> Kept:
        return Kept(np.array(self.ids, np.uint64), self.weights[:, None], self.columns.copy(), self.scales)

    def kept_ids(self) -> Ids:
        return np.array(self.ids, np.uint64)

    def summary(self) -> dict[str, Any]:
        """The numbers of columns kept at most and at the end, and the penalty."""
        return {"most_held": self.most_kept, "held": len(self.ids), "lam": self.lam}

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "ids": np.array(self.ids, np.uint64),
            "columns": self.columns.ravel().copy(),
            "scales": self.scales,
            "weights": self.weights,
            "margins": self.margins,
            "numbers": np.array([*self.numbers, self.intercept, self.most_kept]),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        for name in ("columns", "scales", "weights", "margins", "numbers"):
            if not np.isfinite(state[name]).all():
                raise ValueError(f"{name} that are not finite")
        kept, rows = state["ids"].size, len(self.y)
        for name, size in {"ids": kept, "scales": kept, "weights": kept, "margins": rows, "numbers": 5}.items():
            if state[name].shape != (size,):
                raise ValueError(f"{name} of another shape")
        self.ids = state["ids"].tolist()
        self._buffer = np.array(state["columns"]).reshape(len(self.ids), len(self.y))
        self.scales, self.weights, self.margins = (np.array(state[name]) for name in ("scales", "weights", "margins"))
        *numbers, self.intercept, most_kept = state["numbers"].tolist()
        self.numbers, self.most_kept = np.array(numbers), int(most_kept)
