"""What each method may be told, and how its run is made: one entry for each kind of method.

A kind knows the names of its own settings (the fields of its settings' dataclass) and turns what the user gave into a
run. `thresher.select` knows no method by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from thresher.core.feature_space import Products
from thresher.core.labels import Label, sort_labels
from thresher.core.losses import get_loss
from thresher.core.progress import Progress
from thresher.errors import SettingsError
from thresher.fgm.settings import METHODS as FGM
from thresher.fgm.settings import FGMSettings
from thresher.online.fitted import Fitted, Options, make_run
from thresher.online.run import OnlineRun
from thresher.online.settings import BUDGETED
from thresher.online.settings import METHODS as ONLINE
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.transforms.interactions import Interactions
from thresher.sources.transforms.label_scan import label_classes
from thresher.sparse_rf.settings import METHOD as SPARSE_RF
from thresher.sparse_rf.settings import SparseRFSettings
from thresher.substitution.arriving.feature_stream import FeatureStream
from thresher.substitution.settings import STREAMING, SubstitutionSettings
from thresher.working_set.run_settings import RunSettings


@dataclass(frozen=True, kw_only=True)
class Job:
    """What every method is told; ``own`` are the settings that only some have, as far as they were given."""

    method: str
    k: int | None
    loss: str
    intercept: bool
    per_class: bool
    seed: int
    interactions: int | Sequence[Sequence[str | int]]
    how: RunSettings
    own: Mapping[str, Any]

    @property
    def features(self) -> int:
        """k, where a method cannot do without."""
        if self.k is None:
            raise SettingsError("k is the number of features to keep: give one")
        return self.k

    def but(self, *without: str) -> dict[str, Any]:
        """The own settings without these."""
        return {name: value for name, value in self.own.items() if name not in without}


class Given(NamedTuple):
    """The data of a run."""

    rows: Source | FeatureStream
    classes: list[Label] | None = None
    validation: Source | None = None
    y: Any = None
    sample_weight: Any = None


class Work(NamedTuple):
    """A run of either loop, as far as finishing goes."""

    run: Callable[[Callable[[Progress], None] | None], None]
    usable: Callable[[], bool]
    selection: Callable[[], Selection]
    so_far: Callable[[], str]
    #: Other data, read within the limits of the run.
    limited: Callable[[Source], Source] = lambda source: source


class Kind(NamedTuple):
    """Methods that are told the same things."""

    methods: tuple[str, ...]
    own: frozenset[str]
    #: Check the settings, before any data is opened; the result makes the work from the data.
    prepare: Callable[[Job], Callable[[Given], Work]]
    loss: str = "squared_hinge"  # unless the user says another
    online: bool = False
    streams: bool = False  # features may arrive, instead of rows


def kind_of(method: str) -> Kind:
    """The kind of a method by its name."""
    for kind in KINDS:
        if method in kind.methods:
            return kind
    raise SettingsError(
        f"unknown method {method!r}: one of {', '.join(name for kind in KINDS for name in kind.methods)}"
    )


def divided(method: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The method's own settings, and the rest, which says how data is read. None stands for what was not given."""
    kind = kind_of(method)
    others = frozenset().union(*(other.own for other in KINDS)) - kind.own
    for name in settings:
        if name in others and settings[name] is not None:
            raise SettingsError(f"{method} has no {name}: {_INSTEAD.get((method, name), _ELSE)}")
    own = {name: value for name, value in settings.items() if name in kind.own and (value is not None or name in _NONE)}
    if isinstance(own.get("lam"), Sequence) and method != SPARSE_RF:
        raise SettingsError(f"{method} has one lam, not several")
    return own, {name: value for name, value in settings.items() if name not in kind.own and name not in others}


def classes_of(source: Source, loss: str, classes: Sequence[Any] | None, *, multilabel: bool) -> list[Label] | None:
    """The classes, where they must be known before the first row."""
    if get_loss(loss).task != "classes" and not multilabel:
        return None
    return label_classes(source) if classes is None else sort_labels(classes)


def _rows(given: Given, job: Job) -> Source:
    """The rows, with the products of their features that were asked for."""
    assert isinstance(given.rows, Source)
    products = Products.of(job.interactions)
    return given.rows if products is None else Interactions.over(given.rows, products)


