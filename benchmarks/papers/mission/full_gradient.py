r"""One full-gradient loop for sparse regression; every method is a choice of its parts.

Notes
-----
The store S holds what is known of every feature. A step is

.. math:: S \leftarrow S + \eta X'(y - X w), \qquad
          w \leftarrow \mathrm{weigh}(\mathrm{choose}_k(S)), \qquad
          S_j \leftarrow \gamma_t S_j \text{ for } j \text{ not chosen}, \quad S_j \leftarrow w_j \text{ otherwise.}

========  =======================  ==================  ===================
method    :math:`\gamma_t`         choose              weigh
========  =======================  ==================  ===================
MISSION   near 1, falling          k largest           as stored
IHT       0: the rest forgotten    k largest           as stored
ITI       0                        k largest           least squares
PHT       0                        at most r new ones  least squares
========  =======================  ==================  ===================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Problems:
    """Problems y = X D b without noise, solved side by side; a problem is a design, column scales D, the truth b.

    Parameters
    ----------
    gram : (designs, p, p)
        X'X of every design, all that a gradient needs.
    design : (problems,)
        Which of them a problem has.
    scales, truth : (problems, p)
        D and b.
    """

    gram: Floats
    design: Ints
    scales: Floats
    truth: Floats

    def descent(self, support: Ints, weights: Floats) -> Floats:
        """X'(y - X w), the way down, where w has ``weights`` on ``support`` (both problems x k)."""
        scaled = weights * np.take_along_axis(self.scales, support, 1)
        down = np.empty_like(self.scales)
        for i, design in enumerate(self.design):
            np.matmul(scaled[i], self.gram[design].take(support[i], axis=0), out=down[i])
        np.subtract(self.correlations, down, out=down)
        down *= self.scales
        return down

    @cached_property
    def correlations(self) -> Floats:
        """X'y before the columns of X are scaled."""
        signal = self.scales * self.truth
        found = np.empty_like(signal)
        for i, design in enumerate(self.design):
            at = np.flatnonzero(signal[i])
            found[i] = signal[i, at] @ self.gram[design, at]
        return found

    def least_squares(self, support: Ints) -> Floats:
        """The best weights on a support."""
        d = np.take_along_axis(self.scales, support, 1)
        among = self.gram[self.design[:, None, None], support[:, :, None], support[:, None, :]]
        among = among * d[:, :, None] * d[:, None, :]
        target = d * np.take_along_axis(self.correlations, support, 1)
        return np.linalg.solve(among, target[:, :, None])[:, :, 0]

    def take(self, problems: NDArray[np.bool_]) -> Problems:
        """Some of them."""
        return Problems(self.gram, self.design[problems], self.scales[problems], self.truth[problems])


def largest(store: Floats, support: Ints, k: int) -> Ints:
    """The k largest magnitudes of each problem, by number of the feature."""
    return np.sort(np.argpartition(np.abs(store), -k, axis=1)[:, -k:], axis=1)


def exchange(most: int) -> Callable[[Floats, Ints, int], Ints]:
    """The k largest when at most ``most`` may be new (partial hard thresholding)."""

    def choose(store: Floats, support: Ints, k: int) -> Ints:
        size = np.abs(store)
        inside = np.zeros(size.shape, bool)
        np.put_along_axis(inside, support, True, 1)
        new = largest(np.where(inside, 0.0, size), support, most)
        np.put_along_axis(inside, new, True, 1)
        return largest(np.where(inside, size, 0.0), support, k)

    return choose


def as_stored(problems: Problems, support: Ints, store: Floats) -> Floats:
    """The weights are what the store says."""
    return np.take_along_axis(store, support, 1)


def fitted(problems: Problems, support: Ints, store: Floats) -> Floats:
    """The weights are the best ones on the support."""
    return problems.least_squares(support)


@dataclass(frozen=True, kw_only=True)
class Method:
    """The parts of the loop. ``fade`` gives gamma for the share of the steps that is done."""

    step: float
    steps: int
    fade: Callable[[float], float]
    choose: Callable[[Floats, Ints, int], Ints] = largest
    weigh: Callable[[Problems, Ints, Floats], Floats] = as_stored


def forget(done: float) -> float:
    """Nothing of what is not chosen is kept."""
    return 0.0


@dataclass(frozen=True)
class Fading:
    """1 - gamma rises from ``first`` to ``last`` in equal ratios."""

    first: float
    last: float

    def __call__(self, done: float) -> float:
        """Gamma when this share of the steps is done."""
        return float(1.0 - self.first ** (1.0 - done) * self.last**done)


class Found(NamedTuple):
    """Where the loop ended: supports (ascending), weights and the steps it took, problem by problem."""

    support: Ints
    weights: Floats
    steps: Ints


SOLVED = 1e-6  # of the first gradient: what is left of it when a problem is solved
STILL = 1e-12  # of the largest weight: how little the weights move at a fixed point
LOST = 1e9  # times the first gradient: the steps were too long
LOOK = 10  # steps between looks at who is done


def solve(problems: Problems, k: int, method: Method) -> Found:
    """Run the loop on every problem until the gradient is gone, nothing can move any more, or the steps are up."""
    count, p = problems.truth.shape
    found = Found(np.zeros((count, k), np.int64), np.zeros((count, k)), np.full(count, method.steps))
    running = np.arange(count)
    store = np.zeros((count, p))
    support = np.tile(np.arange(k), (count, 1))
    weights = np.zeros((count, k))
    first = np.abs(problems.descent(support, weights)).max(axis=1)
    for t in range(method.steps):
        down = problems.descent(support, weights)
        fade = method.fade(t / method.steps)
        before = support, weights
        store += method.step * down
        # At the start nothing is chosen yet, so that there is nothing to exchange.
        support = (method.choose if t > 0 else largest)(store, support, k)
        weights = method.weigh(problems, support, store)
        store *= fade
        np.put_along_axis(store, support, weights, 1)
        if (t + 1) % LOOK and t + 1 < method.steps:
            continue
        found.support[running], found.weights[running] = support, weights
        left = np.abs(down).max(axis=1)
        going = (left > SOLVED * first) & (left < LOST * first)
        if fade == 0.0:  # the weights are all that is known: once they rest, nothing happens any more
            moved = np.abs(weights - before[1]).max(axis=1)
            going &= (support != before[0]).any(axis=1) | (moved > STILL * np.abs(weights).max(axis=1))
        if not going.all():
            found.steps[running[~going]] = t + 1
            running, problems, first = running[going], problems.take(going), first[going]
            store, support, weights = store[going], support[going], weights[going]
        if len(running) == 0:
            break
    return found


def recovered(problems: Problems, found: Found) -> NDArray[np.bool_]:
    """Whether the support is the truth's."""
    hit = np.take_along_axis(problems.truth != 0, found.support, 1)
    return hit.all(axis=1) & (hit.sum(axis=1) == (problems.truth != 0).sum(axis=1))
