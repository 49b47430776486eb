"""Merging of engines that learned from different rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.errors import SettingsError
from thresher.online.engine import ENERGY, HEADER, INVERSE, Kept
from thresher.online.engine_state import pack_tables, unpack_tables

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
        keys = _all_keys([a, b])
        columns = slice(t * lanes, (t + 1) * lanes)
        sums = share * _sums(_Model.of(mine), a, keys, columns)
        sums += other * _sums(_Model.of(theirs), b, keys, columns)
        ranked.append((columns, _ranked(keys, sums, prior if adaptive else None, [a, b])))
    sketch = _merged_sketch(mine, theirs, share, other)  # last: it modifies the sketches queried above
    _write_back(mine, sketch, ranked)
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


class RoundEnd(NamedTuple):
    """What a worker has learned from its rows of a round: its model, and the number of rows."""

    state: dict[str, NDArray[Any]]
    rows: int


def merge_rounds(engine: OnlineEngine, ends: list[RoundEnd]) -> None:
    """Replace the model of ``engine``, from which all workers started, by one that is merged from theirs.

    The merged model is the base and the mean of the differences to it, weighted by rows. So every sum and energy grows
    as from the rows of one worker, with less noise: sums of the differences, each of which corrects the same errors,
    diverge. `revises` says when the differences are the square root of N times as long.

    A feature that a worker does not keep enters with the estimate of its sketch, or 0 without one. Rows and counts
    are added. Workers without rows do not count. Every engine must be without an incomplete mini-batch.
    """
    ends = [end for end in ends if end.rows]
    total = sum(end.rows for end in ends)
    if not total:
        return
    settings, base, rows = engine.settings, engine.kept(), engine.rows
    scores, recent = engine.scores, engine.recent
    shares = [end.rows / total for end in ends]
    # N is that of equal shares with the same sum of squares.
    weights = [share / math.sqrt(sum(s * s for s in shares)) for share in shares] if revises(engine) else shares
    first = ends[0].state
    shrink = float(first["loop"][1])  # all sums are in the unit of the first worker
    numbers = mean_numbers(ends, shares)
    kept = [unpack_tables(end.state, len(base), _kept_size(engine)) for end in ends]
    tables = [list(same) for same in zip(*kept, strict=True)]
    keys = [_all_keys(same) for same in tables]
    lanes = settings.outputs // settings.tables
    columns = [slice(t * lanes, (t + 1) * lanes) for t in range(len(tables))]
    sums = []
    for t, found in enumerate(keys):
        models = [(_Model.saved(engine, end.state), kept[w][t]) for w, end in enumerate(ends)]
        parts = (_in_unit(_sums(*model, found, columns[t]), shrink) for model in models)
        start = _in_unit(_sums(_Model.of(engine), base[t], found, columns[t]), shrink) if revises(engine) else None
        sums.append(_merged_sums(start, parts, weights))
    prior = engine.prior(numbers["step"]) if settings.step_rule.rule == "adaptive" else None
    ranked = [(columns[t], _ranked(keys[t], sums[t], prior, tables[t], base[t])) for t in range(len(tables))]
    numbers["loop"] = np.array([rows + total, shrink, 0.0])
    sketch: Any = engine.sketch
    cells = sketch.cells if revises(engine) else None
    unit = 1.0 if sketch is None else sketch.factor * engine.shrink
    engine.restore_model(first | pack_tables([table.first(settings.k) for _, table in ranked]) | numbers)
    if sketch is not None:
        units = [float(end.state["factor"][0] * end.state["loop"][1]) for end in ends]
        all_cells, all_units = [end.state["cells"] for end in ends], [one / units[0] for one in units]
        if cells is None:
            sketch.set_mean(all_cells, weights, all_units)
        else:
            sketch.set_revised([cells, *all_cells], [0.0, *weights], [unit / units[0], *all_units])
        _write_back(engine, sketch, ranked)
    engine.scores, engine.recent = scores, recent


def revises(engine: OnlineEngine) -> bool:
    """Whether differences count the square root of N times as much as in the mean, and energies have cross terms.

    The mean of N models shortens what most of them did not see, the rare features. Longer differences are safe where
    every sum has an energy that shortens its steps: it grows by the cross terms of the differences, as if the
    gradients of all workers had been added at once (as in AdaptiveRevision, McMahan and Streeter, 2014, which adds up
    the differences themselves). Measured for ``mission``: docs/benchmarks.md.
    """
    settings = engine.settings
    return settings.method == "mission" and settings.active == "exact" and settings.step_rule.rule == "adaptive"


def _all_keys(tables: list[Kept]) -> NDArray[np.uint64]:
    return np.unique(np.concatenate([table.keys for table in tables]))


def _in_unit(sums: Floats, shrink: float) -> Floats:
    sums[:, 1:] /= shrink
    return sums


def _merged_sums(base: Floats | None, parts: Iterable[Floats], weights: list[float]) -> Floats:
    """(energy, sums) of features: the mean, or with a base as `EvidenceSketch.set_revised` merges cells."""
    if base is None:
        mean: Floats = np.sum([weight * part for weight, part in zip(weights, parts, strict=True)], axis=0)
        return mean
    moved, squares = np.zeros_like(base), np.zeros(len(base))
    for weight, part in zip(weights, parts, strict=True):
        one = weight * (part - base)
        moved += one
        squares += (one[:, 1:] ** 2).sum(axis=1)
    found: Floats = base + moved
    found[:, 0] += np.maximum(0.0, (moved[:, 1:] ** 2).sum(axis=1) - squares)
    return found


def mean_numbers(ends: list[RoundEnd], shares: list[float]) -> dict[str, NDArray[Any]]:
    """The mean state of the step rules (but the longest row of all) and of the intercepts."""
    steps = np.array([end.state["step"] for end in ends])
    step = np.array(shares) @ steps
    step[_LONGEST] = steps[:, _LONGEST].max()
    return {"step": step, "bias": np.array(shares) @ np.array([end.state["bias"] for end in ends])}


def _kept_size(engine: OnlineEngine) -> int:
    return HEADER + engine.settings.outputs // engine.settings.tables


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


class _Model(NamedTuple):
    """The sketch of a model and the factor of its sums; its cells, if they are not those of the sketch."""

    sketch: _native.CountSketch | _native.EvidenceSketch | None
    shrink: float
    cells: NDArray[Any] | None = None
    factor: float = 1.0

    @classmethod
    def of(cls, engine: OnlineEngine) -> _Model:
        return cls(engine.sketch, engine.shrink)

    @classmethod
    def saved(cls, engine: OnlineEngine, state: dict[str, NDArray[Any]]) -> _Model:
        """The model of a saved state of an engine like this."""
        if engine.sketch is None:
            return cls(None, float(state["loop"][1]))
        return cls(engine.sketch, float(state["loop"][1]), state["cells"], float(state["factor"][0]))

    def query(self, keys: NDArray[np.uint64]) -> tuple[Floats, Floats]:
        """Sums, (features, outputs), and energies as the sketch has them."""
        sketch: Any = self.sketch
        cells = sketch.view_cells() if self.cells is None else self.cells
        sums, energy = sketch.query_from(keys, cells, sketch.factor if self.cells is None else self.factor)
        return sums.reshape(len(keys), -1), energy


def _sums(model: _Model, table: Kept, keys: NDArray[np.uint64], columns: slice) -> Floats:
    """(energy, sums) of these features, from the table, else the sketch, else 0."""
    found = np.zeros((len(keys), 1 + columns.stop - columns.start))
    if model.sketch is not None and len(keys):
        sums, found[:, 0] = model.query(keys)
        found[:, 1:] = model.shrink * sums[:, columns]
    wanted = np.isin(table.keys, keys)
    state, at = table.state[wanted], np.searchsorted(keys, table.keys[wanted])
    found[at, 0] = state[:, ENERGY]
    found[at, 1:] = model.shrink * state[:, HEADER:]
    return found


def _ranked(
    keys: NDArray[np.uint64], sums: Floats, prior: float | None, tables: list[Kept], base: Kept | None = None
) -> Kept:
    """All features of the tables, strongest first; ``base`` is what all of them started from."""
    state = np.empty((len(keys), HEADER + sums.shape[1] - 1))
    state[:, INVERSE] = 1.0 if prior is None else 1.0 / np.sqrt(sums[:, 0] + prior)
    state[:, ENERGY], state[:, HEADER:] = sums[:, 0], sums[:, 1:]
    single = state.shape[1] == HEADER + 1
    ranks = (sums[:, 1] if single else np.sqrt((sums[:, 1:] ** 2).sum(axis=1))) * state[:, INVERSE]
    counts, names = _counts_before(keys, base), [b""] * len(keys)
    before = counts.copy()
    for table in reversed(tables):
        at = np.searchsorted(keys, table.keys)
        # A lower count than before is that of a feature that was dropped and came back.
        counts[at] += table.counts - np.where(table.counts >= before[at], before[at], 0).astype(np.uint64)
        for i, name in zip(at.tolist(), table.names, strict=True):
            names[i] = name
    order = np.lexsort((keys, -np.abs(ranks)))
    ordered_names = [names[i] for i in order.tolist()]
    return Kept(keys[order], ranks[order], counts[order], ordered_names, state[order])


def _counts_before(keys: NDArray[np.uint64], base: Kept | None) -> NDArray[np.uint64]:
    counts = np.zeros(len(keys), np.uint64)
    if base is not None:
        at = np.searchsorted(keys, base.keys)
        known = at < len(keys)
        known[known] = keys[at[known]] == base.keys[known]
        counts[at[known]] = base.counts[known]
    return counts


def _write_back(engine: OnlineEngine, sketch: Any, ranked: list[tuple[slice, Kept]]) -> None:
    """Write the features beyond the first k of each table into the sketch, so that its estimates equal their sums."""
    settings = engine.settings
    if sketch is not None and settings.active == "exact" and settings.method == "mission":
        for columns, table in ranked:
            _write_back_table(sketch, table, settings.k, columns)


def _write_back_table(sketch: Any, table: Kept, k: int, columns: slice) -> None:
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
