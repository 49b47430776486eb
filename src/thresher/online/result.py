"""The result of an online fit: its strongest features, and the fit without its data, which an estimator keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.feature_space import FeatureSpace, Hashing
from thresher.core.labels import Targets
from thresher.core.losses import get_loss
from thresher.core.running_units import RunningUnits
from thresher.core.sparse_scales import SparseScales
from thresher.core.units import Units
from thresher.errors import SettingsError
from thresher.online.engine import Kept, OnlineEngine
from thresher.online.memory_plan import Plan
from thresher.online.settings import THRESHOLDED, OnlineSettings
from thresher.run import Origin, Result, build_selection
from thresher.selection.calibration import Calibration
from thresher.selection.names import find_names
from thresher.selection.selection import Selection
from thresher.sources.base import Source

if TYPE_CHECKING:
    from thresher.online.run import OnlineRun
    from thresher.online.tuning import SuccessiveHalving

#: The rows after which progressive margins replace the probabilities that a loss has of its own.
_ENOUGH = 1000
#: The number of buckets whose weights are computed at a time.
_CHUNK = 1 << 16
#: Settings that may change between two calls of ``partial_fit``.
_MAY_CHANGE = {"seed", "passes", "refit", "shuffle", "refit_intercept"}
#: Settings that follow from the memory plan.
_PLANNED = {"sketch", "name_cap", "room", "name_room"}


@dataclass(kw_only=True)
class Fitted:
    """The state of an online fit.

    Attributes
    ----------
    offset : float
        The correction of the intercept by its refit.
    calibrate : bool
        Calibrate probabilities on progressive margins, unless there is a ``calibration``.
    names : dict
        Names found by a further pass over the data.
    chosen : Selected, optional
        The features of the best pass, or their refit. Default: those of the engine.
    calibration : Calibration, optional
        The calibration on held-out rows, for the orientation of the engine.
    choice : dict
        The facts of that choice.
    units : Units, RunningUnits or SparseScales, optional
        The units in which features are learned; those of the selection are those of the data.
    facts : dict
        Further facts of the run, for the provenance.
    in_order : bool
        The order of the rows matters and stayed, such as class after class: progressive scores mean nothing.
    """

    engine: OnlineEngine | SuccessiveHalving
    targets: Targets
    space: FeatureSpace
    settings: OnlineSettings
    plan: Plan
    passes_done: int
    skipped: int
    skipped_files: dict[str, int]
    origin: Origin
    chosen: Selected | None = None
    calibration: Calibration | None = None
    choice: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    in_order: bool = False
    units: Units | RunningUnits | SparseScales | None = None
    offset: float = 0.0
    calibrate: bool = True
    names: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, run: OnlineRun, *, fingerprint: bool = True) -> Self:
        """Take the state of a run; the fingerprint may take a pass over its data."""
        return cls(
            engine=run.engine,
            targets=run.targets,
            space=run.source.space,
            settings=run.settings,
            plan=run.plan,
            passes_done=run.passes_done,
            skipped=run.skipped,
            skipped_files=run.skipped_files,
            origin=Origin.of(run.source, fingerprint=fingerprint),
            chosen=run.chosen,
            calibration=run.calibration,
            choice={} if run.choice is None else run.choice.facts(flip_sign=run.targets.orientation < 0),
            facts=run.facts,
            in_order=run.in_order,
            units=run.units,
            offset=run.offset,
            calibrate=run.options.calibrate,
        )

    @property
    def names_may_be_missing(self) -> bool:
        """Whether a feature may be selected long after its row, as budgeted methods do, and its key is no name."""
        return self.engine.settings.budgeted and not self.space.invertible

    def find_missing_names(self, source: Source) -> None:
        """Read the names of features that a budgeted method selected long after their rows."""
        if not self.names_may_be_missing:
            return
        selected = self.chosen or self.engine.best.selected()
        unnamed = [key for key, name in zip(selected.keys.tolist(), selected.names, strict=True) if not name]
        missing = np.array([key for key in unnamed if key not in self.names], np.uint64)
        self.names |= {key: name[: self.plan.name_cap] for key, name in find_names(source, missing).items()}

    def check_same(self, settings: OnlineSettings, space: FeatureSpace) -> None:
        """Raise unless learning can continue with these settings on features of this space."""
        self.space.check_same(space)
        mine, other = self.engine.settings.to_dict(), settings.to_dict()
        changed = {name for name in mine if mine[name] != other[name]} - _MAY_CHANGE
        if changed:
            shown = sorted(changed - _PLANNED) or ["memory or sketch"]
            raise SettingsError(f"{', '.join(shown)} changed since the first call: fit again, or restore the old value")

    @cached_property
    def selection(self) -> Selection:
        """The features found. Rows of an incomplete mini-batch are learned first, in a copy."""
        engine, targets, space = self.engine.best, self.targets, self.space
        if engine.waiting:
            engine = OnlineEngine.from_state(engine.settings, engine.state())
            engine.flush()
        selected, sign = self.chosen or engine.selected(), targets.orientation
        if engine.settings.method == "hashing" and engine.settings.sketch is not None:
            space = space.hashed(Hashing(engine.settings.sketch[1], engine.settings.seed))
        # Large with many classes: changed in place, unless it is kept.
        weights = selected.weights if self.chosen is None else selected.weights.copy()
        weights *= sign
        weights += 0.0  # no negative zeros after a flip of the sign
        named: Iterable[tuple[int, bytes]] = ()
        if space.hashing is None:  # buckets have no names
            named = zip(selected.keys.tolist(), selected.names, strict=True)
        names = space.names(selected.keys, self.names | {key: name for key, name in named if name})
        intercept = sign * (selected.intercept + self.offset)
        result = Result(selected.keys, weights, selected.errors, selected.counts, intercept)
        return build_selection(
            result if self.units is None else result.in_data_units(*self.units.of(selected.keys)),
            names,
            loss=get_loss(engine.settings.loss),
            classes=targets.classes,
            space=space,
            settings=engine.settings.to_dict() | {name: getattr(self.settings, name) for name in _MAY_CHANGE},
            origin=self.origin,
            facts=self._facts(engine) | self._history(engine, names, selected.keys),
            calibration=self._calibration(engine) if self.calibrate else None,
        )

    def _calibration(self, engine: OnlineEngine) -> Calibration | None:
        """The calibration on held-out rows, or on progressive margins."""
        if self.choice:
            found = self.calibration
            return found.flipped() if found is not None and self.targets.orientation < 0 else found
        return self._progressive_calibration(engine)

    def _progressive_calibration(self, engine: OnlineEngine) -> Calibration | None:
        """The calibration on the latest progressive margins; None where they mean nothing or are too few."""
        loss = get_loss(engine.settings.loss)
        recent = engine.recent
        own = loss.part in ("logistic", "softmax")  # has probabilities of its own, better than those of few rows
        if loss.task == "real" or self.in_order or recent.rows < (_ENOUGH if own else 1):
            return None
        margins, y, weight = recent.later()
        sign = self.targets.orientation
        if loss.task == "binary" and not engine.settings.multilabel:
            margins, y = sign * (margins + self.offset), sign * y
        if not float(weight.sum()) > 0:
            return None
        return Calibration.fit(loss, margins, y, weight, fitted_on="progressive margins")

    def _facts(self, engine: OnlineEngine) -> dict[str, Any]:
        """The online part of the provenance."""
        facts = {
            "rows": engine.rows,
            "passes_done": self.passes_done,
            "skipped": self.skipped,
            "plan": self.plan.to_dict(),
            **self.facts,
            **self.choice,
        }
        if self.in_order:
            facts["progressive"] = {}
        elif self.settings.passes != "auto" or self.passes_done <= 1:  # rows that are learned again are not new
            facts["progressive"] = engine.progressive(flip_sign=self.targets.orientation < 0)
        if self.skipped_files:
            facts["skipped_files"] = self.skipped_files
        if engine.settings.budgeted and not engine.approximate:
            # Without a memory limit, the features seen come on top of the plan.
            features, used = self.engine.seen
            facts["seen"] = {"features": features, "bytes": used}
        if engine.approximate:
            facts["approximate"] = True
        if engine.spilled_at:
            facts["exact_steps"] = engine.spilled_at
        if engine.settings.groups is not None:
            facts["groups"] = _group_names(engine)
        return facts

    def _history(self, engine: OnlineEngine, names: list[str], keys: NDArray[np.uint64]) -> dict[str, Any]:
        """The learning curve, and how the kept features (or groups) changed."""
        moments = engine.all_moments()
        if engine.settings.groups is not None:
            names, keys = (
                [str(name) for name in _group_names(engine)],
                np.array([k for k, _ in engine.groups], np.uint64),
            )
        held_out = self.choice["passes"]["losses"] if self.choice else ()
        history = moments.kept_history(names, keys)
        facts = {"learning_curve": moments.learning_curve(held_out)}
        return facts if history is None else {**facts, "kept_history": history}


def _group_names(engine: OnlineEngine) -> list[int | str]:
    """The groups kept, strongest first: indices of listed groups, names of groups from the source."""
    listed = not isinstance(engine.settings.groups, str)
    return [key if listed else name.decode("utf-8", "surrogateescape") or f"#{key}" for key, name in engine.groups]


# ── the strongest features ───────────────────────────────────────────────────────────────────────


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

    def by_weight(self, limit: int | None, pinned: Sequence[int] = ()) -> Selected:
        """The ``limit`` (None: all) largest nonzero weights, for methods whose tables are ranked otherwise.

        Those of ``pinned`` stay, even if they are zero.
        """
        strength = np.abs(self.weights) if self.weights.ndim == 1 else np.sqrt((self.weights**2).sum(axis=0))
        order = np.lexsort((self.keys, -strength))
        order = order[(strength[order] > 0) | np.isin(self.keys[order], np.array(pinned, np.uint64))][:limit]
        return Selected(
            self.keys[order],
            np.ascontiguousarray(self.weights[..., order]),
            self.counts[order],
            [self.names[i] for i in order.tolist()],
            self.errors[order],
            self.intercept,
        )


def strongest(engine: OnlineEngine, loop: _native.OnlineLoop, limit: int) -> Selected:
    """The features of an engine with the largest weights; see `OnlineEngine.selected`."""
    if engine.settings.method == "hashing":
        assert engine.sketch is not None
        return select_buckets(engine.sketch, engine.settings.outputs, loop)
    unit, lanes = loop.unit, engine.settings.outputs
    intercept = np.array(loop.intercepts)
    if engine.settings.groups is not None or engine.settings.method in THRESHOLDED:
        every = None if engine.settings.groups is not None else limit
        found = select_strongest(*_native.dual_weights(loop), unit, intercept, every)
        return found._replace(names=_native.names_of(loop, found.keys))
    tables = engine.kept(engine.settings.k if engine.settings.budgeted else limit)
    if len(tables) == 1:
        table = tables[0]
        weights = (unit * table.weights).T
        weights = weights[0] if lanes == 1 else np.ascontiguousarray(weights)
        found = Selected(table.keys, weights, table.counts, table.names, _errors(engine, loop, table), intercept)
        return found.by_weight(limit, engine.settings.pinned_keys) if engine.settings.budgeted else found
    return join_tables(tables, [_errors(engine, loop, table) for table in tables], unit, intercept)


def _errors(engine: OnlineEngine, loop: _native.OnlineLoop, table: Kept) -> NDArray[np.float64]:
    unit = abs(loop.unit)
    if isinstance(engine.sketch, _native.EvidenceSketch) or engine.approximate:
        return unit * table.noise
    return np.full(len(table.keys), 0.0 if engine.sketch is None else unit * engine.sketch.bound())


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
    cells = sketch.view_cells()
    of_cell = lanes + 1 if isinstance(sketch, _native.EvidenceSketch) else lanes
    weights = np.empty((len(cells) // of_cell, lanes))
    for start in range(0, len(weights), _CHUNK):  # all at once would take several times the memory of the sketch
        part = cells[start * of_cell : (start + _CHUNK) * of_cell]
        if isinstance(sketch, _native.EvidenceSketch):
            halves = (part.astype(np.uint32) << 16).view(np.float32).astype(np.float64).reshape(-1, of_cell)
            noise = np.sqrt(halves[:, :1] + loop.prior)
            sums = np.divide(halves[:, 1:], noise, out=np.zeros_like(halves[:, 1:]), where=noise > 0)
        else:
            sums = part.astype(np.float64).reshape(-1, lanes)
        weights[start : start + _CHUNK] = loop.unit * sketch.factor * sums
    strength = np.sqrt((weights**2).sum(axis=1)) if lanes > 1 else np.abs(weights[:, 0])
    order = np.argsort(-strength, kind="stable")[: int((strength > 0).sum())]
    del strength
    chosen = np.ascontiguousarray(weights[order].T)
    del weights
    zeros = np.zeros(len(order))
    return Selected(
        order.astype(np.uint64),
        chosen[0] if lanes == 1 else chosen,
        zeros.astype(np.uint64),
        [b""] * len(order),
        zeros,
        np.array(loop.intercepts),
    )
