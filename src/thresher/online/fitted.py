"""A finished online fit without its data: what an estimator keeps, pickles and continues from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from thresher.core.feature_space import FeatureSpace, Hashing
from thresher.core.labels import Targets
from thresher.core.losses import get_loss
from thresher.errors import SettingsError
from thresher.online.engine import OnlineEngine
from thresher.online.memory_plan import Plan
from thresher.online.settings import OnlineSettings
from thresher.run import Origin, Result, build_selection
from thresher.selection.names import find_names
from thresher.selection.selection import Selection
from thresher.sources.base import Source

if TYPE_CHECKING:
    from thresher.online.run import OnlineRun
    from thresher.online.tuning import SuccessiveHalving

#: Settings that may change between two calls of ``partial_fit``.
_MAY_CHANGE = {"seed", "passes", "shuffle", "refit_intercept"}
#: Settings that follow from the memory plan.
_PLANNED = {"sketch", "name_cap", "room", "name_room"}


@dataclass(kw_only=True)
class Fitted:
    """The state of an online fit.

    Attributes
    ----------
    offset : float
        The correction of the intercept by its refit.
    names : dict
        Names found by a further pass over the data.
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
    in_order: bool = False
    offset: float = 0.0
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
            in_order=run.in_order,
            offset=run.offset,
        )

    def find_missing_names(self, source: Source) -> None:
        """Read the names of features that a budgeted method selected long after their rows."""
        if self.space.invertible or not self.engine.settings.budgeted:
            return
        selected = self.engine.best.selected()
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
        selected, sign = engine.selected(), targets.orientation
        if engine.settings.method == "hashing" and engine.settings.sketch is not None:
            space = space.hashed(Hashing(engine.settings.sketch[1], engine.settings.seed))
        weights = selected.weights  # of this call alone, and large with many classes: changed in place
        weights *= sign
        weights += 0.0  # no negative zeros after a flip of the sign
        named = zip(selected.keys.tolist(), selected.names, strict=True)
        names = space.names(selected.keys, self.names | {key: name for key, name in named if name})
        return build_selection(
            Result(
                selected.keys,
                weights,
                selected.errors,
                selected.counts,
                sign * (selected.intercept + self.offset),
            ),
            names,
            loss=get_loss(engine.settings.loss),
            classes=targets.classes,
            space=space,
            settings=engine.settings.to_dict() | {name: getattr(self.settings, name) for name in _MAY_CHANGE},
            origin=self.origin,
            facts=self._facts(engine),
        )

    def _facts(self, engine: OnlineEngine) -> dict[str, Any]:
        """The online part of the provenance."""
        facts = {
            "rows": engine.rows,
            "passes_done": self.passes_done,
            "skipped": self.skipped,
            "progressive": {} if self.in_order else engine.progressive(flip_sign=self.targets.orientation < 0),
            "plan": self.plan.to_dict(),
        }
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


def _group_names(engine: OnlineEngine) -> list[int | str]:
    """The groups kept, strongest first: indices of listed groups, names of groups from the source."""
    listed = not isinstance(engine.settings.groups, str)
    return [key if listed else name.decode("utf-8", "surrogateescape") or f"#{key}" for key, name in engine.groups]
