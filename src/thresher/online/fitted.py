"""What every way of fitting shares: options to a planned run, and a run to its selection.

`th.select` and the estimators are both made from these parts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from thresher.core.feature_space import FeatureSpace, Hashing, Products
from thresher.core.labels import Label, Targets
from thresher.core.losses import get_loss
from thresher.errors import SettingsError
from thresher.online.engine import OnlineEngine
from thresher.online.memory_plan import Plan, plan_for
from thresher.online.run import OnlineRun, RunSettings
from thresher.online.settings import BUDGETED, BY_SOURCE, OnlineSettings
from thresher.online.tuning import Race
from thresher.selection.names import find_names
from thresher.selection.selection import Selection
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.sources.transforms.interactions import Interactions
from thresher.sources.transforms.label_scan import balanced_weights
from thresher.sources.transforms.weights import Weighted
from thresher.version import __version__

if TYPE_CHECKING:
    from thresher.columns.groups import Groups


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is to be learned and how, as users say it; `thresher.select` says what each of them means."""

    k: int
    method: str = "mission"
    loss: str = "logistic"
    step: str | float = "auto"
    memory: str | int | None = None
    sketch: tuple[int, int] | None = None
    active: str = "exact"
    interactions: int | Sequence[Sequence[str | int]] = 1
    passes: int = 1
    minibatch: int = 1
    shuffle: str | bool = "auto"
    intercept: bool = True
    l2: float = 0.0
    decay: float = 1.0
    lazy: float = 0.0
    per_class: bool = False
    multilabel: bool = False
    seed: int = 0
    class_weight: Mapping[Any, float] | str | None = None
    eta: float | None = None
    lam: float | None = None
    delta: float = 1e-2
    truncation: str = "adaptive"
    tune: bool = False
    groups: Any = None
    keep_names: bool = True
    refit_intercept: bool | None = None

    def settings(self, outputs: int = 1) -> OnlineSettings:
        """The engine's part of them, before the memory is planned."""
        return OnlineSettings(
            k=self.k,
            method=self.method,
            loss=self.loss,
            step=self.step,
            intercept=self.intercept,
            sketch=None if self.sketch is None else (int(self.sketch[0]), int(self.sketch[1])),
            active=self.active,
            seed=self.seed,
            outputs=outputs,
            multilabel=self.multilabel,
            per_class=self.per_class,
            minibatch=self.minibatch,
            l2=self.l2,
            decay=self.decay,
            lazy=self.lazy,
            eta=self.eta,
            lam=self.lam,
            delta=self.delta,
            truncation=self.truncation,
            tune=self.tune,
            groups=None if self.groups is None else _groups(self.groups),
            keep_names=self.keep_names,
        )

    @property
    def mixes(self) -> bool:
        """Whether rows are to be shuffled."""
        if self.shuffle not in ("auto", True, False):
            raise SettingsError(f'shuffle is "auto", True or False, not {self.shuffle!r}')
        return self.shuffle is not False


def make_run(
    source: Source,
    options: Options,
    classes: list[Label] | None = None,
    *,
    stream: bool = False,
    after: Fitted | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 30.0,
    restart: bool = False,
    batch_rows: int = DEFAULT_ROWS,
) -> OnlineRun:
    """A run over a source, planned and ready to go.

    ``classes`` are the labels where they are known before the first row. The rows of a ``stream`` are taken as
    they come, once; ``after`` is what its rows so far have come to.
    """
    outputs = len(classes) if classes and (options.multilabel or get_loss(options.loss).task == "classes") else 1
    products = Products.of(options.interactions)
    formed = products is not None or source.space.products is not None
    settings = options.settings(outputs)
    if source.space.invertible:
        settings = replace(settings, keep_names=False)  # keys say what features are called
    plan = plan_for(settings, options.memory, shuffle=options.mixes, products=formed)
    shape = (plan.sketch_rows, plan.sketch_width) if plan.sketch else None
    settings = replace(settings, name_cap=plan.name_cap, sketch=shape, room=plan.seen, name_room=plan.names)
    if settings.groups is not None:
        _check_groups(settings, source.space, formed)
    source = source.limited(plan.limits)
    if options.class_weight is not None:
        source = Weighted(source, _class_weights(options.class_weight, source))
    if products is not None:  # last, so that rows are weighted and shuffled without their products
        source = Interactions.over(source, products)
    if after is not None:
        after.check_same(settings, source.space)
    how = RunSettings(
        refit_intercept=not stream and _refits_intercept(options, source),
        passes=1 if stream else options.passes,
        shuffle=options.mixes and not stream,
        seed=options.seed,
        checkpoint=checkpoint,
        every=every,
        restart=restart,
        batch_rows=batch_rows,
    )
    run = OnlineRun(source, settings, how, plan, classes, engine=None if after is None else after.engine)
    if after is not None:
        run.targets = after.targets
    return run


