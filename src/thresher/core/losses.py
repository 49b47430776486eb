"""The losses of both loops; their formulas are in ``native/base/losses.hpp``.

The squared loss is half the squared residual, and the squared hinge loss half the squared hinge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.display import did_you_mean, quoted
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
#: Losses with a Lipschitz gradient, as working-set methods require.
SMOOTH = ("squared_hinge", "logistic", "squared")
_ONE_VS_REST = "rest:"
#: The losses with a delta, and its default.
_DEFAULT_DELTA = {"huber": 1.0, "squared_epsilon": 0.1}


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
    ``rest:`` and a binary    the sum of the binary loss over classes,   that of the
    loss                      each against the rest                      binary loss
    ========================  =========================================  ==============

    The targets of binary losses are -1 and +1; `thresher.core.labels.Targets` encodes labels of the data.
    """

    name: str
    delta: float = 1.0

    @property
    def task(self) -> Task:
        """The kind of prediction: one of two classes, a number, or one of several classes."""
        return _TASKS[self.name]

    @property
    def part(self) -> str:
        """The name of the binary loss of one class against the rest; the name itself for other losses."""
        return self.name.removeprefix(_ONE_VS_REST)

    @property
    def rest(self) -> bool:
        """Whether the loss is one class against the rest."""
        return self.name.startswith(_ONE_VS_REST)

    @property
    def curvature(self) -> float:
        """The largest second derivative, where it exists."""
        return 0.5 if self.name == "softmax" else _native.loss_curvature(self.part, self.delta)

    def value(self, m: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
        """The loss of each row; for softmax ``m`` is rows x classes and ``y`` holds class numbers."""
        if self.name == "softmax":
            values: NDArray[np.float64] = _native.softmax(_floats(m), np.asarray(y, dtype=np.int64))[0]
            return values
        if self.rest:
            sums: NDArray[np.float64] = self._one_vs_rest(_native.loss_value, m, y).sum(axis=1)
            return sums
        return _native.loss_value(self.name, self.delta, _floats(m), _floats(y))

    def derivative(self, m: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
        """The derivative in the margin; for softmax p - e_y as rows x classes."""
        if self.name == "softmax":
            gradient: NDArray[np.float64] = _native.softmax(_floats(m), np.asarray(y, dtype=np.int64))[1]
            return gradient.reshape(np.shape(m))
        if self.rest:
            return self._one_vs_rest(_native.loss_derivative, m, y)
        return _native.loss_derivative(self.name, self.delta, _floats(m), _floats(y))

    def _one_vs_rest(self, formula: Any, m: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
        """A formula of margin and target, applied to each class against the rest: rows x classes."""
        positive = np.arange(np.shape(m)[1]) == np.asarray(y)[:, None]
        flat: NDArray[np.float64] = formula(
            self.part, self.delta, _floats(m).ravel(), np.where(positive, 1.0, -1.0).ravel()
        )
        return flat.reshape(np.shape(m))

    def __str__(self) -> str:
        return f"{self.name}:{repr(self.delta).removesuffix('.0')}" if self.name in _DEFAULT_DELTA else self.name


def get_loss(spec: str | Loss) -> Loss:
    """The loss of this name; ``"huber:1.35"`` sets its delta."""
    if isinstance(spec, Loss):
        return spec
    if str(spec) in _TASKS:
        return Loss(str(spec), _DEFAULT_DELTA.get(str(spec), 1.0))
    name, _, parameter = str(spec).partition(":")
    try:
        if name not in _DEFAULT_DELTA:
            raise ValueError
        loss = Loss(name, float(parameter))
        if not 0 < loss.delta < np.inf:
            raise ValueError
    except ValueError:
        names = list(_TASKS)
        advice = ": its parameter must be a number above 0, as in huber:1.35; other losses have none"
        advice = advice if name in names else did_you_mean(name, names, len(names))
        raise SettingsError(f"unknown loss {quoted(spec)}{advice}") from None
    return loss


def _floats(x: NDArray[Any]) -> NDArray[np.float64]:
    return np.ascontiguousarray(x, dtype=np.float64)
