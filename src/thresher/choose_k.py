"""The number of features, ``k="auto"``: held-out loss along nested selections, and the fewest features that do as well.

Rows are held out in turn. Without them, one fit at ``k_max`` ranks the features, and its first 1, 2, 5, 10, … features
are refitted (`thresher.refit`). The mean loss of all held-out rows is a curve over k, with a standard error. The fewest
features within one standard error of the least loss are taken, and the method then fits all rows with that ``k``: the
answer is that of the same call with the number.
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
from thresher.core.memory import DEFAULT_MEMORY, parse_size
from thresher.errors import DataError, SettingsError
from thresher.refit import Columns, Floats, Model, PathFit, penalty_path, read_columns, row_losses
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


class Point(NamedTuple):
    """A point of the curve: the mean loss of the held-out rows and its standard error."""

    k: int
    loss: float
    standard_error: float


@dataclass(frozen=True)
class Curve:
    """The held-out loss by the number of features."""

    points: tuple[Point, ...]
    k_max: int
    rows: int
    folds: int
    chosen: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "chosen", one_standard_error(self.points))

    def to_dict(self) -> dict[str, Any]:
        """The curve as JSON values, for the provenance."""
        return {**asdict(self), "points": [point._asdict() for point in self.points]}


def one_standard_error(points: tuple[Point, ...]) -> int:
    """The smallest k whose loss is within one standard error of the least."""
    best = min(points, key=lambda point: (point.loss, point.k))
    return min(point.k for point in points if point.loss <= best.loss + best.standard_error)


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
    ranked = replace(settings, k=most, refit=False)
    plain = replace(options, checkpoint=None, validation=None, calibrate=False, callback=None)
    limited = options.memory is not None or hasattr(settings, "passes")
    search = _Search(ranked, plain, make_run, memory if limited else None)
    found, why = [], ""
    for training, held in _folds(source, getattr(settings, "seed", 0)):
        try:
            if (losses := search.fold(training, held)) is not None:
                found.append(losses)
        except ThirdLabel:
            raise
        except DataError as error:  # such as one class in the rows that stay
            why = f" ({error})"
    curve = _curve(found, most)
    if curve is None:
        raise SettingsError(f'`k="auto"` needs held-out rows, and there are too few: pass a number as `k`{why}')
    log.info("k = %d, of at most %d", curve.chosen, most)
    facts = {**options.facts, "k_curve": curve.to_dict()}
    return replace(settings, k=curve.chosen), replace(options, facts=facts)


def _check(settings: Any) -> None:
    """Raise if a method has no nested selections that could be refitted."""
    method = getattr(settings, "method", "fgm")
    reason = None
    if method == "hashing":
        reason = "hashing selects no features"
    elif settings.per_class:
        reason = "nested selections have the same features for all classes: leave out `per_class`"
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


class Fold(NamedTuple):
    """The loss of each held-out row by k, up to the number of features found, and the weight of each row."""

    losses: dict[int, Floats]
    weight: Floats


class _Search:
    """Fits without some rows, and the losses of these."""

    def __init__(
        self, settings: Any, options: RunOptions, make_run: Callable[[Source, Any, RunOptions], Run], memory: int | None
    ) -> None:
        self._settings, self._options, self._make_run, self._memory = settings, options, make_run, memory

    def fold(self, training: Source, held: Source) -> Fold | None:
        """The losses of the held-out rows; None if there are too few rows."""
        ranking = self._rank(training)
        model = Model(
            ranking.loss, len(ranking.intercept), ranking.multilabel, bool(getattr(self._settings, "fit_intercept", 1))
        )
        train = self._columns(ranking, training, model, 8)
        tested = self._columns(ranking, held, model, 16)
        if tested.rows < _LEAST_ROWS or not len(ranking) or not tested.weight.sum() > 0:
            return None
        losses: dict[int, Floats] = {}
        for k in nested_sizes(self._settings.k):
            self._options.watch.show(phase=f"choosing k: refitting {k} features")
            best = best_fit(train.first(k), tested.first(k), model)
            if best is None:
                return None
            losses[k], _ = row_losses(model.loss, best.margins, tested.y, tested.weight, model.multilabel)
            if k >= len(ranking):  # there are no more features, whatever k
                break
        return Fold(losses, tested.weight)

    def _rank(self, training: Source) -> Selection:
        run = self._make_run(training, self._settings, self._options)
        run.run()
        ranking = run.model()
        del run
        memory = self._memory or parse_size(DEFAULT_MEMORY)
        _native.release_buffers(memory // 8)  # the state of the fit, before the columns are read
        return ranking

    def _columns(self, ranking: Selection, rows: Source, model: Model, share: int) -> Columns:
        """The columns of the ranked features: all rows, or a sample that a share of the memory holds."""
        source = ranking.adapt(rows)

        def encode(batch: Any, where: Callable[[int], str]) -> NDArray[np.float64]:
            return known_targets(batch, ranking.classes, ranking.loss, where, multilabel=ranking.multilabel)

        room = None if self._memory is None else self._memory // share
        return read_columns(source, ranking.keys, encode, room, model.outputs)


def best_fit(train: Columns, held: Columns, model: Model) -> PathFit | None:
    """The fit of the training rows whose penalty is best on the held-out rows."""
    return min(penalty_path(train, held, model), key=lambda fit: fit.loss, default=None)


def _curve(folds: list[Fold], k_max: int) -> Curve | None:
    """The mean loss over the rows of all folds; one that found fewer features than k has them all there."""
    if not folds:
        return None
    weight = np.concatenate([fold.weight for fold in folds])
    points = []
    for k in max((fold.losses for fold in folds), key=len):
        every = np.concatenate([fold.losses.get(k, fold.losses[max(fold.losses)]) for fold in folds])
        mean = float(np.average(every, weights=weight))
        shares = weight / weight.sum()
        if np.isfinite(mean):
            points.append(Point(k, mean, float(np.sqrt((shares**2 * (every - mean) ** 2).sum()))))
    return Curve(tuple(points), k_max, len(weight), len(folds)) if points else None