def _refits_intercept(options: Options, source: Source) -> bool:
    """Whether the intercept is fitted once more at the end: unasked, where the data is gone through several times."""
    binary = get_loss(options.loss).task == "binary" and not options.multilabel
    fits = options.intercept and binary and options.method in BUDGETED and source.rewindable
    if options.refit_intercept and not fits:
        raise SettingsError(
            "refit_intercept is for budgeted methods with an intercept, two classes, and data that can be read again"
        )
    return fits and (options.passes > 1 if options.refit_intercept is None else options.refit_intercept)


@dataclass(kw_only=True)
class Fitted:
    """All that a run has come to, without the data it came from."""

    engine: OnlineEngine | Race
    targets: Targets
    space: FeatureSpace
    how: RunSettings
    plan: Plan
    passes_done: int
    skipped: int
    skipped_files: dict[str, int]
    data: str
    fingerprint: str | None
    reading: dict[str, Any] | None = None
    offset: float = 0.0  # of the intercept, fitted once more
    names: dict[int, bytes] = field(default_factory=dict)  # found by another look at the data

    @classmethod
    def of(cls, run: OnlineRun, *, fingerprint: bool = True) -> Self:
        """What a run has come to so far; the fingerprint of its data takes a reading of it."""
        return cls(
            engine=run.engine,
            targets=run.targets,
            space=run.source.space,
            how=run.how,
            plan=run.plan,
            passes_done=run.passes_done,
            skipped=run.skipped,
            skipped_files=run.skipped_files,
            data=run.source.describe(),
            fingerprint=run.source.fingerprint() if fingerprint else None,
            reading=run.source.reading(),
            offset=run.offset,
        )

    def look_for_names(self, source: Source) -> None:
        """Find the names of features that a budgeted method selected after their bytes had passed."""
        if self.space.invertible or not self.engine.settings.budgeted:
            return
        selected = self.engine.leader.selected()
        unnamed = [key for key, name in zip(selected.keys.tolist(), selected.names, strict=True) if not name]
        missing = np.array([key for key in unnamed if key not in self.names], np.uint64)
        self.names |= {key: name[: self.plan.name_cap] for key, name in find_names(source, missing).items()}

    @cached_property
    def selection(self) -> Selection:
        """The features found."""
        return make_selection(self)

    def check_same(self, settings: OnlineSettings, space: FeatureSpace) -> None:
        """Raise unless learning can go on with these settings on features of this space."""
        self.space.check_same(space)
        mine, other = self.engine.settings.to_dict(), settings.to_dict()
        changed = {name for name in mine if mine[name] != other[name]} - {"seed"}
        if changed:
            # The sketch and the room for names follow from the others, and from the memory.
            told = sorted(changed - {"sketch", "name_cap", "room", "name_room"}) or ["memory or sketch"]
            raise SettingsError(
                f"{', '.join(told)} changed since learning began: fit anew, or set back what was changed"
            )


