"""The latest margins of a stream and their targets, in a fixed number of bytes.

A calibration is fitted on them. Early margins are those of a model that had learned little, so only the latest stay.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.losses import Loss

#: The most bytes.
BYTES = 128 << 10
_LARGEST = float(np.finfo(np.float32).max)


class RecentMargins:
    """The latest rows: row r of the stream is in place r mod ``size``, so batches make no difference.

    Parameters
    ----------
    loss : Loss
    outputs : int
        The number of margins of a row.
    labels : bool
        Whether each output has a target of its own.
    """

    def __init__(self, loss: Loss, outputs: int, *, labels: bool = False) -> None:
        targets = outputs if labels else 1
        size = 0 if loss.task == "real" else max(1, BYTES // (4 * (outputs + targets + 1)))
        self.rows = 0
        self._outputs, self._labels = outputs, labels
        # Margins, targets and the weight of each row.
        self._table = np.zeros((size, outputs + targets + 1), np.float32)

    @property
    def size(self) -> int:
        """The most rows."""
        return len(self._table)

    def add(self, margins: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[Any] | None) -> None:
        """Add rows."""
        n, size = len(margins), self.size
        if n and size:
            first = max(0, n - size)
            place = (self.rows + np.arange(first, n)) % size
            cut = np.clip(margins[first:], -_LARGEST, _LARGEST)  # finite in single precision
            self._table[place, : self._outputs] = cut.reshape(n - first, -1)
            self._table[place, self._outputs : -1] = y[first:].reshape(n - first, -1)
            self._table[place, -1] = 1.0 if weight is None else weight[first:]
        self.rows += n

    def later(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Margins, targets and weights of the latest rows in their order: at most the later half of all rows."""
        count = min(self.size, self.rows - self.rows // 2)
        chosen = self._latest(count).astype(np.float64)
        margins, y = chosen[:, : self._outputs], chosen[:, self._outputs : -1]
        one = self._outputs == 1 and not self._labels
        return margins[:, 0] if one else margins, y if self._labels else y[:, 0], chosen[:, -1]

    def empty(self) -> RecentMargins:
        """The same without rows."""
        other = copy(self)
        other.rows, other._table = 0, np.zeros_like(self._table)
        return other

    def extend(self, other: RecentMargins) -> None:
        """Add the rows of another stream behind these."""
        latest = other._latest(self.size)
        self.rows += other.rows
        if len(latest):
            self._table[np.arange(self.rows - len(latest), self.rows) % self.size] = latest

    def merge(self, other: RecentMargins) -> None:
        """Take half of the places from the latest rows of another stream."""
        half = self.size // 2
        mine, theirs = self._latest(max(half, self.size - other.rows)), other._latest(half)
        rows = self.rows + other.rows
        joined = np.concatenate([theirs, mine])[-self.size :] if self.size else self._table
        self.rows = rows
        if len(joined):
            self._table[np.arange(rows - len(joined), rows) % self.size] = joined

    def _latest(self, most: int) -> NDArray[np.float32]:
        count = min(most, self.size, self.rows)
        return self._table[np.arange(self.rows - count, self.rows) % max(1, self.size)]

    def state(self) -> dict[str, NDArray[Any]]:
        """The state as arrays."""
        return {"recent_rows": np.array([self.rows], np.int64), "recent_margins": self._table[: self.rows].copy()}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from a `state`; one of an earlier version has none, and the rows start anew."""
        if "recent_margins" not in state:
            self.rows = 0
            return
        rows, table = int(state["recent_rows"][0]), state["recent_margins"]
        if rows < 0 or table.dtype != np.float32 or table.shape != (min(rows, self.size), self._table.shape[1]):
            raise ValueError("recent_margins do not fit")
        self.rows = rows
        self._table[: len(table)] = table
