"""The state of an engine as arrays: for checkpoints, merging and pickles."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.storage import container
from thresher.online.dual_state import dual_arrays, restore_dual_arrays
from thresher.online.engine import Kept
from thresher.online.settings import OnlineSettings

#: The version of the bucket hash: cells saved with another version cannot be used.
_HASHING = np.array([2])
#: Shorter arrays stay dense in a pickle.
_MIN_SIZE = 1 << 12

Sketch = _native.CountSketch | _native.EvidenceSketch


def loop_state(
    loop: _native.OnlineLoop,
    settings: OnlineSettings,
    sketch: Sketch | None,
    kept: list[Kept],
    *,
    view: bool = False,
) -> dict[str, NDArray[Any]]:
    """The state of an engine without its scores; with ``view``, its cells are not copied."""
    rows, slopes, keys, sums, names = loop.gathered()
    offsets, text = container.pack_strings(names)
    state: dict[str, NDArray[Any]] = {
        **pack_tables(kept),
        "loop": np.array([loop.rows_seen, loop.shrink, rows], np.float64),
        "step": np.array(loop.step),
        "bias": np.array(loop.bias),
        "gathered_slopes": np.array(slopes),
        "gathered_keys": keys,
        "gathered_sums": sums,
        "gathered_name_offsets": offsets,
        "gathered_name_text": text,
    }
    if settings.budgeted:
        state |= dual_arrays(loop)
    if sketch is not None:
        cells = sketch.view_cells() if view else sketch.cells
        state |= {"cells": cells, "factor": np.array([sketch.factor]), "hashing": _HASHING}
    if isinstance(sketch, _native.EvidenceSketch):
        state["random"] = np.array([sketch.random], np.uint64)
    return state


def restore_loop(loop: _native.OnlineLoop, settings: OnlineSettings, state: dict[str, NDArray[Any]]) -> None:
    """The inverse of `loop_state`, for a new loop; its scores are restored by themselves."""
    if settings.spills and "cells" in state:
        _native.dual_spill(loop)
    sketch = loop.count_sketch or loop.evidence_sketch  # b-arda has one only after it spilled
    for t, table in enumerate(unpack_tables(state, loop.tables, loop.kept_size)):
        loop.restore_table(t, *table.arrays())
    rows, loop.shrink, gathered = state["loop"].tolist()
    loop.rows_seen = int(rows)
    loop.step, loop.bias = state["step"].tolist(), state["bias"].tolist()
    loop.restore_gathered(
        int(gathered),
        state["gathered_slopes"].tolist(),
        np.ascontiguousarray(state["gathered_keys"]),
        np.ascontiguousarray(state["gathered_sums"]),
        container.unpack_strings(state["gathered_name_offsets"], state["gathered_name_text"]),
    )
    if settings.budgeted:
        restore_dual_arrays(loop, state)
    if sketch is not None:
        if not np.array_equal(state["hashing"], _HASHING):
            raise ValueError("sketch cells of another hash function")
        cells: Any = np.ascontiguousarray(state["cells"])
        sketch.cells = cells
        sketch.factor = float(state["factor"][0])
    if isinstance(sketch, _native.EvidenceSketch):
        sketch.random = int(state["random"][0])


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


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


# ── pickles ──────────────────────────────────────────────────────────────────────────────────────


def sparsify(state: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Replace every long, mostly-zero array by (shape, dtype, positions, values)."""
    return {name: _sparse(array) for name, array in state.items()}


def densify(packed: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The exact inverse of `sparsify`."""
    return {name: _dense(value) if isinstance(value, tuple) else value for name, value in packed.items()}


def _sparse(array: NDArray[Any]) -> Any:
    if array.size < _MIN_SIZE:
        return array
    # Compare bits, so that negative zeros survive.
    bits = np.ascontiguousarray(array).ravel().view(f"u{array.itemsize}")
    positions = np.flatnonzero(bits)
    if 4 * len(positions) > array.size:
        return array
    return array.shape, array.dtype.str, positions, bits[positions]


def _dense(value: tuple[Any, ...]) -> NDArray[Any]:
    shape, dtype, positions, values = value
    bits = np.zeros(int(np.prod(shape)), values.dtype)
    bits[positions] = values
    dense: NDArray[Any] = bits.view(dtype).reshape(shape)
    return dense