def make_selection(found: OnlineRun | Fitted) -> Selection:
    """What has been found so far. Rows of a mini-batch that is not full are learned first, in a copy."""
    fitted = found if isinstance(found, Fitted) else Fitted.of(found)
    engine, targets, space = fitted.engine.leader, fitted.targets, fitted.space
    if engine.waiting:
        engine = OnlineEngine.from_state(engine.settings, engine.state())
        engine.flush()
    selected = engine.selected()
    turn = targets.orientation
    if engine.settings.method == "hashing" and engine.settings.sketch is not None:
        space = space.hashed(Hashing(engine.settings.sketch[1], engine.settings.seed))
    if space.invertible:
        names = space.decode(selected.keys)
    else:
        known = zip(selected.names, selected.keys.tolist(), strict=True)
        spelled = [(name or fitted.names.get(key, b"")).decode("utf-8", "surrogateescape") for name, key in known]
        names = [name or f"#{key}" for name, key in zip(spelled, selected.keys.tolist(), strict=True)]
    how = fitted.how
    return Selection(
        names,
        selected.keys,
        # + 0.0 so that turning round leaves no negative zero behind
        turn * selected.weights + 0.0,
        selected.bounds,
        selected.counts,
        turn * (selected.intercept + fitted.offset) + 0.0,
        get_loss(engine.settings.loss),
        targets.classes,
        space,
        {**engine.settings.to_dict(), "passes": how.passes, "shuffle": how.shuffle, "seed": how.seed},
        {
            "thresher": __version__,
            "data": fitted.data,
            "fingerprint": fitted.fingerprint,
            "rows": engine.rows,
            "passes_done": fitted.passes_done,
            "skipped": fitted.skipped,
            **({"skipped_files": fitted.skipped_files} if fitted.skipped_files else {}),
            "progressive": engine.progressive(flip_sign=turn < 0),
            "plan": fitted.plan.to_dict(),
            **_seen(fitted.engine),
            **({"approximate": True} if engine.approximate else {}),
            **({"exact_steps": engine.spilled_at} if engine.spilled_at else {}),
            **({"groups": _group_names(engine)} if engine.settings.groups is not None else {}),
            **({} if fitted.reading is None else {"reading": fitted.reading}),
        },
    )


def _seen(engine: OnlineEngine | Race) -> dict[str, Any]:
    """What a budgeted method came to know besides what it kept: without ``memory`` that is on top of the plan."""
    if not engine.settings.budgeted or engine.leader.approximate:
        return {}
    features, taken = engine.seen
    return {"seen": {"features": features, "bytes": taken}}


def _groups(told: Any) -> Groups | str:
    """Groups as the engine takes them."""
    from thresher.columns.groups import as_groups

    return BY_SOURCE if isinstance(told, str) and told == BY_SOURCE else as_groups(told)


def _check_groups(settings: OnlineSettings, space: FeatureSpace, products: bool) -> None:
    """Raise unless these groups go with the features there are."""
    if settings.groups is None:
        return
    if products:
        raise SettingsError("products of features are in no group: leave out interactions, or groups")
    if not isinstance(settings.groups, str):
        if not space.invertible:
            raise SettingsError(
                f"groups are listed by position, and the features of this data are known by name: {space}. Pass "
                f'groups="{BY_SOURCE}" for its namespaces or columns.'
            )
        settings.groups.check(space.size, settings.k)
    elif space.invertible:
        raise SettingsError(
            f'groups="{BY_SOURCE}" are the namespaces of VW text or the columns of a table, and this data has none: '
            f"{space}. List the groups: th.Groups(…), or a file with a line each."
        )


def _group_names(engine: OnlineEngine) -> list[int | str]:
    """The groups kept, strongest first: numbers of those that were listed, names of those of the data."""
    listed = not isinstance(engine.settings.groups, str)
    return [key if listed else name.decode("utf-8", "surrogateescape") or f"#{key}" for key, name in engine.groups]


def _class_weights(class_weight: Mapping[Any, float] | str, source: Source) -> Mapping[Any, float]:
    if class_weight == "balanced":
        return balanced_weights(source)
    if isinstance(class_weight, str):
        raise SettingsError(f'class_weight is "balanced" or a mapping from label to weight, not {class_weight!r}')
    return class_weight
