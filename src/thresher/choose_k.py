"""The number of features, ``k="auto"``: the held-out error of fits with 1, 2, 5, … features, and the fewest that do.

Rows are held out in turn. For each k the method fits the others, with all settings of the call, and predicts the rows
held out: a curve over k, of fits such as the answer is one. For classes it is the share of wrong predictions, and the
fewest features within one point of the least are taken; for numbers it is the squared error, and one standard error.
The method then fits all rows with that ``k``: the answer is that of the same call with the number.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.labels import ThirdLabel, known_targets
from thresher.core.logs import quiet
from thresher.core.memory import DEFAULT_MEMORY, parse_size
from thresher.errors import DataError, SettingsError
from thresher.refit import Floats, row_losses
from thresher.run import Run, RunOptions, check_readable_again
from thresher.selection.compare import nested_sizes
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.transforms.holdout import HeldOut, Split, hold_out

log = logging.getLogger(__name__)

#: The most features that are ranked by default: by online methods, and by fgm, which is slower for many.
MOST_FEATURES, MOST_OF_FGM = 10_000, 1000
#: Bytes of a ranked feature and output, its name included; and the share of the memory for all of them.
_FEATURE_BYTES, _SHARE = 512, 8
#: Each fold holds out this share. Of few rows, by number or size, all are held out in turn; of more, one fold.
_FOLDS, _FEW_ROWS, _FEW_BYTES = 5, 10_000, 8 << 20
#: Fewer held-out rows say nothing.
_LEAST_ROWS = 10
#: The share of the memory for the predictions of held-out rows; of more rows, those of the least hashes count.
_PREDICTIONS = 16
#: The errors that classes may be above the least: one point, but at most this share of what features gain over always
#: answering the largest class. If they gain less than a point, errors say little, and the loss decides.
POINT, _OF_GAIN = 0.01, 0.1


class Point(NamedTuple):
    """A point of the curve: the mean loss of the held-out rows and its standard error."""

    k: int
    loss: float
    standard_error: float


@dataclass(frozen=True)
class Curve:
    """The held-out loss by the number of features.

    Attributes
    ----------
    points : tuple of Point
    score : {"error", "log_loss", "squared_error"}
        What the loss is.
    within : float
        What it may be above the least.
    """

    points: tuple[Point, ...]
    k_max: int
    rows: int
    folds: int
    score: str
    within: float
    chosen: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "chosen", fewest(self.points, self.within))

    def to_dict(self) -> dict[str, Any]:
        """The curve as JSON values, for the provenance."""
        return {**asdict(self), "points": [point._asdict() for point in self.points]}


def fewest(points: tuple[Point, ...], within: float) -> int:
    """The smallest k whose loss is above the least by at most ``within``."""
    least = min(point.loss for point in points)
    return min(point.k for point in points if point.loss <= least + within)


def check_k_max(k: Any, k_max: Any) -> int | None:
    """The ``k`` that settings begin with: as given, or for ``"auto"`` the most features; raise if it is neither."""
    if k_max is not None and k != "auto":
        raise SettingsError('`k_max` is the most that `k="auto"` may choose: pass one of `k` and `k_max`')
    if isinstance(k, str) and k != "auto":
        raise SettingsError(f'k must be an integer of at least 1 or "auto", got {k!r}')
    if k != "auto":
        return None if k is None else int(k) if isinstance(k, np.integer) else k
    if k_max is not None and (not isinstance(k_max, (int, np.integer)) or isinstance(k_max, bool) or k_max < 1):
        raise SettingsError(f"k_max must be an integer of at least 1, got {k_max!r}")
    return MOST_OF_FGM if k_max is None else int(k_max)


def choose_k(
    source: Source,
    settings: Any,
    options: RunOptions,
    make_run: Callable[[Source, Any, RunOptions], Run],
    *,
    k_max: int | None = None,
    outputs: int = 1,
) -> tuple[Any, RunOptions]:
    """The settings with the chosen ``k``, and the options with the curve among their facts.

    Parameters
    ----------
    make_run : callable
        The run of the method over some rows.
    k_max : int, optional
        The most features. Default: 10,000 (fgm: 1000), or fewer in little memory or of few columns.
    outputs : int
        The number of outputs, if it is known.
    """
    _check(settings)
    check_readable_again(source, needed=True, why='`k="auto"`')
    memory = parse_size(DEFAULT_MEMORY if options.memory is None else options.memory)
    most = _default_most(settings, memory, outputs) if k_max is None else k_max
    if source.space.size is not None and options.interactions == 1:
        most = min(most, source.space.size)
    plain = replace(options, checkpoint=None, validation=None, callback=None)
    search = _Search(settings, plain, make_run, memory, most)
    why = ""
    for training, held in _folds(source, getattr(settings, "seed", 0)):
        try:
            search.fold(training, held)
        except ThirdLabel:
            raise
        except DataError as error:  # such as one class in the rows that stay
            why = f" ({error})"
    curve = search.curve()
    if curve is None:
        raise SettingsError(f'`k="auto"` needs held-out rows, and there are too few: pass a number as `k`{why}')
    log.info("k = %d, of at most %d", curve.chosen, most)
    facts = {**options.facts, "k_curve": curve.to_dict()}
    return replace(settings, k=curve.chosen), replace(options, facts=facts)


def _check(settings: Any) -> None:
    """Raise if ``k`` counts something else than features that all classes share."""
    method = getattr(settings, "method", "fgm")
    reason = None
    if method == "hashing":
        reason = "hashing selects no features"
    elif settings.per_class:
        reason = "it counts the features of all classes together: leave out `per_class`"
    elif getattr(settings, "groups", None) is not None:
        reason = "it counts features, and `groups` selects whole groups"
    elif getattr(settings, "family", "linear") != "linear":
        reason = "it is for columns, the linear `family`"
    if reason is not None:
        raise SettingsError(f'`k="auto"` is not possible here: {reason}, or pass a number as `k`')


def _default_most(settings: Any, memory: int, outputs: int) -> int:
    bound = MOST_FEATURES if hasattr(settings, "passes") else MOST_OF_FGM
    return max(1, min(bound, memory // (_SHARE * _FEATURE_BYTES * max(1, outputs))))


def _folds(source: Source, seed: int) -> Iterator[tuple[Source, Source]]:
    """Training and held-out rows, in turn: by the hash of a row, so that copies are on the same side."""
    size, rows = source.total_bytes, source.total_rows
    few = size < _FEW_BYTES if size is not None else rows is not None and rows < _FEW_ROWS
    share = 1 / _FOLDS
    first = hold_out(source, share, seed=seed, split=Split.FOLDS)
    yield first
    if not few or source.overlapping:  # regions of sequences have no further parts
        return
    by = first[0].by if isinstance(first[0], HeldOut) else None
    for fold in range(1, _FOLDS):
        part = partial(HeldOut, source, share, seed=seed, split=Split.FOLDS, by=by, start=fold * share)
        yield part(held=False), part(held=True)


class _Sums:
    """Sums over the held-out rows of all folds, from which a mean and its standard error follow."""

    def __init__(self) -> None:
        self._sums = np.zeros(5)

    def add(self, losses: Floats, weight: Floats) -> None:
        squares = weight**2
        terms = (weight, weight * losses, squares, squares * losses, squares * losses**2)
        self._sums += [float(term.sum()) for term in terms]

    def point(self, k: int) -> Point:
        weight, total, squares, first, second = self._sums
        mean = total / weight
        variance = second - 2.0 * mean * first + mean**2 * squares
        return Point(k, float(mean), float(np.sqrt(max(0.0, variance)) / weight))


class _Search:
    """Fits without some rows, and the losses of these."""

    def __init__(
        self,
        settings: Any,
        options: RunOptions,
        make_run: Callable[[Source, Any, RunOptions], Run],
        memory: int,
        most: int,
    ) -> None:
        self._settings, self._options, self._make_run = settings, options, make_run
        self._memory, self._most, self._sizes = memory, most, nested_sizes(most)
        self._losses = {k: _Sums() for k in self._sizes}
        self._errors = {k: _Sums() for k in self._sizes}
        self._classes: dict[float, float] = {}  # the weight of each
        self._rows = self._folds = self._longest = 0
        self._score = "log_loss"

    def fold(self, training: Source, held: Source) -> None:
        """Add the losses of the held-out rows, unless they are too few."""
        for at, k in enumerate(self._sizes):
            found = self._fit(training, k)
            rows = self._predicted(found, held)
            if rows is None:
                return
            losses, wrong, y, weight = rows
            if at == 0:
                self._rows, self._folds = self._rows + len(y), self._folds + 1
                for one in np.unique(y) if wrong is not None else ():
                    self._classes[one] = self._classes.get(one, 0.0) + float(weight[y == one].sum())
            last = 0 < len(found) < k or k == self._sizes[-1]  # there are no more features, whatever k
            self._longest = max(self._longest, at)
            for more in self._sizes[at:] if last else [k]:
                self._losses[more].add(losses, weight)
                if wrong is not None:
                    self._errors[more].add(wrong, weight)
            if last:
                return

    def curve(self) -> Curve | None:
        """The curve over the folds so far; None if there were no rows."""
        if not self._folds:
            return None
        sizes = self._sizes[: self._longest + 1]
        points = tuple(point for point in (self._losses[k].point(k) for k in sizes) if np.isfinite(point.loss))
        if self._classes:
            errors = tuple(self._errors[k].point(k) for k in sizes)
            gain = 1.0 - max(self._classes.values()) / sum(self._classes.values()) - min(at.loss for at in errors)
            if gain >= POINT:
                within = min(POINT, _OF_GAIN * gain)
                return Curve(errors, self._most, self._rows, self._folds, "error", within)
        if not points:
            return None
        within = min(points, key=lambda point: (point.loss, point.k)).standard_error
        return Curve(points, self._most, self._rows, self._folds, self._score, within)

    def _fit(self, training: Source, k: int) -> Selection:
        with quiet():
            run = self._make_run(training, replace(self._settings, k=k), self._options)
            run.watch.show(phase=f"choosing k: fitting {k:,} features")
            run.run()
            found = run.model()
        self._limited = run.limited
        del run
        _native.release_buffers(self._memory // 8)
        return found

    def _predicted(self, found: Selection, held: Source) -> tuple[Floats, Floats | None, Floats, Floats] | None:
        """The losses of held-out rows, which predictions are wrong, the targets and the weights."""
        source = found.adapt(self._limited(held))
        predicted = _Predicted(max(1000, self._memory // (_PREDICTIONS * 8 * (2 * len(found.intercept) + 4))))
        for batch, cursor in source.batches(keys=found.input_keys):
            where = partial(source.where, cursor, batch)
            y = known_targets(batch, found.classes, found.loss, where, multilabel=found.multilabel)
            weight = np.ones(len(batch)) if batch.weight is None else batch.weight.astype(np.float64)
            predicted.add(found.margins(batch), y, weight)
        if (rows := predicted.result()) is None:
            return None
        margins, y, weight = rows
        losses, _ = row_losses(found.loss, margins, y, weight, found.multilabel)
        self._score = "squared_error" if found.loss.task == "real" else "log_loss"
        if found.multilabel or found.loss.task == "real":
            return losses, None, y, weight
        wrong = (margins > 0) != (y > 0) if margins.ndim == 1 else margins.argmax(axis=1) != y
        return losses, wrong.astype(np.float64), y, weight


class _Predicted:
    """Margins, targets and weights of rows: of all, or of those of the least hashes of their positions."""

    def __init__(self, most: int) -> None:
        self._most, self._rows = most, 0
        self._columns: list[NDArray[Any]] = []

    def add(self, margins: Floats, y: Floats, weight: Floats) -> None:
        positions = np.arange(self._rows, self._rows + len(weight), dtype=np.uint64)
        self._rows += len(weight)
        new = [_native.hash_keys(positions, Split.FOLDS.value), margins, y, weight]
        before = self._columns or [column[:0] for column in new]
        self._columns = [np.concatenate(both) for both in zip(before, new, strict=True)]
        if len(self._columns[0]) > 2 * self._most:
            self._thin_out()

    def result(self) -> tuple[Floats, Floats, Floats] | None:
        """Margins, targets and weights; None if they are too few."""
        if self._rows < _LEAST_ROWS:
            return None
        self._thin_out()
        _, margins, y, weight = self._columns
        return (margins, y, weight) if weight.sum() > 0 else None

    def _thin_out(self) -> None:
        stay = np.sort(np.argsort(self._columns[0], kind="stable")[: self._most])
        self._columns = [column[stay] for column in self._columns]
