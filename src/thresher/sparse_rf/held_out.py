"""The held-out rows of Sparse Random Features: which they are, and how margins are scored on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats
from thresher.core.losses import get_loss

#: The tenths of the rows that are held out; calibration holds out others.
_FIRST_TENTH = 8
#: With fewer held-out rows nothing is chosen.
_FEWEST = 20
#: With fewer held-out rows than this, their mistakes are too few to compare: the loss itself decides.
_COARSE = 500


class HeldOut(NamedTuple):
    """Held-out rows (a mask over all rows), and the targets and weights of all rows."""

    mask: NDArray[np.bool_]
    targets: Floats  # outputs x rows
    weights: Floats
    real: bool  # whether the targets are numbers
    loss: str = "squared_hinge"

    @classmethod
    def of(cls, loss: str, parts: NDArray[np.uint8] | None, targets: Floats, weights: Floats) -> HeldOut | None:
        """Hold out a fifth of the rows; None if that leaves too few of them, or of a class."""
        if parts is None:
            return None
        mask = (parts >= _FIRST_TENTH) & (weights > 0)
        rest = targets[:, ~mask & (weights > 0)]
        real = get_loss(loss).task == "real"
        if mask.sum() < _FEWEST or not rest.shape[1]:
            return None
        if not real and ((rest.max(axis=1) < 0).any() or (rest.min(axis=1) > 0).any()):
            return None
        return cls(mask, targets, weights, real, loss)

    @property
    def few(self) -> bool:
        """Whether these rows are too few to count mistakes."""
        return bool(self.mask.sum() < _COARSE)

    @property
    def learned(self) -> Floats:
        """The weights of the rows, 0 for the held-out ones."""
        return np.where(self.mask, 0.0, self.weights)

    def sample(self, most: int) -> NDArray[np.intp]:
        """At most this many rows, ascending; a random sample by number."""
        rows = len(self.mask)
        if rows <= most:
            return np.arange(rows)
        mixed = _native.mix_keys(np.arange(rows, dtype=np.uint64))
        return np.sort(np.argsort(mixed, kind="stable")[:most])

    def rows(self, which: NDArray[np.intp]) -> HeldOut:
        """The same for some of the rows."""
        targets = np.ascontiguousarray(self.targets[:, which])
        return HeldOut(self.mask[which], targets, self.weights[which].copy(), self.real, self.loss)

    def losses(self, margins: Floats) -> Floats:
        """What choices compare, from margins (outputs x held-out rows): mistakes, or with few rows the loss."""
        if self.real or not self.few:
            return self.mistakes(margins)
        values = get_loss(self.loss).value(margins.ravel(), self.targets[:, self.mask].ravel())
        return np.asarray(values.reshape(margins.shape).mean(axis=0))

    def mistakes(self, margins: Floats) -> Floats:
        """The squared error of each held-out row, or 0 or 1, from margins (outputs x held-out rows)."""
        y = self.targets[:, self.mask]
        if self.real:
            return np.asarray(((margins - y) ** 2).mean(axis=0))
        if len(y) > 1 and ((y > 0).sum(axis=0) == 1).all():
            return np.asarray(margins.argmax(axis=0) != y.argmax(axis=0), np.float64)
        return np.asarray(((margins > 0) != (y > 0)).mean(axis=0))

    def mean(self, losses: Floats) -> float:
        """The weighted mean of such losses."""
        weights = self.weights[self.mask]
        return float(weights @ losses / weights.sum())

    def error(self, difference: Floats) -> float:
        """The standard error of the mean of a difference of losses; a row of weight 2 counts as two rows."""
        weights = self.weights[self.mask]
        centred = difference - weights @ difference / weights.sum()
        return float(np.sqrt((weights * centred**2).sum()) / weights.sum())

    def score(self, mean: float) -> float:
        """Accuracy or R² from the mean of `mistakes`."""
        if not self.real:
            return 1.0 - mean
        y, weights = self.targets[:, self.mask], self.weights[self.mask] / self.weights[self.mask].sum()
        spread = float(np.mean([weights @ (one - weights @ one) ** 2 for one in y]))
        return 1.0 - mean / spread if spread > 0 else 0.0
