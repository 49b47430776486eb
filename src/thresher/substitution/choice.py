"""The choice of the shrinkage and the ridge penalty of Online Substitution by held-out rows.

Each candidate selects features in one scan without some rows. A fit of these features (`thresher.refit`) is then scored
on those rows. The best candidate selects from all rows. Its penalty of the final fit and the margins of the held-out
rows, which give the probabilities, come from features that were selected without these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Floats
from thresher.refit import Columns, Model, choose_refit, fit_all
from thresher.selection.calibration import Calibration
from thresher.substitution.engine import StreamEngine
from thresher.substitution.problem import Kept, Targets
from thresher.substitution.settings import SubstitutionSettings

#: Below this number of rows, thirds are held out in turn; otherwise a fifth.
_MANY, _FOLDS = 2000, 3
#: The tenths of the rows, see `thresher.working_set.calibration.row_parts`.
_PARTS = 10

#: Makes the engine of a fit in one scan, for targets and settings.
MakeEngine = Callable[[SubstitutionSettings, Targets], StreamEngine]


class Choice(NamedTuple):
    """The chosen settings, the penalty of the final fit, and the calibration of the held-out margins."""

    settings: SubstitutionSettings
    penalty: float
    calibration: Calibration | None
    scores: list[dict[str, float]]


def gather(kept: Kept, targets: Targets, model: Model, rows: NDArray[np.intp] | None = None) -> Columns:
    """The kept columns of some rows in the form of the final fit (None: all rows)."""
    which = slice(None) if rows is None else rows
    # Column by column, without a copy of their zeros.
    found = [np.flatnonzero(column[which]) for column in kept.columns]
    values = [column[which][at] for column, at in zip(kept.columns, found, strict=True)]
    at = np.concatenate([np.empty(0, np.intp), *found])
    by_row = np.argsort(at, kind="stable")
    columns = np.repeat(np.arange(len(found), dtype=np.uint32), [len(rows) for rows in found])[by_row]
    y = encoded_targets(targets, model, which)
    n = len(y)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(at, minlength=n))])
    weight = np.ones(n) if targets.weights is None else targets.weights[which]
    return Columns(
        indptr,
        columns,
        np.concatenate([np.empty(0, np.float32), *values])[by_row],
        np.ascontiguousarray(y, np.float64),
        weight,
        len(kept.ids),
    )


def encoded_targets(targets: Targets, model: Model, rows: Any) -> NDArray[Any]:
    """The targets of some rows: -1 and +1, the number of the class, or -1 and +1 for each label."""
    y = targets.y[:, rows]
    return y[0] if model.kind == "one" else y.T if model.kind == "many" else y.argmax(axis=0)


def fit_kept(kept: Kept, targets: Targets, model: Model, penalty: float) -> tuple[Floats, Floats]:
    """Weights (outputs, features) and intercepts of the final fit of all rows."""
    weights, intercepts = fit_all(gather(kept, targets, model), penalty, model)
    return np.atleast_2d(weights), intercepts


def choose(
    settings: SubstitutionSettings,
    targets: Targets,
    parts: NDArray[np.uint8],
    model: Model,
    make_engine: MakeEngine,
    show: Callable[[str], None],
) -> Choice | None:
    """The best candidate; None if a class would be missing without the held-out rows.

    Parameters
    ----------
    parts : array of shape (rows,)
        The tenth that each row belongs to.
    show : callable
        Called with the phase, after every block.
    """
    masks = [parts < _PARTS // 5] if len(parts) >= _MANY else [parts % _FOLDS == fold for fold in range(_FOLDS)]
    masks = [held for held in masks if _usable(targets, held)]
    if not masks:
        return None
    candidates = settings.candidates()
    found = []
    for number, candidate in enumerate(candidates):
        phase = f"choosing the penalty, {number + 1} of {len(candidates)}"
        folds = [_fold(candidate, targets, held, model, make_engine, lambda: show(phase)) for held in masks]  # noqa: B023
        if any(fold is None for fold in folds):
            return None
        found.append([fold for fold in folds if fold is not None])
    rows = np.array([held.sum() for held in masks], np.float64)
    losses = [float(np.average([fold.loss for fold in folds], weights=rows)) for folds in found]
    best = int(np.argmin(losses))
    penalties = sorted(fold.penalty for fold in found[best])
    margins = np.concatenate([fold.margins for fold in found[best]])
    held = np.concatenate([np.flatnonzero(held) for held in masks])
    truth = encoded_targets(targets, model, held)
    weight = None if targets.weights is None else targets.weights[held]
    calibration = Calibration.fit(model.loss, margins, truth, weight) if np.isfinite(margins).all() else None
    scores = [
        {"shrink": float(one.shrink), "ridge": float(one.ridge), "log_loss": loss}
        for one, loss in zip(candidates, losses, strict=True)
    ]
    return Choice(candidates[best], penalties[len(penalties) // 2], calibration, scores)


class _Fold(NamedTuple):
    loss: float
    penalty: float
    margins: Floats


def _usable(targets: Targets, held: NDArray[np.bool_]) -> bool:
    """Whether rows are held out, and every output has both classes without them."""
    weight = np.ones(len(held)) if targets.weights is None else targets.weights
    rest = targets.y[:, ~held & (weight > 0)]
    both = (rest.max(axis=1, initial=-1) > 0).all() and (rest.min(axis=1, initial=1) < 0).all()
    return bool(both and weight[held].sum() > 0)


def _fold(
    settings: SubstitutionSettings,
    targets: Targets,
    held: NDArray[np.bool_],
    model: Model,
    make_engine: MakeEngine,
    show: Callable[[], None],
) -> _Fold | None:
    """Select without the held-out rows, which get no weight, and score the fit of the features on them."""
    weight = np.ones(len(held)) if targets.weights is None else targets.weights
    engine = make_engine(replace(settings, scans=1), Targets(targets.y, np.where(held, 0.0, weight)))
    while engine.step():
        show()
    kept = engine.problems[0].kept()
    train, test = (gather(kept, targets, model, np.flatnonzero(rows)) for rows in (~held, held))
    refit = choose_refit(train, test, model)
    if refit is None:
        return None
    return _Fold(refit.score, refit.penalty, test.margins(refit.weights, refit.intercept))
