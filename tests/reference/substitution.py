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
    arrivals: int = 1
    ridge: float = 0.0
    #: Arrivals whose step of the kept weights is still to be made.
    waiting: int = 0
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
        """L(Xw, y) and the penalty."""
        return loss(self.name, self._u(w), self.y, self.delta) + 0.5 * self.ridge * sum(v * v for v in w.values())

    def _u(self, w: dict[int, float]) -> Array:
        return sum((v * self.columns[k] for k, v in w.items()), np.zeros(len(self.y)))

    def receive(self, j: int, x: Array) -> None:
        """Lines 3 to 17. While fewer than ``arrivals`` wait, one that is too weak to enter only waits.

        The steps of all that wait are made together, unless the objective would rise: then one step is made.
        """
        if j in self.S:
            return
        self.columns[j] = x
        steps = self.waiting + 1
        moved = self._moved(j, steps)
        if len(self.S) == self.s and steps < self.arrivals and self._order(moved, j)[0] == j:
            self.waiting = steps
            del self.columns[j]
            return
        self.waiting = 0
        for length in dict.fromkeys([steps, 1]):
            before = dict(self.w), list(self.S), list(self.changes), dict(self.columns), self.close
            was = self.f(self.w)
            self._receive(j, self._moved(j, length))
            if length == 1 or self.values[-1] <= was:
                return
            self.w, self.S, self.changes, self.columns, self.close = before
            del self.moves[-1], self.values[-1]

    def _moved(self, j: int, steps: int) -> dict[int, float]:
        slope = slopes(self.name, self._u(self.w), self.y, self.delta)
        length = self.eta * steps / self.m
        w = {k: self.w[k] - length * (self.columns[k] @ slope + self.ridge * self.w[k]) for k in self.S}
        w[j] = -self.eta * (self.columns[j] @ slope)
        return w

    def _order(self, w: dict[int, float], j: int) -> list[int]:
        """The weakest first; ties to the newcomer, then to the larger key."""
        ordered = sorted(w, key=lambda k: (abs(w[k]), k != j, -k))
        one, other = abs(w[ordered[0]]), abs(w[ordered[1]])
        self.close += other - one <= 1e-9 * other
        return ordered

    def _receive(self, j: int, w: dict[int, float]) -> None:
        prev = dict(self.w)
        if len(self.S) < self.s:
            self.S.append(j)
            self.changes.append((j, None))
        else:
            weakest = self._order(w, j)[0]
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
