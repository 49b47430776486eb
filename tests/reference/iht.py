r"""Iterative hard thresholding, one example at a time, over a dictionary of weights.

Notes
-----
For a row :math:`x` of importance :math:`s` with margin :math:`m = w'x + b`:

.. math:: w \leftarrow H_k(w - \eta s \ell'(m, y) x), \qquad b \leftarrow b - \eta_b s \ell'(m, y)

where :math:`H_k` keeps the k largest magnitudes. Either :math:`\eta = \eta_b` is given, or
:math:`\eta = 1 / (2 \max s \|x\|^2)` over the rows so far and :math:`\eta_b = \min(\eta, 1/2)`.
"""

import math

from tests.reference import losses
from tests.reference.topk import TopK


class Iht:
    """The state of the loop: a table of weights, the intercept, and the longest row so far."""

    def __init__(self, *, k: int, name_cap: int, loss: str, delta: float, rate: float, intercept: bool):
        self.table = TopK(k, name_cap)
        self.loss = loss
        self.delta = delta
        self.rate = rate
        self.with_intercept = intercept
        self.intercept = 0.0
        self.longest = 0.0
        self.rows_seen = 0

    def learn(self, keys, values, y: float, importance: float = 1.0, names=None) -> float:
        """Learn one row; returns the margin before. Where that is not finite, nothing is learned."""
        kept = [key in self.table for key in keys]
        margin = 0.0
        for key, value in zip(keys, values, strict=True):
            if key in self.table:
                margin += self.table.weight(key) * value
        margin += self.intercept
        if not math.isfinite(margin):
            return margin
        eta = self.step(importance, values)
        slope = importance * losses.derivative(self.loss, self.delta, margin, y)
        if slope != 0:
            self.update(keys, values, -eta * slope, kept, names or [b""] * len(keys))
            if self.with_intercept:
                self.intercept -= (self.rate if self.rate > 0 else min(eta, 0.5)) * slope
        self.rows_seen += 1
        return margin

    def step(self, importance: float, values) -> float:
        """How far to go along the gradient."""
        if self.rate > 0:
            return self.rate
        length = 0.0
        for value in values:
            length += value * value
        self.longest = max(self.longest, importance * length)
        return 0.5 / self.longest if self.longest > 0 else 0.0

    def update(self, keys, values, scale: float, kept, names) -> None:
        """Move what is kept, then let the others compete with where it went; a key that stands twice adds up."""
        for key, value, member in zip(keys, values, kept, strict=True):
            if member:
                self.table.put(key, self.table.weight(key) + scale * value)
        for key, value, member, name in zip(keys, values, kept, names, strict=True):
            move = scale * value
            if member or move == 0:
                continue
            if key in self.table:
                self.table.put(key, self.table.weight(key) + move)
            else:
                self.table.put(key, move, name)
