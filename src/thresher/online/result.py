"""What an engine has selected: from tables, from all weights there are, or from the buckets of hashing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.online.tables import Kept


class Selected(NamedTuple):
    """The strongest features of an engine, strongest first; ``weights`` is (k,) or (outputs, k)."""

    keys: NDArray[np.uint64]
    weights: NDArray[np.float64]
    counts: NDArray[np.uint64]
    names: list[bytes]
    bounds: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def by_weight(self, limit: int | None) -> Selected:
        """The ``limit`` (None: all) largest weights that are not zero, for methods that rank by something else."""
        strength = np.abs(self.weights) if self.weights.ndim == 1 else np.sqrt((self.weights**2).sum(axis=0))
        order = np.lexsort((self.keys, -strength))
        order = order[strength[order] > 0][:limit]
        return Selected(
            self.keys[order],
            np.ascontiguousarray(self.weights[..., order]),
            self.counts[order],
            [self.names[i] for i in order.tolist()],
            self.bounds[order],
            self.intercept,
        )


def strongest(
    keys: NDArray[np.uint64],
    counts: NDArray[np.uint64],
    weights: NDArray[np.float64],
    unit: float,
    intercept: NDArray[np.float64],
    limit: int | None,
) -> Selected:
    """The largest of all weights there are."""
    weights = unit * weights.reshape(len(keys), -1).T
    weights = weights[0] if len(weights) == 1 else weights
    return Selected(keys, weights, counts, [b""] * len(keys), np.zeros(len(keys)), intercept).by_weight(limit)


def joined(
    tables: list[Kept], bounds: list[NDArray[np.float64]], unit: float, intercept: NDArray[np.float64]
) -> Selected:
    """Tables of single outputs as one: every feature of any of them, zero where an output does not keep it.

    Of no tables at all, as hashing has, no feature.
    """
    keys = np.unique(np.concatenate([np.empty(0, np.uint64), *(table.keys for table in tables)]))
    weights = np.zeros((len(intercept), len(keys)))
    bound, counts = np.zeros(len(keys)), np.zeros(len(keys), np.uint64)
    names = [b""] * len(keys)
    for c, table in enumerate(tables):
        at = np.searchsorted(keys, table.keys)
        weights[c, at] = unit * table.weights[:, 0]
        bound[at] = np.maximum(bound[at], bounds[c])
        counts[at] = np.maximum(counts[at], table.counts)
        for i, name in zip(at.tolist(), table.names, strict=True):
            names[i] = name
    order = np.lexsort((keys, -np.sqrt((weights**2).sum(axis=0))))
    named = [names[i] for i in order.tolist()]
    weights = weights[0] if len(intercept) == 1 else np.ascontiguousarray(weights[:, order])
    return Selected(keys[order], weights, counts[order], named, bound[order], intercept)


def buckets(sketch: _native.CountSketch | _native.EvidenceSketch, lanes: int, loop: _native.OnlineLoop) -> Selected:
    """Every bucket of the hashing model that holds anything, as its own feature."""
    cells = sketch.cells
    if isinstance(sketch, _native.EvidenceSketch):
        halves = (cells.astype(np.uint32) << 16).view(np.float32).astype(np.float64).reshape(-1, lanes + 1)
        noise = np.sqrt(halves[:, :1] + loop.prior)
        sums = np.divide(halves[:, 1:], noise, out=np.zeros_like(halves[:, 1:]), where=noise > 0)
    else:
        sums = cells.astype(np.float64).reshape(-1, lanes)
    weights = loop.unit * sketch.factor * sums
    strength = np.sqrt((weights**2).sum(axis=1))
    order = np.argsort(-strength, kind="stable")[: int((strength > 0).sum())]
    chosen = np.ascontiguousarray(weights[order].T)
    nothing = np.zeros(len(order))
    return Selected(
        order.astype(np.uint64),
        chosen[0] if lanes == 1 else chosen,
        nothing.astype(np.uint64),
        [b""] * len(order),
        nothing,
        np.array(loop.intercepts),
    )
