"""Two naive online variants of coordinate descent, which update only the weight of the arriving feature."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thresher.substitution.baselines.base import Baseline


class NaiveL0(Baseline):
    """A coordinate step on the arriving feature, then a projection onto at most k features."""

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        step = -self.slope(column) / self.loss.curvature
        if id in self.ids:
            slot = self.ids.index(id)
            self.set_weight(slot, float(self.weights[slot]) + step)
            return
        self.keep(id, column, step)
        if len(self.ids) > self.settings.k:
            weakest = int(np.lexsort((-np.array(self.ids, np.float64), np.abs(self.weights)))[0])
            self.set_weight(weakest, 0.0)
            self.drop(np.arange(len(self.ids)) == weakest)


class NaiveL1(Baseline):
    """A proximal coordinate step on the arriving feature, with an l1 penalty."""

    def receive(self, id: int, column: NDArray[np.float32]) -> None:
        slot = self.ids.index(id) if id in self.ids else None
        current = 0.0 if slot is None else float(self.weights[slot])
        point = current - self.slope(column) / self.loss.curvature
        weight = math.copysign(max(0.0, abs(point) - self.lam / self.loss.curvature), point)
        if slot is not None:
            self.set_weight(slot, weight)
            self.drop(self.weights == 0.0)
        elif weight != 0.0:
            self.keep(id, column, weight)
