"""Reference Online Substitution: Algorithms 1 to 3 line by line, dense and in double precision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def loss(name: str, u: Array, y: Array, delta: float = 1.0) -> float:
    """(2), (3) and the others, as means over the rows."""
    r = u - y
    if name == "squared":
        return float(np.mean(0.5 * r**2))
    if name == "squared_hinge":
        return float(np.mean(0.5 * np.maximum(0.0, 1.0 - u * y) ** 2))
    if name == "logistic":
        return float(np.mean(np.logaddexp(0.0, -u * y)))
    if name == "huber":
        return float(np.mean(np.where(abs(r) <= delta, 0.5 * r**2, delta * (abs(r) - 0.5 * delta))))
    assert name == "squared_epsilon"
    return float(np.mean(0.5 * np.maximum(0.0, abs(r) - delta) ** 2))


def slopes(name: str, u: Array, y: Array, delta: float = 1.0) -> Array:
    """∂L/∂u: (4), (5) and the others."""
    n, r = len(y), u - y
    if name == "squared":
        return r / n
    if name == "squared_hinge":
        return -np.maximum(0.0, 1.0 - u * y) * y / n
    if name == "logistic":
        return -y / (1.0 + np.exp(u * y)) / n
    if name == "huber":
        return np.clip(r, -delta, delta) / n
    assert name == "squared_epsilon"
    return (r - np.clip(r, -delta, delta)) / n


@dataclass
class OnlineSubstitution:
    """Algorithm 1. Columns must have a mean square of one; without a check while fewer than s are kept."""

    y: Array
    s: int
    eta: float
    name: str = "squared"
    m: float = 1.0
    c: float = 0.0
    lipschitz: float = 0.0
    delta: float = 1.0
    S: list[int] = field(default_factory=list)
    columns: dict[int, Array] = field(default_factory=dict)
    w: dict[int, float] = field(default_factory=dict)
    changes: list[tuple[int, int | None]] = field(default_factory=list)
    #: Decisions in which the two weakest weights were within 1e-9 of each other.
    close: int = 0
    #: ‖w_next - w_prev‖² and f after every feature.
    moves: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def f(self, w: dict[int, float]) -> float:
        """L(Xw, y)."""
        return loss(self.name, self._u(w), self.y, self.delta)

    def _u(self, w: dict[int, float]) -> Array:
        return sum((v * self.columns[k] for k, v in w.items()), np.zeros(len(self.y)))

    def receive(self, j: int, x: Array) -> None:
        """Lines 3 to 17."""
        if j in self.S:
            return
        self.columns[j] = x
        slope = slopes(self.name, self._u(self.w), self.y, self.delta)
        prev = dict(self.w)
        w = {k: self.w[k] - self.eta / self.m * (self.columns[k] @ slope) for k in self.S}
        w[j] = -self.eta * (x @ slope)
        if len(self.S) < self.s:
            self.S.append(j)
            self.changes.append((j, None))
        else:
            ordered = sorted(w, key=lambda k: (abs(w[k]), k != j, -k))  # ties to the newcomer, then to the larger key
            weakest = ordered[0]
            one, other = abs(w[ordered[0]]), abs(w[ordered[1]])
            self.close += other - one <= 1e-9 * other
            following = {k: v for k, v in w.items() if k != weakest}
            moved = sum((following.get(k, 0.0) - prev.get(k, 0.0)) ** 2 for k in w)
            allowed = self.c * (0.5 * self.lipschitz - 0.5 / self.eta) * moved
            if weakest != j and self.f(following) - self.f(prev) <= allowed:
                w = following
                self.S[self.S.index(weakest)] = j
                self.changes.append((j, weakest))
            else:
                del w[j]
        self.columns = {k: self.columns[k] for k in self.S}
        self.w = w
        self.moves.append(sum((w.get(k, 0.0) - prev.get(k, 0.0)) ** 2 for k in {*w, *prev}))
        self.values.append(self.f(w))


@dataclass
class AsynchronousSubstitution:
    """Algorithms 2 and 3 on one thread: each worker sees the others ``staleness`` updates late."""

    y: Array
    capacities: list[int]
    eta: float
    name: str = "squared"
    m: float = 1.0
    staleness: int = 0

    def __post_init__(self) -> None:
        self.workers: list[dict[int, tuple[float, Array]]] = [{} for _ in self.capacities]
        self.u = np.zeros(len(self.y))
        self.pushed: list[tuple[int, Array]] = []

    def receive(self, t: int, j: int, x: Array) -> None:
        """One step of worker t (Algorithm 3), and the update of the central state (Algorithm 2).

        A feature that a worker keeps is ignored.
        """
        mine = self.workers[t]
        if any(j in held for held in self.workers):
            return
        unseen = [change for worker, change in self.pushed[max(0, len(self.pushed) - self.staleness) :] if worker != t]
        seen = self.u - sum(unseen, np.zeros(len(self.y))) if self.staleness else self.u
        before = sum((w * column for w, column in mine.values()), np.zeros(len(self.y)))
        slope = slopes(self.name, seen, self.y)
        moved = {k: (w - self.eta / self.m * (column @ slope), column) for k, (w, column) in mine.items()}
        moved[j] = (-self.eta * (x @ slope), x)
        if len(moved) > self.capacities[t]:
            del moved[min(moved, key=lambda k: (abs(moved[k][0]), k != j, -k))]
        self.workers[t] = moved
        after = sum((w * column for w, column in moved.values()), np.zeros(len(self.y)))
        self.pushed.append((t, after - before))
        self.u = self.u + (after - before)


def scan(method: OnlineSubstitution, columns: Iterable[tuple[int, Array]]) -> None:
    """Process all features once."""
    for j, x in columns:
        method.receive(j, x)
