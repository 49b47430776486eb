"""The settings of the online methods, checked before any data is read."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thresher.core.feature_space import FeatureSpace
from thresher.core.losses import get_loss
from thresher.display import did_you_mean, quoted
from thresher.errors import SettingsError

if TYPE_CHECKING:
    from thresher.columns.groups import Groups

#: Methods with at most k weights at any time; the last two have as many as lam leaves.
BUDGETED = ("b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos")
THRESHOLDED = ("l1-arda", "ada-fobos")
#: Methods that can select whole groups of features.
GROUPED = ("b-arda", "b-amd")
#: The value of ``groups`` for the namespaces or columns of the source.
BY_SOURCE = "source"
METHODS = ("mission", "iht", "batch-iht", "hashing", *BUDGETED)
TRUNCATIONS = ("adaptive", "naive")
ACTIVE = ("exact", "sketch")


class Step(NamedTuple):
    """A step-size rule and its rate; see StepRule in native/online."""

    rule: str
    rate: float


def planned(default: Any) -> Any:
    """A field that the run, not the user, sets: from the data and the memory plan."""
    return field(default=default, metadata={"planned": True})


@dataclass(frozen=True, kw_only=True)
class OnlineSettings:
    """The settings of MISSION, its baselines and the budgeted methods.

    Parameters
    ----------
    k : int
        The number of features to keep.
    method : {"mission", "iht", "batch-iht", "hashing", "b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"}
        ``mission``: the k strongest features in a table, all others in a count-sketch that accumulates weak gradients.
        ``iht``: iterative hard thresholding; exact weights of k features, no others. ``batch-iht``: the same on
        mini-batches with as many features as the sketch would have cells. ``hashing``: feature hashing, a weight per
        cell and no selection. The budgeted methods (see docs/methods.md) hold at most k weights: ``b-arda`` and
        ``b-amd`` (adaptive dual averaging and mirror descent, truncated by evidence), ``ofs`` (gradient descent,
        truncated by weight), ``sofs`` (AROW, truncated by confidence), ``l1-arda`` and ``ada-fobos`` (soft thresholds).
    loss : str
        See `thresher.core.losses.Loss`.
    step : "auto", float, "adaptive:RATE" or "RATE/sqrt"
        The step size. A number is a constant step; ``"0.5/sqrt"`` decreases with the square root of the number of
        updates. ``adaptive`` (as in AdaGrad) has a step per feature, from the sum of its squared gradients and the
        scale of the data. ``auto`` is ``adaptive``, except for ``active="sketch"``, which does not store those sums and
        uses half the largest stable step, 1 / (2 max ‖x‖²).
    fit_intercept : bool
        Learn an intercept.
    passes : "auto" or int
        Passes over the data. ``auto``: as many as lower the loss on held-out rows, up to 20; one for large data (more
        than about 64 MB of text) and for data that can be read only once.
    refit : "auto" or bool
        Fit the selected features once more at the end, with an l2 penalty that held-out rows choose, see
        `thresher.refit`. ``auto``: use the refit unless it is clearly worse on the held-out rows. False with a
        number of ``passes`` holds no rows out.
    standardize : "auto" or bool
        Learn numeric columns of arrays, data frames and tables in units of their own: each value minus the centre of
        its column, divided by its scale, see `thresher.core.units`. Features are ranked by these weights; a selection
        has them mapped back to the unit of the data. Sparse features are divided by a power of two, see
        `thresher.core.sparse_scales`. ``auto``: numeric columns always, sparse features if their scales differ by
        orders of magnitude, except with products of features, ``hashing``, ``partial_fit``, and data that can be read
        only once. False learns values as they are.
    shuffle : "auto" or bool
        Shuffle the rows of each pass: data in memory completely, files in blocks and through a bounded buffer. ``auto``
        is True.
    refit_intercept : bool, optional
        Refit the intercept in one more pass at the end (budgeted methods, two classes). Default: with several passes.
    name_cap : int
        The longest name kept, in bytes.
    sketch : (rows, width), optional
        The shape of the sketch of mission, batch-iht and hashing. Default: chosen by `thresher.online.memory_plan`.
        With (1, width), ``b-arda`` holds the features that it does not keep in a sketch, and its memory does not grow.
    active : {"exact", "sketch"}
        The weights in the table of ``mission``: exact from the time a feature was admitted, or the estimates of the
        sketch, as in the paper.
    seed : int
        The seed of the sketch's hash functions.
    outputs : int
        The number of classes of the softmax loss, or of labels in a multi-label problem; otherwise 1.
    multilabel : bool
        Rows have several binary labels; each is learned with the (binary) loss.
    per_class : bool
        With several outputs, k features for each of them rather than k by the norm across all.
    minibatch : int
        The number of rows whose gradients are averaged before a step. Unlike the batches of the data, it changes the
        result.
    l2 : float
        Every step first multiplies all weights by 1 - step * l2.
    decay : float
        Every step multiplies the weights of the features that are not kept by this.
    lazy : float
        The share by which a candidate must exceed the weakest kept feature to replace it. 0 is exact.
    workers : int
        Workers that share the rows and learn side by side (``mission``, ``iht``, ``batch-iht``, ``hashing``,
        ``b-arda``); their models are averaged in rounds. The answer depends on their number, but not on where they
        run.
    sync : int, optional
        The rows that each worker learns between two rounds. Default: from 512 on, a sixteenth of what it has
        learned, up to 65,536.
    identity : bool
        Map every key below the width of the sketch to its own cell: an exact sketch, for simulations.
    eta : float, optional
        The step size of a budgeted method; for ``sofs`` 1 / r of AROW. Default: from the scale of the data, see
        docs/methods.md.
    lam : float, optional
        The penalty of a budgeted method: l1 for ``l1-arda`` and ``ada-fobos`` (default: found by tuning), l2 for the
        others (default: 0). Without ``eta`` it is in the unit of the steps.
    delta : float
        Added to the square root of every sum of squared gradients in a budgeted method.
    truncation : {"adaptive", "naive"}
        For ``b-arda`` and ``b-amd``: rank features by weight and evidence, as in the paper, or by |weight| alone.
    tune : bool
        Tune ``eta`` and ``lam`` by successive halving during the pass; one that is set is not tuned. See
        `thresher.online.tuning`.
    groups : Groups or "source", optional
        For ``b-arda`` and ``b-amd``: select whole groups of features; ``k`` is then the number of groups. A group is
        ranked by the sum of its features' ranks (with ``by_size``, their mean). Features outside all groups of a
        `thresher.Groups` are ignored. ``"source"``: the namespaces of VW text, or the columns of a table.
        `thresher.select` and the estimators also accept the arguments of `thresher.Groups`, or a file with the indices
        of a group on each line.
    keep_names : bool
        Keep the names of all features seen, so that one pass finds the name of every selected feature. It matters for
        methods that may select a feature long after its row: ``b-arda``, ``l1-arda``, ``ada-fobos``, and groups. Names
        that are not kept, or do not fit into memory, are read from the data at the end.
    noted : int
        The most features that are noted at a moment of the history, see `thresher.online.moments`.
    name_room : int
        The most bytes for these names; 0: no limit.
    room : int
        The most bytes for the sums of every feature seen; 0: no limit. When they are full, ``b-arda`` switches to a
        sketch; other budgeted methods, and workers of ``b-arda``, raise an error.
    """

    k: int
    method: str = "mission"
    loss: str = "logistic"
    step: str | float = "auto"
    fit_intercept: bool = True
    passes: int | str = "auto"
    refit: bool | str = "auto"
    standardize: bool | str = "auto"
    shuffle: str | bool = "auto"
    refit_intercept: bool | None = None
    name_cap: int = planned(256)
    sketch: tuple[int, int] | None = None
    active: str = "exact"
    seed: int = 0
    outputs: int = planned(1)
    multilabel: bool = False
    per_class: bool = False
    minibatch: int = 1
    l2: float = 0.0
    decay: float = 1.0
    lazy: float = 0.0
    workers: int = 1
    sync: int | None = None
    identity: bool = planned(False)
    eta: float | None = None
    lam: float | None = None
    delta: float = 1e-2
    truncation: str = "adaptive"
    tune: bool = False
    groups: Groups | str | None = None
    keep_names: bool = True
    name_room: int = planned(0)
    room: int = planned(0)
    pinned: tuple[tuple[str, int], ...] = planned(())
    noted: int = planned(1024)

    def __post_init__(self) -> None:
        if not _whole(self.k) or self.k < 1:
            raise SettingsError(f"k must be an integer of at least 1, got {self.k!r}")
        if self.method not in METHODS:
            raise SettingsError(
                f"unknown method {quoted(self.method)}{did_you_mean(str(self.method), METHODS, len(METHODS))}"
            )
        if self.active not in ACTIVE:
            raise SettingsError(f'active must be "exact" or "sketch", got {self.active!r}')
        if not _whole(self.minibatch) or self.minibatch < 1:
            raise SettingsError(f"minibatch must be an integer of at least 1, got {self.minibatch!r}")
        if self.passes != "auto" and (not _whole(self.passes) or int(self.passes) < 1):
            raise SettingsError(f'passes must be "auto" or an integer of at least 1, got {self.passes!r}')
        if self.refit not in ("auto", True, False):
            raise SettingsError(f'refit must be "auto", True or False, got {self.refit!r}')
        if self.standardize not in ("auto", True, False):
            raise SettingsError(f'standardize must be "auto", True or False, got {self.standardize!r}')
        if self.method == "hashing" and self.standardize is True:
            raise SettingsError("the buckets of hashing have no unit of the data: leave out `standardize`")
        if self.method == "hashing" and self.refit is True:
            raise SettingsError("hashing selects no features that could be fitted again: leave out `refit`")
        if self.per_class and self.refit is True:
            raise SettingsError("a refit would give every class the features of all: leave out `refit` or `per_class`")
        if self.shuffle not in ("auto", True, False):
            raise SettingsError(f'shuffle must be "auto", True or False, got {self.shuffle!r}')
        if self.sketch is not None:
            check_sketch(self.sketch)
            object.__setattr__(self, "sketch", (int(self.sketch[0]), int(self.sketch[1])))
        if self.groups is not None and not (isinstance(self.groups, str) and self.groups == BY_SOURCE):
            from thresher.columns.groups import as_groups

            if isinstance(self.groups, str) and not os.path.exists(self.groups):
                raise SettingsError(
                    f'groups must be th.Groups(…), a file with a group on each line, or "{BY_SOURCE}" for those of the '
                    f"data, got {self.groups!r}"
                )
            object.__setattr__(self, "groups", as_groups(self.groups))
        for name, low, high in (("l2", 0.0, np.inf), ("lazy", 0.0, 1.0)):
            if not low <= getattr(self, name) < high:
                raise SettingsError(f"{name} must be at least {low:g} and below {high:g}, got {getattr(self, name)!r}")
        if not 0 < self.decay <= 1:
            raise SettingsError(f"decay must be above 0 and at most 1, got {self.decay!r}")
        self._check_workers()
        self._check_outputs()
        self._check_budgeted()
        self._check_groups()
        rule = self.step_rule.rule
        if rule == "adaptive" and self.method == "mission" and self.active == "sketch":
            raise SettingsError(
                '`active="sketch"` does not support adaptive steps: pass a number as `step`, or `active="exact"`'
            )

    def _check_workers(self) -> None:
        if not _whole(self.workers) or self.workers < 1:
            raise SettingsError(f"workers must be an integer of at least 1, got {self.workers!r}")
        if self.sync is not None and (not _whole(self.sync) or self.sync < 1):
            raise SettingsError(
                f"sync, the rows between two rounds, must be an integer of at least 1, got {self.sync!r}"
            )
        if self.workers == 1:
            return
        if self.method in BUDGETED:
            self._check_budgeted_workers()
        if self.shuffle is False:
            raise SettingsError(
                "workers share the rows of the shuffled order, so that none has a class of its own: leave out "
                "`shuffle=False` or `workers`"
            )

    def _check_budgeted_workers(self) -> None:
        if self.method != "b-arda":
            why = (
                "its threshold grows with the rows of one worker, so a mean of models has other features than one model"
                if self.method in THRESHOLDED
                else "it drops all but k weights after every row, so a mean of N models has up to N k weights"
            )
            raise SettingsError(f"{self.method} has no `workers`: {why}. Choose b-arda or mission, or leave it out")
        for name, given, why in (
            ("lam", self.lam, "the penalty depends on the steps of one worker"),
            ("tune", self.tune, "candidates are compared on the same rows"),
            ("groups", self.groups is not None, "the sums of groups are not merged"),
            ("sketch", self.sketch is not None, "only the sums of features that workers touched are merged"),
        ):
            if given:
                raise SettingsError(
                    f"b-arda has no `workers` with `{name}`, since {why}: leave out one of them, or choose mission"
                )

    def _check_outputs(self) -> None:
        task = get_loss(self.loss).task
        if self.multilabel and task != "binary":
            raise SettingsError(f"the loss of a multi-label problem must be binary, such as logistic, got {self.loss}")
        if self.outputs < 1 or ((self.outputs > 1) != (task == "classes" or self.multilabel) and self.outputs != 1):
            raise SettingsError(f"outputs must be 1 for the {self.loss} loss, got {self.outputs}")

    def _check_budgeted(self) -> None:
        if self.truncation not in TRUNCATIONS:
            raise SettingsError(f'truncation must be "adaptive" or "naive", got {self.truncation!r}')
        if not 0 < self.delta < np.inf:
            raise SettingsError(f"delta must be above 0, got {self.delta!r}")
        if self.eta is not None and not 0 < self.eta < np.inf:
            raise SettingsError(f"eta must be above 0, or None to set it from the data, got {self.eta!r}")
        if self.lam is not None and not 0 <= self.lam < np.inf:
            raise SettingsError(f"lam must be at least 0, or None, got {self.lam!r}")
        if not self.budgeted:
            if self.tune:
                raise SettingsError(f"{self.method} has no `tune`: it is for {', '.join(BUDGETED)}")
            if self.eta is not None or self.lam is not None:
                raise SettingsError(f"{self.method} has no `eta` and `lam`: pass `step` and `l2`")
            return
        unused = {"step": "auto", "l2": 0.0, "decay": 1.0, "lazy": 0.0, "active": "exact"}
        if self.method != "b-arda":
            unused["sketch"] = None
        elif self.sketch is not None and self.sketch[0] != 1:
            raise SettingsError(
                f"the sketch of b-arda must have one row, got {self.sketch[0]}: pass `sketch=(1, {self.sketch[1]})`"
            )
        for name, plain in unused.items():
            if getattr(self, name) != plain:
                instead = {"step": "pass `eta`", "l2": "pass `lam`"}.get(name, "leave it out")
                raise SettingsError(f"{self.method} has no `{name}`: {instead}")
        if self.method == "sofs" and self.minibatch > 1:
            raise SettingsError("sofs learns from one row at a time: leave out `minibatch`")
        if self.method == "ofs" and self.eta and self.lam and self.eta * self.lam >= 1:
            raise SettingsError(f"`eta` * `lam` must be below 1 for ofs, got {self.eta * self.lam:g}")

    def _check_groups(self) -> None:
        if self.groups is None:
            return
        if self.method not in GROUPED:
            raise SettingsError(
                f"{self.method} has no `groups`: choose {' or '.join(GROUPED)}, or fgm with `family='groups:FILE'`"
            )
        if isinstance(self.groups, str):
            if self.minibatch > 1:
                raise SettingsError(
                    "the groups of the source are found by name, and a mini-batch has no names: leave out `minibatch`"
                )
        elif self.groups.overlap:
            raise SettingsError(f"groups of {self.method} must not overlap: put every feature in one group")
        if self.per_class:
            raise SettingsError("groups are selected for all classes together: leave out `per_class`")
        if self.sketch is not None:
            raise SettingsError("groups require the sums of every feature seen: leave out `sketch`")

    def check_space(self, space: FeatureSpace, *, products: bool) -> None:
        """Raise if the groups do not fit the features of the data; ``products``: whether products are formed."""
        if self.groups is None:
            return
        if products:
            raise SettingsError("products of features belong to no group: leave out `interactions`, or `groups`")
        if not isinstance(self.groups, str):
            if not space.invertible:
                raise SettingsError(
                    f"groups list columns by position, but the features of this data have names ({space}): pass "
                    f'`groups="{BY_SOURCE}"` for its namespaces or columns'
                )
            self.groups.check(space.size, self.k)
        elif space.invertible:
            raise SettingsError(
                f'`groups="{BY_SOURCE}"` means the namespaces of VW text or the columns of a table, but this data has '
                f"none ({space}): pass th.Groups(…), or a file with a group on each line"
            )

    @property
    def tuned(self) -> bool:
        """Whether eta or lam is tuned on the data."""
        return self.tune or (self.method in THRESHOLDED and self.lam is None)

    @property
    def holds_out(self) -> bool:
        """Whether rows are held out to choose the number of passes or the penalty of the refit."""
        return self.method != "hashing" and (self.passes == "auto" or self.refits)

    @property
    def refits(self) -> bool:
        """Whether the selected features may be fitted once more."""
        return self.refit is not False and not self.per_class and self.method != "hashing"

    @property
    def passes_set(self) -> int:
        """The number of passes if it is set, otherwise 1."""
        return 1 if self.passes == "auto" else int(self.passes)

    @property
    def shuffles(self) -> bool:
        """Whether the rows of each pass are shuffled."""
        return self.shuffle is not False

    @property
    def native_groups(self) -> Any:
        """The groups as an argument of the native store."""
        if self.groups is None or isinstance(self.groups, str):
            return None if self.groups is None else True
        sizes = np.diff(self.groups.indptr)
        numbers = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
        shares = 1.0 / sizes if self.groups.by_size else np.ones(len(sizes))
        return np.ascontiguousarray(self.groups.keys), numbers, shares.tolist()

    @property
    def budgeted(self) -> bool:
        """Whether this is one of the budgeted methods."""
        return self.method in BUDGETED

    @property
    def approximate(self) -> bool:
        """Whether a budgeted method holds the features it does not keep in a sketch."""
        return self.budgeted and self.sketch is not None

    @property
    def names_seen(self) -> bool:
        """Whether the names of all features seen are kept."""
        late = self.method in ("b-arda", *THRESHOLDED) or self.groups is not None
        return self.keep_names and late and not self.approximate and self.workers == 1

    @property
    def spills(self) -> bool:
        """Whether the method switches to a sketch when the features seen no longer fit into memory."""
        alone = self.workers == 1  # the sums of workers are merged feature by feature
        return self.method == "b-arda" and self.room > 0 and self.sketch is None and self.groups is None and alone

    @property
    def spill_width(self) -> int:
        """The width of that sketch: a quarter of the bytes for the features seen."""
        return min(max(1, self.room // 4 // self.cell_bytes), 2**31)

    @property
    def native_eta(self) -> float:
        """The step size as an argument of the native store; 0: the loop sets it."""
        return (0.0 if self.method in ("ofs", "sofs") else 1.0) if self.eta is None else float(self.eta)

    @property
    def loss_factor(self) -> float:
        """The factor of the loss: the squared hinge of the B-ARDA paper has no factor 1/2."""
        hinge = get_loss(self.loss).part == "squared_hinge"
        return 2.0 if hinge and self.budgeted and self.method != "sofs" else 1.0

    @property
    def step_rule(self) -> Step:
        """The step as a rule and a rate."""
        step = self.step
        if self.budgeted:
            if self.eta is not None:
                return Step("own", 1.0 if self.method == "sofs" else float(self.eta))
            return Step("own" if self.method in ("ofs", "sofs") else "adaptive", 1.0)
        if isinstance(step, (int, float, np.number)) and not isinstance(step, bool):
            rule, rate = "constant", float(step)
        elif step == "auto":
            plain = self.method == "mission" and self.active == "sketch"
            rule, rate = ("stable", 1.0) if plain else ("adaptive", 1.0)
        else:
            rule, rate = _parse_step(str(step))
        if not 0 < rate < np.inf:
            raise SettingsError(f'step must be "auto", a positive number, "adaptive:RATE" or "RATE/sqrt", got {step!r}')
        return Step(rule, rate)

    @property
    def cell_bytes(self) -> int:
        """The bytes of a cell; see EvidenceSketch and CountSketch in native/online."""
        if self.budgeted:  # the sums of gradients and of their squares
            return 8 * self.outputs
        return 2 * (self.outputs + 1) if self.step_rule.rule == "adaptive" else 4 * self.outputs

    @property
    def tables(self) -> int:
        """Tables of k features: one, or one for each output."""
        return self.outputs if self.per_class else 1

    @property
    def pinned_keys(self) -> list[int]:
        """The keys of the features that are never truncated."""
        return [key for _, key in self.pinned]

    def by_name(self) -> dict[str, Any]:
        """Every setting under its name, as the native loop reads them."""
        return {setting.name: getattr(self, setting.name) for setting in fields(self)}

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON values."""
        groups = self.groups if self.groups is None or isinstance(self.groups, str) else self.groups.fingerprint()
        plain = asdict(replace(self, groups=None, pinned=()))
        del plain["pinned"]
        if self.pinned:  # files of fits without them are those of versions without them
            plain["keep"] = [name for name, _ in self.pinned]
        del plain["noted"]  # it follows from the memory, and changes nothing else
        return {**plain, "sketch": None if self.sketch is None else list(self.sketch), "groups": groups}


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _parse_step(step: str) -> tuple[str, float]:
    name, _, rate = step.partition(":")
    try:
        if name == "adaptive":
            return "adaptive", float(rate) if rate else 1.0
        if step.endswith("/sqrt"):
            return "root", float(step.removesuffix("/sqrt"))
        return "constant", float(step)
    except ValueError:
        return "constant", -1.0  # rejected by the caller


def check_sketch(sketch: tuple[int, int]) -> None:
    """Raise if this is not the shape of a sketch."""
    if len(sketch) != 2 or not (1 <= sketch[0] <= 16 and sketch[1] >= 1 and sketch[0] * sketch[1] < 2**32):
        raise SettingsError(f"sketch must be (rows, width) with 1 to 16 rows and fewer than 2^32 cells, got {sketch!r}")
