"""The settings of the online methods, checked before any data is read."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thresher.core.feature_space import FeatureSpace
from thresher.core.losses import get_loss
from thresher.errors import SettingsError

if TYPE_CHECKING:
    from thresher.columns.groups import Groups

#: At most k weights at every moment; of the last two as many as lam leaves.
BUDGETED = ("b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos")
THRESHOLDED = ("l1-arda", "ada-fobos")
#: Those that can keep whole groups of features.
GROUPED = ("b-arda", "b-amd")
#: Groups as the source has them.
BY_SOURCE = "source"
METHODS = ("mission", "iht", "batch-iht", "hashing", *BUDGETED)
TRUNCATIONS = ("adaptive", "naive")
ACTIVE = ("exact", "sketch")


class Step(NamedTuple):
    """A rule for step sizes and its rate; see native/online/step.hpp."""

    rule: str
    rate: float


def planned(default: Any) -> Any:
    """A field that the run sets from the data and the memory plan; users do not."""
    return field(default=default, metadata={"planned": True})


@dataclass(frozen=True, kw_only=True)
class OnlineSettings:
    """The settings of MISSION, its baselines and the budgeted methods.

    Parameters
    ----------
    k : int
        Features kept at every moment.
    method : {"mission", "iht", "batch-iht", "hashing", "b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"}
        ``mission``: the k strongest in a table, everything else in a sketch, where weak gradients
        add up until they show. ``iht``: exact weights for k features, the rest forgotten (iterative
        hard thresholding). ``batch-iht``: the same, after gathering the gradients of as many
        features as the sketch would have cells. ``hashing``: a weight for every cell of the sketch, and
        nothing selected. The others learn under a budget, see docs/methods.md: ``b-arda`` and ``b-amd`` (adaptive dual
        averaging and mirror descent, truncated by evidence), ``ofs`` (gradient descent, the largest weights), ``sofs``
        (AROW, the most certain weights), ``l1-arda`` and ``ada-fobos`` (soft thresholds).
    loss : str
        See `thresher.core.losses.Loss`.
    step : "auto", float, "adaptive:RATE" or "RATE/sqrt"
        The step along each example's gradient. A number is a constant step; ``"0.5/sqrt"`` falls with the
        square root of the number of updates. ``adaptive`` gives every feature steps of its own, by the
        evidence there is for it, in units of the data's own scale; it is what
        ``auto`` means except for ``active="sketch"``, which has no room for the evidence and takes
        half the largest step that is stable, 1 / (2 max ‖x‖²).
    fit_intercept : bool
        Learn an intercept.
    passes : int
        Passes over the data.
    shuffle : "auto" or bool
        Shuffle the rows of each pass: data in memory as a whole, files through a bounded buffer. ``auto`` does.
    refit_intercept : bool, optional
        Read the data once more at the end, to fit the intercept alone (budgeted methods, two classes). Default: with
        several passes.
    name_cap : int
        Longest name kept, in bytes.
    sketch : (rows, width), optional
        The shape of the sketch; mission, batch-iht and hashing need one. `thresher.online.memory_plan` chooses it.
        ``b-arda`` takes (1, width): features that are not kept then share cells, and its memory does not grow.
    active : {"exact", "sketch"}
        What the table holds for a kept feature under ``mission``: its exact weight from when it came
        in, or the sketch's estimate, as in the paper.
    seed : int
        Where the sketch's hashes come from.
    outputs : int
        Classes of the softmax loss, or labels of a multi-label problem; otherwise 1.
    multilabel : bool
        Several yes-or-no labels a row, each with the (binary) loss.
    per_class : bool
        With several outputs, k features for each of them rather than k by the norm across all.
    minibatch : int
        Rows whose gradients are averaged before a step is taken. Part of the answer, unlike the batches
        that data comes in.
    l2 : float
        Every step first multiplies all weights by 1 - step * l2.
    decay : float
        Every step multiplies the weights of everything that is not among the k by this.
    lazy : float
        By what share of it a newcomer must be stronger than the weakest kept feature. 0 is exact.
    identity : bool
        Let every key below the sketch's width be its own cell: an exact sketch, for simulations.
    eta : float, optional
        The step of a budgeted method; of ``sofs`` 1 / r of AROW. Without it steps follow the scale of the data: see
        docs/methods.md.
    lam : float, optional
        The regulariser of a budgeted method: l2 for the truncated ones (0 unless given), l1 for ``l1-arda`` and
        ``ada-fobos``. With ``eta`` left out it is in the unit of the steps.
    delta : float
        Added to the root of every sum of squared gradients in a budgeted method.
    truncation : {"adaptive", "naive"}
        Rank by weight and evidence, as the paper does, or by |weight| alone, which it argues against
        (``b-arda`` and ``b-amd``).
    tune : bool
        Let several settings of ``eta`` and ``lam`` learn side by side, and the worse half leave again and again;
        what is given of the two stays. See `thresher.online.tuning`.
    groups : Groups or "source", optional
        Of ``b-arda`` and ``b-amd``: features that are kept or left together; ``k`` then counts groups. A group is
        ranked by the sum of its features' ranks (their mean, with ``by_size``). `thresher.Groups` lists them, and a
        feature in none is left out; ``"source"`` takes the namespaces of VW text and the columns of a table. In
        `thresher.select` and the estimators also what `thresher.Groups` is made of, or a file with the indices of a
        group on each line.
    keep_names : bool
        Where features have names and a method may select one long after its row has passed (``b-arda``, ``l1-arda``,
        ``ada-fobos``, and groups): keep the names of all features seen, so that one pass names everything. Otherwise,
        and for those that do not fit into the memory, names are found by another look at the data.
    name_room : int
        The most bytes for these names; 0 for no end.
    room : int
        The most bytes for what is known of every feature seen; 0 for no end. ``b-arda`` goes over to a sketch when they
        are full, the other budgeted methods end with an error.
    """

    k: int
    method: str = "mission"
    loss: str = "logistic"
    step: str | float = "auto"
    fit_intercept: bool = True
    passes: int = 1
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

    def __post_init__(self) -> None:
        if not _whole(self.k) or self.k < 1:
            raise SettingsError(f"k is the number of features to keep: a whole number from 1 on, not {self.k!r}")
        if self.method not in METHODS:
            raise SettingsError(f"unknown method {self.method!r}: one of {', '.join(METHODS)}")
        if self.active not in ACTIVE:
            raise SettingsError(f'active is "exact" or "sketch", not {self.active!r}')
        if not _whole(self.minibatch) or self.minibatch < 1:
            raise SettingsError(f"minibatch is a number of rows: a whole number from 1 on, not {self.minibatch!r}")
        if not _whole(self.passes) or self.passes < 1:
            raise SettingsError(f"passes must be a whole number of at least 1, got {self.passes!r}")
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
                raise SettingsError(f"{name} is a number from {low:g} to {high:g}, not {getattr(self, name)!r}")
        if not 0 < self.decay <= 1:
            raise SettingsError(f"decay is a factor above 0 and at most 1, not {self.decay!r}")
        self._check_outputs()
        self._check_budgeted()
        self._check_groups()
        rule = self.step_rule.rule
        if rule == "adaptive" and self.method == "mission" and self.active == "sketch":
            raise SettingsError(
                'active="sketch" has no room for adaptive steps: give step a number, or keep active="exact"'
            )

    def _check_outputs(self) -> None:
        task = get_loss(self.loss).task
        if self.multilabel and task != "binary":
            raise SettingsError(f"several labels a row need a loss of two classes, such as logistic, not {self.loss}")
        if self.outputs < 1 or ((self.outputs > 1) != (task == "classes" or self.multilabel) and self.outputs != 1):
            raise SettingsError(f"the {self.loss} loss has one output, not {self.outputs}")

    def _check_budgeted(self) -> None:
        if self.truncation not in TRUNCATIONS:
            raise SettingsError(f'truncation is "adaptive" or "naive", not {self.truncation!r}')
        if not 0 < self.delta < np.inf:
            raise SettingsError(f"delta is a number above 0, not {self.delta!r}")
        if self.eta is not None and not 0 < self.eta < np.inf:
            raise SettingsError(f"eta is a number above 0, or None for steps by the data, not {self.eta!r}")
        if self.lam is not None and not 0 <= self.lam < np.inf:
            raise SettingsError(f"lam is a number from 0 on, or None, not {self.lam!r}")
        if not self.budgeted:
            if self.tune:
                raise SettingsError(f"tune is for {', '.join(BUDGETED)}; {self.method} needs none")
            if self.eta is not None or self.lam is not None:
                raise SettingsError(f"eta and lam are for {', '.join(BUDGETED)}; {self.method} has step and l2")
            return
        unused = {"step": "auto", "l2": 0.0, "decay": 1.0, "lazy": 0.0, "active": "exact"}
        if self.method != "b-arda":
            unused["sketch"] = None
        elif self.sketch is not None and self.sketch[0] != 1:
            raise SettingsError(f"the sketch of b-arda has one row of cells: sketch=(1, {self.sketch[1]})")
        for name, plain in unused.items():
            if getattr(self, name) != plain:
                instead = {"step": ": give eta", "l2": ": give lam"}.get(name, "")
                raise SettingsError(f"{self.method} has no {name}{instead}")
        if self.method == "sofs" and self.minibatch > 1:
            raise SettingsError("sofs learns from one row at a time: leave minibatch out")
        if self.method == "ofs" and self.eta and self.lam and self.eta * self.lam >= 1:
            raise SettingsError("ofs needs eta * lam below 1")

    def _check_groups(self) -> None:
        if self.groups is None:
            return
        if self.method not in GROUPED:
            raise SettingsError(
                f"groups are for {' and '.join(GROUPED)}, not {self.method}; of fgm they are its family, th.Groups(…)"
            )
        if isinstance(self.groups, str):
            if self.minibatch > 1:
                raise SettingsError(
                    "the groups of the data are found by names, which a mini-batch does not keep: leave out minibatch"
                )
        elif self.groups.overlap:
            raise SettingsError(f"{self.method} has every feature in one group: no overlap")
        if self.per_class:
            raise SettingsError("groups are kept for all classes together: leave out per_class")
        if self.sketch is not None:
            raise SettingsError("groups need the sums of every feature seen: leave out sketch")

    def check_space(self, space: FeatureSpace, *, products: bool) -> None:
        """Raise unless the groups fit the features of the data; ``products``: whether products are formed."""
        if self.groups is None:
            return
        if products:
            raise SettingsError("products of features are in no group: leave out interactions, or groups")
        if not isinstance(self.groups, str):
            if not space.invertible:
                raise SettingsError(
                    f"groups list columns by position, and the features of this data have names: {space}. Pass "
                    f'groups="{BY_SOURCE}" for its namespaces or columns.'
                )
            self.groups.check(space.size, self.k)
        elif space.invertible:
            raise SettingsError(
                f'groups="{BY_SOURCE}" are the namespaces of VW text or the columns of a table, and this data has '
                f"none: {space}. List the groups: th.Groups(…), or a file with a group on each line."
            )

    @property
    def tuned(self) -> bool:
        """Whether several engines compete, because the settings leave open what only the data can show."""
        return self.tune or (self.method in THRESHOLDED and self.lam is None)

    @property
    def shuffles(self) -> bool:
        """Whether the rows of each pass are shuffled."""
        return self.shuffle is not False

    @property
    def native_groups(self) -> Any:
        """The groups as the native store takes them."""
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
        """Whether a budgeted method knows the features it does not keep by a sketch only."""
        return self.budgeted and self.sketch is not None

    @property
    def names_seen(self) -> bool:
        """Whether the names of all features seen are kept."""
        late = self.method in ("b-arda", *THRESHOLDED) or self.groups is not None
        return self.keep_names and late and not self.approximate

    @property
    def spills(self) -> bool:
        """Whether it goes over to a sketch of its own accord once the features seen no longer fit."""
        return self.method == "b-arda" and self.room > 0 and self.sketch is None and self.groups is None

    @property
    def spill_width(self) -> int:
        """The cells of that sketch: a quarter of the room."""
        return min(max(1, self.room // 4 // self.cell_bytes), 2**31)

    @property
    def native_eta(self) -> float:
        """The step as the store takes it: 0 where the loop says how long it is."""
        return (0.0 if self.method in ("ofs", "sofs") else 1.0) if self.eta is None else float(self.eta)

    @property
    def loss_factor(self) -> float:
        """What the loss is multiplied by: the squared hinge of the B-ARDA paper has no half before it."""
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
            rule, rate = _spelled_step(str(step))
        if not 0 < rate < np.inf:
            raise SettingsError(f'step is "auto", a positive number, "adaptive:RATE" or "RATE/sqrt", not {step!r}')
        return Step(rule, rate)

    @property
    def cell_bytes(self) -> int:
        """What a cell of the sketch takes: see native/online/evidence_sketch.hpp and count_sketch.hpp."""
        if self.budgeted:  # a sum of gradients and one of their squares
            return 8 * self.outputs
        return 2 * (self.outputs + 1) if self.step_rule.rule == "adaptive" else 4 * self.outputs

    @property
    def tables(self) -> int:
        """Tables of k features: one, or one for each output."""
        return self.outputs if self.per_class else 1

    def by_name(self) -> dict[str, Any]:
        """Every setting under its name, as the native loop reads them."""
        return {setting.name: getattr(self, setting.name) for setting in fields(self)}

    def to_dict(self) -> dict[str, Any]:
        """For files, in what JSON has."""
        groups = self.groups if self.groups is None or isinstance(self.groups, str) else self.groups.fingerprint()
        plain = asdict(replace(self, groups=None))
        return {**plain, "sketch": None if self.sketch is None else list(self.sketch), "groups": groups}


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _spelled_step(step: str) -> tuple[str, float]:
    name, _, rate = step.partition(":")
    try:
        if name == "adaptive":
            return "adaptive", float(rate) if rate else 1.0
        if step.endswith("/sqrt"):
            return "root", float(step.removesuffix("/sqrt"))
        return "constant", float(step)
    except ValueError:
        return "constant", -1.0  # refused by the caller


def check_sketch(sketch: tuple[int, int]) -> None:
    """Raise unless this is the shape of a sketch."""
    if len(sketch) != 2 or not (1 <= sketch[0] <= 16 and sketch[1] >= 1 and sketch[0] * sketch[1] < 2**32):
        raise SettingsError(f"a sketch is (rows, width) with 1 to 16 rows and 1 to 2^32 - 1 cells, not {sketch!r}")
