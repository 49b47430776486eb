"""The same loop through the package's own engine: its sketch is the store, its table the choice.

A full-gradient step is one mini-batch of all n rows. Where entries have unit variance, the engine's average gradient is
that of columns of length about one, so steps mean the same as in `full_gradient`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch
from thresher.online.engine import OnlineEngine, OnlineSettings


def batch_of(x: NDArray[Any], y: NDArray[Any]) -> Batch:
    """All rows of a dense matrix, zeros and all; column j has key j."""
    n, p = x.shape
    keys = np.tile(np.arange(p, dtype=np.uint64), n)
    return Batch(np.arange(n + 1, dtype=np.int64) * p, keys, np.ascontiguousarray(x, np.float32).ravel(), y)


def mission(k: int, n: int, step: float, sketch: tuple[int, int], *, identity: bool = False, seed: int = 0) -> Any:
    """MISSION as in the paper: the table holds what the sketch says."""
    shared: dict[str, Any] = {"loss": "squared", "fit_intercept": False, "minibatch": n, "step": step}
    return OnlineEngine(
        OnlineSettings(k=k, method="mission", active="sketch", sketch=sketch, identity=identity, seed=seed, **shared)
    )


def iht(k: int, n: int, step: float) -> OnlineEngine:
    """Iterative hard thresholding: the same loop over a store that forgets."""
    return OnlineEngine(OnlineSettings(k=k, method="iht", loss="squared", fit_intercept=False, minibatch=n, step=step))


def descend(engine: OnlineEngine, batch: Batch, steps: int, fade: Callable[[float], float] | None) -> None:
    """So many steps over the same rows; ``fade`` gives gamma for the share of the steps that is done."""
    for t in range(steps):
        if fade is not None:
            engine._loop.fade = fade(t / steps)
        engine.step(batch)


def descend_by_gradients(
    engine: OnlineEngine,
    x: NDArray[Any],
    y: NDArray[Any],
    steps: int,
    fade: Callable[[float], float] | None,
    clean_up: float = 1.0,
) -> int:
    """The same for an engine of single rows, n times as fast: the full gradient is made here and learned as one row.

    A row that is the way down, with a target one above its margin, has slope -1: the engine's step on it is the step
    along the gradient. ``clean_up`` multiplies all of the gradient but its k largest entries and those of the features
    that are kept (section 9.1 of the paper). Ends when the gradient is gone; the number of steps.
    """
    n, p = x.shape
    k = engine.settings.k
    indptr, keys = np.array([0, p], np.int64), np.arange(p, dtype=np.uint64)
    first = 0.0
    for t in range(steps):
        found = engine.selected()
        kept = found.keys.astype(np.int64)
        down = (y - x[:, kept] @ found.weights).astype(x.dtype) @ x / n
        left = float(np.abs(down).max())
        first = first or left
        if not 1e-6 * first < left < 1e9 * first:
            return t
        values = (clean_up * down).astype(np.float32)
        spared = np.concatenate([kept, np.argpartition(np.abs(down), -k)[-k:]])
        values[spared] = down[spared]
        margin = values[kept].astype(np.float64) @ found.weights
        if fade is not None:
            engine._loop.fade = fade(t / steps)
        engine.step(Batch(indptr, keys, values, np.array([margin + 1.0])))
    return steps
