"""The kept features of an engine: its tables as arrays, and the selection of the strongest."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core import container

#: The state of a kept feature: the factor that turns its sums into weights, their energy, then one sum per output.
INVERSE, ENERGY, HEADER = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Kept:
    """The features of one table, strongest first."""

    keys: NDArray[np.uint64]
    ranks: NDArray[np.float64]
    counts: NDArray[np.uint64]
    names: list[bytes]
    state: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Any, size: int) -> Kept:
        """Create from a table of the native loop, with a state of ``size`` numbers per feature."""
        keys, ranks, counts, names, state = rows
        return cls(keys, ranks, counts, names, state.reshape(-1, size))

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights, (features, outputs), in the store's unit."""
        weights: NDArray[np.float64] = self.state[:, HEADER:] * self.state[:, INVERSE, None]
        return weights

    @property
    def noise(self) -> NDArray[np.float64]:
        """The standard error of each weight, in the store's unit."""
        noise: NDArray[np.float64] = np.sqrt(self.state[:, ENERGY]) * self.state[:, INVERSE]
        return noise

    def first(self, k: int) -> Kept:
        """The ``k`` strongest features."""
        return Kept(self.keys[:k], self.ranks[:k], self.counts[:k], self.names[:k], self.state[:k])

    def arrays(self) -> tuple[Any, ...]:
        """The arguments of the native loop's ``restore_table``."""
        parts = (self.keys, self.ranks, self.counts)
        state = np.ascontiguousarray(self.state).ravel()
        return (*map(np.ascontiguousarray, parts), self.names, state)


def pack_tables(tables: list[Kept]) -> dict[str, NDArray[Any]]:
    """Concatenate tables into the arrays of a checkpoint."""
    empty = np.empty(0)
    offsets, text = container.pack_strings([name for table in tables for name in table.names])
    return {
        "table_sizes": np.array([len(table.keys) for table in tables], np.int64),
        "keys": np.concatenate([np.empty(0, np.uint64), *(table.keys for table in tables)]),
        "ranks": np.concatenate([empty, *(table.ranks for table in tables)]),
        "counts": np.concatenate([np.empty(0, np.uint64), *(table.counts for table in tables)]),
        "kept": np.concatenate([empty, *(table.state.ravel() for table in tables)]),
        "name_offsets": offsets,
        "name_text": text,
    }


def unpack_tables(state: dict[str, NDArray[Any]], tables: int, size: int) -> list[Kept]:
    """The inverse of `pack_tables`; ValueError if the arrays do not fit together."""
    names = container.unpack_strings(state["name_offsets"], state["name_text"])
    sizes = state["table_sizes"].tolist()
    if len(sizes) != tables or sum(sizes) != len(names) or min(sizes, default=0) < 0:
        raise ValueError("wrong number or size of tables")
    if any(len(state[name]) != len(names) for name in ("keys", "ranks", "counts")):
        raise ValueError("table columns of different lengths")
    kept = state["kept"].reshape(len(names), size)
    ends = np.cumsum([0, *sizes]).tolist()
    return [
        Kept(
            state["keys"][begin:end],
            state["ranks"][begin:end],
            state["counts"][begin:end],
            names[begin:end],
            kept[begin:end],
        )
        for begin, end in itertools.pairwise(ends)
    ]


class Selected(NamedTuple):
    """The strongest features of an engine, strongest first.

    ``weights`` is (features,) or (outputs, features); ``errors`` the standard error or error bound of each weight.
    """

    keys: NDArray[np.uint64]
    weights: NDArray[np.float64]
    counts: NDArray[np.uint64]
    names: list[bytes]
    errors: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def by_weight(self, limit: int | None) -> Selected:
        """The ``limit`` (None: all) largest nonzero weights, for methods whose tables are ranked otherwise."""
        strength = np.abs(self.weights) if self.weights.ndim == 1 else np.sqrt((self.weights**2).sum(axis=0))
        order = np.lexsort((self.keys, -strength))
        order = order[strength[order] > 0][:limit]
        return Selected(
            self.keys[order],
            np.ascontiguousarray(self.weights[..., order]),
            self.counts[order],
            [self.names[i] for i in order.tolist()],
            self.errors[order],
            self.intercept,
        )


def select_strongest(
    keys: NDArray[np.uint64],
    counts: NDArray[np.uint64],
    weights: NDArray[np.float64],
    unit: float,
    intercept: NDArray[np.float64],
    limit: int | None,
) -> Selected:
    """Select the largest of all nonzero weights, for methods without a table."""
    weights = unit * weights.reshape(len(keys), len(intercept)).T  # also without any feature
    weights = weights[0] if len(weights) == 1 else weights
    return Selected(keys, weights, counts, [b""] * len(keys), np.zeros(len(keys)), intercept).by_weight(limit)


def join_tables(
    tables: list[Kept], errors: list[NDArray[np.float64]], unit: float, intercept: NDArray[np.float64]
) -> Selected:
    """Join the tables of single outputs: the union of their features, with weight 0 where an output has none."""
    keys = np.unique(np.concatenate([np.empty(0, np.uint64), *(table.keys for table in tables)]))
    error, counts, energy = np.zeros(len(keys)), np.zeros(len(keys), np.uint64), np.zeros(len(keys))
    names = [b""] * len(keys)
    for c, table in enumerate(tables):
        at = np.searchsorted(keys, table.keys)
        energy[at] += (unit * table.weights[:, 0]) ** 2
        error[at] = np.maximum(error[at], errors[c])
        counts[at] = np.maximum(counts[at], table.counts)
        for i, name in zip(at.tolist(), table.names, strict=True):
            names[i] = name
    order = np.lexsort((keys, -np.sqrt(energy)))
    # Hundreds of classes take megabytes: one matrix, filled in the order of the answer.
    weights, place = np.zeros((len(intercept), len(keys))), np.argsort(order)
    for c, table in enumerate(tables):
        weights[c, place[np.searchsorted(keys, table.keys)]] = unit * table.weights[:, 0]
    return Selected(
        keys[order],
        weights[0] if len(intercept) == 1 else weights,
        counts[order],
        [names[i] for i in order.tolist()],
        error[order],
        intercept,
    )


def select_buckets(
    sketch: _native.CountSketch | _native.EvidenceSketch, lanes: int, loop: _native.OnlineLoop
) -> Selected:
    """Return every nonzero bucket of feature hashing as a feature."""
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
    zeros = np.zeros(len(order))
    return Selected(
        order.astype(np.uint64),
        chosen[0] if lanes == 1 else chosen,
        zeros.astype(np.uint64),
        [b""] * len(order),
        zeros,
        np.array(loop.intercepts),
    )