def _online(job: Job) -> Callable[[Given], Work]:
    how = job.how
    options = Options(
        k=job.features,
        method=job.method,
        loss=job.loss,
        memory=how.memory,
        interactions=job.interactions,
        intercept=job.intercept,
        per_class=job.per_class,
        multilabel=how.multilabel,
        seed=job.seed,
        class_weight=how.class_weight,
        **job.own,
    )
    several = how.multilabel or get_loss(job.loss).task == "classes"
    options.settings(outputs=2 if several else 1)  # of which only the checks matter here

    def work(given: Given) -> Work:
        assert isinstance(given.rows, Source)
        run = make_run(
            given.rows,
            options,
            given.classes,
            checkpoint=how.checkpoint,
            every=how.every,
            restart=how.restart,
            batch_rows=how.batch_rows,
        )
        return Work(
            run.run,
            lambda: bool(run.engine.rows and run.targets.complete),
            lambda: _named_selection(run),
            lambda: f"{run.engine.rows} rows",
            lambda held: held.limited(run.plan.limits),
        )

    return work


def _named_selection(run: OnlineRun) -> Selection:
    """What a run has found; names that are not at hand are looked for in the data."""
    fitted = Fitted.of(run)
    fitted.look_for_names(run.source)
    return fitted.selection


def _fgm(job: Job) -> Callable[[Given], Work]:
    settings = FGMSettings(
        k=job.features,
        loss=job.loss,
        shift=job.intercept,
        per_class=job.per_class,
        **job.but("family", "validation", "threads"),
    )

    def work(given: Given) -> Work:
        from thresher.fgm.run import FGMRun

        how = replace(job.how, validation=given.validation)
        run = FGMRun(_rows(given, job), settings, how, job.own.get("family", "linear"))
        return Work(run.run, lambda: run.usable, run.selection, lambda: f"{run.rounds} iterations")

    return work


def _sparse_rf(job: Job) -> Callable[[Given], Work]:
    settings: dict[str, Any] = {"k": job.k, "loss": job.loss, "shift": job.intercept}
    settings |= {"per_class": job.per_class, "seed": job.seed}
    settings |= job.but("kernel", "validation", "threads")
    SparseRFSettings(**settings)

    def work(given: Given) -> Work:
        from thresher.sparse_rf.run import sparse_rf_run

        how = replace(job.how, validation=given.validation)
        run = sparse_rf_run(_rows(given, job), how, job.own.get("kernel", "gaussian"), **settings)
        return Work(run.run, lambda: run.usable, run.selection, lambda: f"{run.rounds} iterations")

    return work


def _streaming(job: Job) -> Callable[[Given], Work]:
    settings = SubstitutionSettings(
        k=job.features,
        method=job.method,
        loss=job.loss,
        intercept=job.intercept,
        per_class=job.per_class,
        seed=job.seed,
        **job.but("labels_file", "threads"),
    )

    def work(given: Given) -> Work:
        from thresher.substitution.run import StreamRun

        rows = given.rows if isinstance(given.rows, FeatureStream) else _rows(given, job)
        run = StreamRun(rows, settings, job.how, given.y, given.sample_weight)
        return Work(run.run, lambda: run.usable, run.selection, lambda: f"{run.arrived} features")

    return work


#: What all methods are told, under whatever name.
_SHARED = {"k", "method", "loss", "memory", "interactions", "intercept", "shift", "per_class", "multilabel", "seed"}
_SHARED |= {"class_weight"}
#: What to do about a setting that a method has not got.
_ELSE = "leave it out, or choose another method"
_INSTEAD = {("fgm", "groups"): "its groups are its family, family=th.Groups(…)"}
#: Settings of which None is a value.
_NONE = {"scale"}


def _fields(settings: type, *more: str) -> frozenset[str]:
    return frozenset({field.name for field in fields(settings)} - _SHARED | set(more))


_ONLINE = _fields(Options)
KINDS = (
    Kind(tuple(name for name in ONLINE if name not in BUDGETED), _ONLINE, _online, loss="logistic", online=True),
    Kind(BUDGETED, _ONLINE, _online, online=True),
    Kind(FGM, _fields(FGMSettings, "family", "validation", "threads"), _fgm),
    Kind((SPARSE_RF,), _fields(SparseRFSettings, "validation", "threads"), _sparse_rf),
    Kind(STREAMING, _fields(SubstitutionSettings, "labels_file", "threads"), _streaming, streams=True),
)
