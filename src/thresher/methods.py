"""The registry of methods: for each its settings class, its run and its memory plan.

`thresher.select`, the estimators and the command line look methods up in this table.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from thresher.core.label_task import TASKS
from thresher.core.losses import get_loss
from thresher.core.memory import DEFAULT_MEMORY, ReadLimits, Watch, parse_size
from thresher.display import did_you_mean, quoted
from thresher.errors import SettingsError
from thresher.run import Run, RunOptions
from thresher.sources.base import Source
from thresher.sources.registry import OPTIONS
from thresher.sources.transforms.watched import Watched

if TYPE_CHECKING:
    from thresher.core.labels import Label
    from thresher.online.run import OnlineRun
    from thresher.substitution.arriving.feature_stream import FeatureStream
    from thresher.substitution.run import SubstitutionRun


class Data(NamedTuple):
    """The data of a fit; ``classes`` are the labels, if the loss must know them before the first row."""

    rows: Source | FeatureStream
    classes: list[Label] | None = None
    y: Any = None
    sample_weight: Any = None


#: Makes the run of a fit from its data, settings and options.
MakeRun = Callable[[Data, Any, RunOptions], Run]


@dataclass(frozen=True, kw_only=True)
class MethodSpec:
    """Methods that share a settings class and a run.

    Attributes
    ----------
    names : tuple of str
        The methods.
    settings : str
        The settings class, as ``module:class`` below ``thresher``; imported on first use.
    make_run : callable
        Create the run from data, settings and options.
    plan : str
        The function that plans the memory of a fit, as ``module:function``.
    loss : str
        The default loss of two classes.
    several, numbers : str
        The default losses of several classes and of numbers.
    run_options : frozenset of str
        The options of a run that only some methods have.
    online : bool
        Whether the method learns row by row; it must then know more than two classes before the first row.
    feature_streams : bool
        Whether the method accepts a stream of features.
    """

    names: tuple[str, ...]
    settings: str
    make_run: MakeRun
    plan: str
    loss: str = "squared_hinge"
    several: str = "squared_hinge"
    numbers: str = "squared"
    run_options: frozenset[str] = frozenset()
    online: bool = False
    feature_streams: bool = False

    @property
    def settings_class(self) -> type:
        """The settings class."""
        found: type = _load(self.settings)
        return found

    @property
    def own(self) -> frozenset[str]:
        """The names of the settings and run options that not every method has."""
        return frozenset(user_settings(self.settings_class)) - SHARED | self.run_options

    def make_settings(self, **given: Any) -> Any:
        """Create the settings; arguments that the settings class does not have are ignored."""
        if given.get("k") is None:
            if "sparse-rf" not in self.names:
                raise SettingsError("`k`, the number of features to keep, is required")
            given.pop("k", None)
        if isinstance(given.get("lam"), Sequence) and "sparse-rf" not in self.names:
            raise SettingsError(f"`lam` of {self.names[0]} must be one number, got {given['lam']!r}")
        known = user_settings(self.settings_class)
        return self.settings_class(**{name: value for name, value in given.items() if name in known})

    def make_plan(self, settings: Any, options: RunOptions, source: Source) -> Any:
        """Plan the memory of a fit over a source."""
        return _load(self.plan)(settings, options, source)


def user_settings(settings_class: type) -> list[str]:
    """The fields of a settings class that the user, not the run, sets."""
    return [setting.name for setting in fields(settings_class) if not setting.metadata.get("planned")]


@cache
def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(f"thresher.{module}"), name)


def _online_run(data: Data, settings: Any, options: RunOptions) -> Run:
    assert isinstance(data.rows, Source)
    return online_run(data.rows, settings, options, data.classes)


def online_run(source: Source, settings: Any, options: RunOptions, classes: list[Label] | None = None) -> OnlineRun:
    """The run of an online method: by several workers, if the settings say so."""
    if settings.workers > 1 or options.cluster is not None:
        from thresher.distributed.run import workers_run

        return workers_run(source, settings, options, classes)
    from thresher.online.run import OnlineRun

    return OnlineRun(source, settings, options, classes)


def _fgm_run(data: Data, settings: Any, options: RunOptions) -> Run:
    assert isinstance(data.rows, Source)
    if options.workers != 1 or options.cluster is not None:
        from thresher.distributed.fgm_run import fgm_run

        return fgm_run(data.rows, settings, options)
    from thresher.fgm.run import FGMRun

    return FGMRun(data.rows, settings, options)


def _sparse_rf_run(data: Data, settings: Any, options: RunOptions) -> Run:
    assert isinstance(data.rows, Source)
    if options.workers != 1 or options.cluster is not None:
        from thresher.distributed.sparse_rf_run import sparse_rf_run

        return sparse_rf_run(data.rows, settings, options)
    from thresher.sparse_rf.run import SparseRFRun

    return SparseRFRun(data.rows, settings, options)


def _substitution_run(data: Data, settings: Any, options: RunOptions) -> Run:
    return substitution_run(data.rows, settings, options, data.y, data.sample_weight)


def substitution_run(
    data: Source | FeatureStream,
    settings: Any,
    options: RunOptions,
    y: Any = None,
    sample_weight: Any = None,
    *,
    choose: bool = True,
) -> SubstitutionRun:
    """The run of a method for arriving features: with workers on Ray, if the options say so."""
    from thresher.substitution.run import SubstitutionRun

    kind = SubstitutionRun
    if options.cluster is not None:
        from thresher.distributed.async_ray import RaySubstitutionRun as kind
    return kind(data, settings, options, y, sample_weight, choose=choose)


#: Settings that every method has, under one name.
SHARED = {"k", "method", "loss", "fit_intercept", "per_class", "multilabel", "seed"}

METHODS = (
    MethodSpec(
        names=("mission", "iht", "batch-iht", "hashing"),
        settings="online.settings:OnlineSettings",
        make_run=_online_run,
        plan="online.memory_plan:plan_of_fit",
        loss="logistic",
        several="softmax",
        run_options=frozenset({"cluster", "k_max"}),
        online=True,
    ),
    MethodSpec(
        names=("b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"),
        settings="online.settings:OnlineSettings",
        make_run=_online_run,
        plan="online.memory_plan:plan_of_fit",
        several="rest:squared_hinge",
        run_options=frozenset({"cluster", "k_max"}),
        online=True,
    ),
    MethodSpec(
        names=("fgm",),
        settings="fgm.settings:FGMSettings",
        make_run=_fgm_run,
        plan="fgm.memory_plan:plan_of_fit",
        run_options=frozenset({"validation", "n_jobs", "k_max", "workers", "cluster"}),
    ),
    MethodSpec(
        names=("sparse-rf",),
        settings="sparse_rf.settings:SparseRFSettings",
        make_run=_sparse_rf_run,
        plan="sparse_rf.memory_plan:plan_of_fit",
        run_options=frozenset({"validation", "n_jobs", "workers", "cluster"}),
    ),
    MethodSpec(
        names=("os", "grafting", "grafting-light", "naive-l0", "naive-l1", "alpha-investing"),
        settings="substitution.settings:SubstitutionSettings",
        make_run=_substitution_run,
        plan="substitution.memory_plan:plan_of_fit",
        run_options=frozenset({"labels_file", "n_jobs", "cluster"}),
        feature_streams=True,
    ),
)


def get_method(name: str) -> MethodSpec:
    """The spec of a method."""
    for spec in METHODS:
        if name in spec.names:
            return spec
    if name == "auto":
        raise SettingsError('method "auto" is for `thresher.select` and `thresher select` only: name a method')
    names = list(method_names())
    raise SettingsError(f"unknown method {quoted(name)}{did_you_mean(name, names, len(names))}")


def method_names() -> Iterator[str]:
    """The names of all methods."""
    return (name for spec in METHODS for name in spec.names)


def default_losses() -> str:
    """The default losses as a phrase: those that few methods have, then that of the others."""
    by_loss: dict[str, list[str]] = {}
    for spec in METHODS:
        by_loss.setdefault(spec.loss, []).extend(spec.names)
    *few, (common, _) = sorted(by_loss.items(), key=lambda found: len(found[1]))
    named = [f"{loss} for {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}" for loss, names in few]
    return ", ".join([*named, f"{common} for the other methods"])


#: The methods that can keep features by name.
KEEPING = ("mission", "iht", "batch-iht", "b-arda", "b-amd", "ofs", "sofs", "fgm", "os")

#: The alternative to a setting that a method does not have.
_INSTEAD = {("fgm", "groups"): 'pass its groups as a family, `family="groups:FILE"`'}
#: Settings of which None is a value.
_NONE_IS_A_VALUE = {"scale"}


def split_settings(method: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split keyword arguments into the method's settings and options for reading data; None means not given."""
    own = get_method(method).own
    method_settings = {name: value for name, value in given.items() if name in own}
    rest = {name: value for name, value in given.items() if name not in own}
    if rest:
        others = frozenset[str]().union(*(spec.own for spec in METHODS)) - own
        if unknown := [name for name in rest if name not in others | OPTIONS]:
            known = sorted(own | others | OPTIONS)
            raise TypeError(f"unexpected keyword argument {unknown[0]!r}{did_you_mean(unknown[0], known)}")
        for name in sorted(others.intersection(rest)):
            if rest.pop(name) is not None:
                advice = _INSTEAD.get((method, name), "leave it out, or choose another method")
                raise SettingsError(f"{method} has no setting `{name}`: {advice}")
    given_settings = {n: value for n, value in method_settings.items() if value is not None or n in _NONE_IS_A_VALUE}
    return given_settings, rest


