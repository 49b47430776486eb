"""The two naive online variants of coordinate descent: nothing moves but what arrives."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thresher.substitution.baselines.base import Rival


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
