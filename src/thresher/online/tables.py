"""Tables of kept features as arrays: what is saved of them, and what merging works on."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core import container

#: Of a kept feature: what its sums are multiplied by, the energy they rest on; then the sums, one an output.
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
        """From what the native loop gives out, ``size`` numbers a feature."""
        keys, ranks, counts, names, state = rows
        return cls(keys, ranks, counts, names, state.reshape(-1, size))

    @property
    def weights(self) -> NDArray[np.float64]:
        """Features x outputs, in the store's own unit."""
        weights: NDArray[np.float64] = self.state[:, HEADER:] * self.state[:, INVERSE, None]
        return weights

    @property
    def noise(self) -> NDArray[np.float64]:
        """One standard deviation of each weight, in the store's own unit."""
        noise: NDArray[np.float64] = np.sqrt(self.state[:, ENERGY]) * self.state[:, INVERSE]
        return noise

    def arrays(self) -> tuple[Any, ...]:
        """As the native loop takes it back."""
        parts = (self.keys, self.ranks, self.counts)
        state = np.ascontiguousarray(self.state).ravel()
        return (*map(np.ascontiguousarray, parts), self.names, state)


def pack_tables(tables: list[Kept]) -> dict[str, NDArray[Any]]:
    """Any number of tables, end to end."""
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
    """The reverse of `pack_tables`; raises ValueError where the state does not fit."""
    names = container.unpack_strings(state["name_offsets"], state["name_text"])
    sizes = state["table_sizes"].tolist()
    if len(sizes) != tables or sum(sizes) != len(names) or min(sizes, default=0) < 0:
        raise ValueError("tables that do not fit")
    if any(len(state[name]) != len(names) for name in ("keys", "ranks", "counts")):
        raise ValueError("tables of different lengths")
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