def check_keep(spec: MethodSpec, settings: Any, *, auto: bool, fdr: bool, cluster: str | None) -> None:
    """Raise, before any row is read, if a fit with these settings cannot keep features by name."""
    method = getattr(settings, "method", spec.names[0])
    if method not in KEEPING:
        raise SettingsError(
            f"{method} cannot keep features by name: leave out `keep`, or choose one of {', '.join(KEEPING)}"
        )
    reasons = {
        '`k="auto"`': auto and "ranks features by weight alone",
        "`fdr`": fdr and "decides by its tests alone which features stay",
        "`per_class`": settings.per_class and "has features of its own for each class",
        "`groups`": getattr(settings, "groups", None) is not None and "keeps or drops whole groups",
        "`workers`": (getattr(settings, "workers", 1) > 1 or cluster is not None) and "has models of other features",
        "`staleness`": getattr(settings, "staleness", None) is not None and "has models of other features",
        "`family`": getattr(settings, "family", "linear") != "linear" and "selects elements of the family",
    }
    for setting, why in reasons.items():
        if why:
            raise SettingsError(f"`keep` and {setting} exclude each other: the latter {why}. Leave out one of them")


def first_loss(spec: MethodSpec, loss: str | None, task: str, classes: Sequence[Any] | None) -> str:
    """The loss to begin with: as given, or by the task; two classes, unless more are known."""
    if task not in TASKS:
        raise SettingsError(f'task must be "auto", "classes" or "numbers", got {task!r}')
    if loss is not None:
        kind = "numbers" if get_loss(loss).task == "real" else "classes"
        if task not in ("auto", kind):
            raise SettingsError(f"the {loss} loss is for {kind}: leave out `loss` or `task={task!r}`")
        return loss
    if task == "numbers":
        return spec.numbers
    return spec.loss if classes is None or len(classes) <= 2 else spec.several


def classes_before_fit(
    spec: MethodSpec,
    source: Source,
    loss: str,
    classes: Sequence[Any] | None,
    *,
    multilabel: bool,
    memory: str | int | None,
    watch: Watch,
) -> list[Label] | None:
    """The classes, if the method must know them before the first row; reading them keeps to the memory."""
    if not spec.online or (get_loss(loss).task != "classes" and not multilabel):
        return None
    from thresher.core.labels import sort_labels
    from thresher.sources.transforms.label_scan import label_classes

    if classes is not None:
        return sort_labels(classes)
    source = Watched(source, watch, "reading labels")
    return label_classes(source.limited(ReadLimits.of(parse_size(DEFAULT_MEMORY if memory is None else memory))))
