"""The losses, as both loops and both languages see them.

The formulas live in ``native/base/losses.hpp``; this is their Python face. Scale, once and for all:
squared is half the squared residual, squared hinge half the squared gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.errors import SettingsError

Task = Literal["binary", "real", "classes"]

_TASKS: dict[str, Task] = {
    "squared": "real",
    "huber": "real",
    "squared_epsilon": "real",
    "logistic": "binary",
    "hinge": "binary",
    "squared_hinge": "binary",
    "softmax": "classes",
    "rest:logistic": "classes",
    "rest:hinge": "classes",
    "rest:squared_hinge": "classes",
}
#: Losses with a Lipschitz gradient, which working-set methods need.
SMOOTH = ("squared_hinge", "logistic", "squared")
_REST = "rest:"
#: What the delta is of those losses that have one, unless it is given.
_WITH_DELTA = {"huber": 1.0, "squared_epsilon": 0.1}


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss of the margin m = w'x + b against the target y.

    ========================  =========================================  ==============
    name                      value                                      curvature
    ========================  =========================================  ==============
    ``squared``               (m - y)² / 2                               1
    ``huber:delta``           (m - y)² / 2 within delta, linear outside  1
    ``squared_epsilon:delta`` max(0, |m - y| - delta)² / 2               1
    ``logistic``              log(1 + exp(-ym))                          1/4
    ``hinge``                 max(0, 1 - ym)                             0 (kinked)
    ``squared_hinge``         max(0, 1 - ym)² / 2                        1
    ``softmax``               log Σ exp(m_c) - m_y                       1/2
    ``rest:`` and a binary    the sum over classes, each against the     that of it
                              rest
    ========================  =========================================  ==============

    Targets of the binary losses are -1 and +1; `Targets` makes them from whatever the data has.
    """

    name: str
    delta: float = 1.0

    @property
    def task(self) -> Task:
        """What the loss predicts: one of two classes, a number, or one of several classes."""
        return _TASKS[self.name]

    @property
    def part(self) -> str:
        """Of one class against the rest, the loss of that; otherwise the loss itself."""
        return self.name.removeprefix(_REST)

    @property
    def rest(self) -> bool:
        """Whether every class has a margin of its own, against the rest."""
        return self.name.startswith(_REST)

    @property
    def curvature(self) -> float:
        """The largest second derivative anywhere it exists."""
        return 0.5 if self.name == "softmax" else _native.loss_curvature(self.part, self.delta)

    def value(self, m: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
        """The loss of each row; for softmax ``m`` is rows x classes and ``y`` holds class numbers."""
        if self.name == "softmax":
            values: NDArray[np.float64] = _native.softmax(_floats(m), np.asarray(y, dtype=np.int64))[0]
            return values
        if self.rest:
            sums: NDArray[np.float64] = self._each(_native.loss_value, m, y).sum(axis=1)
            return sums
        return _native.loss_value(self.name, self.delta, _floats(m), _floats(y))

    def derivative(self, m: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
        """The derivative in the margin; for softmax p - e_y, rows x classes."""
        if self.name == "softmax":
            gradient: NDArray[np.float64] = _native.softmax(_floats(m), np.asarray(y, dtype=np.int64))[1]
            return gradient.reshape(np.shape(m))
        if self.rest:
            return self._each(_native.loss_derivative, m, y)
        return _native.loss_derivative(self.name, self.delta, _floats(m), _floats(y))

    def _each(self, formula: Any, m: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
        """A formula of margin and target for every class against the rest, rows x classes."""
        mine = np.arange(np.shape(m)[1]) == np.asarray(y)[:, None]
        flat: NDArray[np.float64] = formula(
            self.part, self.delta, _floats(m).ravel(), np.where(mine, 1.0, -1.0).ravel()
        )
        return flat.reshape(np.shape(m))

    def __str__(self) -> str:
        return f"{self.name}:{repr(self.delta).removesuffix('.0')}" if self.name in _WITH_DELTA else self.name


def get_loss(spec: str | Loss) -> Loss:
    """A loss by its name, ``"huber:1.35"`` with its delta."""
    if isinstance(spec, Loss):
        return spec
    if str(spec) in _TASKS:
        return Loss(str(spec), _WITH_DELTA.get(str(spec), 1.0))
    name, _, parameter = str(spec).partition(":")
    try:
        if name not in _TASKS or (parameter and name not in _WITH_DELTA):
            raise ValueError
        loss = Loss(name, float(parameter) if parameter else 1.0)
        if not 0 < loss.delta < np.inf:
            raise ValueError
    except ValueError:
        told = f"one of {', '.join(_TASKS)} (huber:delta and squared_epsilon:delta set their delta)"
        raise SettingsError(f"unknown loss {spec!r}: {told}") from None
    return loss


def _floats(x: NDArray[Any]) -> NDArray[np.float64]:
    return np.ascontiguousarray(x, dtype=np.float64)
