"""Merging of two engines that learned from different rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.errors import SettingsError
from thresher.online.engine import ENERGY, HEADER, INVERSE, Kept
from thresher.online.engine_state import pack_tables

if TYPE_CHECKING:
    from thresher.online.engine import OnlineEngine

Floats = NDArray[np.float64]

# Indices into the state of a step rule.
_LONGEST, _ROWS, _GAIN = 1, 2, 8


def merged_state(mine: OnlineEngine, theirs: OnlineEngine) -> dict[str, NDArray[Any]]:
    """The merged state of two engines.

    With adaptive steps, the sums of gradients and their energies are added, as if one engine had seen all rows.
    Otherwise weights and sketches are averaged, weighted by rows. A feature that one engine does not keep enters with
    the estimate of its sketch, or 0 without a sketch. Counts and scores are added. Incomplete mini-batches are
    learned first.
    """
    if theirs.settings != mine.settings:
        raise SettingsError("engines of different settings cannot be merged")
    settings = mine.settings
    mine, theirs = (type(side).from_state(side.settings, side.state()) for side in (mine, theirs))
    for side in (mine, theirs):
        side.flush()
    adaptive = settings.step_rule.rule == "adaptive"
    share = 1.0 if adaptive else mine.rows / max(1, mine.rows + theirs.rows)
    other = 1.0 if adaptive else 1.0 - share
    ours, others = mine.state(), theirs.state()
    step = _merged_step(ours["step"], others["step"])
    bias = share * ours["bias"] + other * others["bias"]
    prior = mine.prior(step)
    lanes = settings.outputs // settings.tables
    ranked: list[tuple[slice, Kept]] = []
    for t, (a, b) in enumerate(zip(mine.kept(), theirs.kept(), strict=True)):
        keys = np.unique(np.concatenate([a.keys, b.keys]))
        columns = slice(t * lanes, (t + 1) * lanes)
        sums = share * _sums(mine, a, keys, columns) + other * _sums(theirs, b, keys, columns)
        ranked.append((columns, _ranked(keys, sums, prior if adaptive else None, a, b)))
    sketch = _merged_sketch(mine, theirs, share, other)  # last: it modifies the sketches queried above
    if sketch is not None and settings.active == "exact" and settings.method == "mission":
        for columns, table in ranked:
            _write_back(sketch, table, settings.k, columns)
    mine.scores.merge(theirs.scores)
    mine.recent.merge(theirs.recent)
    state = ours | pack_tables([table.first(settings.k) for _, table in ranked]) | mine.scores.state()
    state |= mine.recent.state()
    state |= {"step": step, "bias": bias, "loop": np.array([mine.rows + theirs.rows, 1.0, 0.0])}
    if sketch is not None:
        state |= {"cells": sketch.cells, "factor": np.array([sketch.factor])}
    if isinstance(sketch, _native.EvidenceSketch):
        state["random"] = np.array([sketch.random], np.uint64)
    return state


def _merged_step(a: Floats, b: Floats) -> Floats:
    """The state of a step rule after all rows: sums, except the longest row (a maximum) and the gain (a mean)."""
    step = a + b
    step[_LONGEST] = max(a[_LONGEST], b[_LONGEST])
    step[_GAIN] = (a[_ROWS] * a[_GAIN] + b[_ROWS] * b[_GAIN]) / max(1.0, step[_ROWS])
    return step


def _merged_sketch(mine: OnlineEngine, theirs: OnlineEngine, share: float, other: float) -> Any:
    if mine.sketch is None or theirs.sketch is None:
        return None
    sketches: list[Any] = []
    for side, part in ((mine, share), (theirs, other)):
        copied = side.sketch
        assert copied is not None
        copied.scale(part * side.shrink if part else 1.0)
        sketches.append(copied)
    first, second = sketches if share else sketches[::-1]
    if share and other:
        first.merge(second)
    return first


def _sums(engine: OnlineEngine, table: Kept, keys: NDArray[np.uint64], columns: slice) -> Floats:
    """(energy, sums) of these features, from the table, else the sketch, else 0."""
    outputs = engine.settings.outputs
    found = np.zeros((len(keys), 1 + columns.stop - columns.start))
    if isinstance(engine.sketch, _native.EvidenceSketch):
        sums, energy = engine.sketch.query(keys)
        found[:, 0], found[:, 1:] = energy, engine.shrink * sums.reshape(-1, outputs)[:, columns]
    elif engine.sketch is not None:
        found[:, 1:] = engine.shrink * engine.sketch.query(keys).reshape(-1, outputs)[:, columns]
    at = np.searchsorted(keys, table.keys)
    found[at, 0] = table.state[:, ENERGY]
    found[at, 1:] = engine.shrink * table.state[:, HEADER:]
    return found


def _ranked(keys: NDArray[np.uint64], sums: Floats, prior: float | None, a: Kept, b: Kept) -> Kept:
    """All features of both tables, strongest first."""
    state = np.empty((len(keys), HEADER + sums.shape[1] - 1))
    state[:, INVERSE] = 1.0 if prior is None else 1.0 / np.sqrt(sums[:, 0] + prior)
    state[:, ENERGY], state[:, HEADER:] = sums[:, 0], sums[:, 1:]
    single = state.shape[1] == HEADER + 1
    ranks = (sums[:, 1] if single else np.sqrt((sums[:, 1:] ** 2).sum(axis=1))) * state[:, INVERSE]
    counts, names = np.zeros(len(keys), np.uint64), [b""] * len(keys)
    for table in (b, a):
        at = np.searchsorted(keys, table.keys)
        counts[at] += table.counts
        for i, name in zip(at.tolist(), table.names, strict=True):
            names[i] = name
    order = np.lexsort((keys, -np.abs(ranks)))
    ordered_names = [names[i] for i in order.tolist()]
    return Kept(keys[order], ranks[order], counts[order], ordered_names, state[order])


def _write_back(sketch: Any, table: Kept, k: int, columns: slice) -> None:
    """Write the features beyond the first ``k`` into the sketch, so that its estimates equal their sums."""
    keys = np.ascontiguousarray(table.keys[k:])
    if not len(keys):
        return
    if isinstance(sketch, _native.EvidenceSketch):
        sums = sketch.query(keys)[0].reshape(-1, sketch.lanes)
        sums[:, columns] = table.state[k:, HEADER:]
        sketch.put(keys, sums.ravel(), np.ascontiguousarray(table.state[k:, ENERGY]))
    else:
        sums = np.zeros((len(keys), sketch.lanes))
        sums[:, columns] = table.state[k:, HEADER:] - sketch.query(keys).reshape(-1, sketch.lanes)[:, columns]
        sketch.add(keys, sums.ravel())
