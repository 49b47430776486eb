"""Probabilities of the working-set methods: the selected features are fitted again without some rows, whose margins are
then calibrated. The answer itself is fitted on all rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch
from thresher.core.labels import known_targets
from thresher.core.losses import Loss
from thresher.selection.calibration import Calibration
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.transforms.holdout import row_shares

Floats = NDArray[np.float64]
#: Fits the selected features without some rows (a mask), and returns the margins of those: outputs x rows.
Refit = Callable[[NDArray[np.bool_]], Floats]

#: Not the rows that `holdout` holds out, whose seed is that of the fit.
_SEED = 0x63616C6962
#: Rows are assigned to tenths. One tenth is held out; below `_MANY` rows, each fifth in turn.
_PARTS, _MANY, _FOLDS = 10, 5000, 5


def row_parts(batch: Batch) -> NDArray[np.uint8]:
    """The tenth that each row belongs to, from 0, by a hash of its features: copies of a row stay together."""
    return (row_shares(batch, _SEED) * _PARTS).astype(np.uint8)


def numbered_parts(rows: int) -> NDArray[np.uint8]:
    """The tenths of rows without features, by a hash of their numbers."""
    return row_parts(Batch(np.arange(rows + 1, dtype=np.int64), np.arange(rows, dtype=np.uint64), None))


def calibration_by_refit(
    loss: Loss, parts: NDArray[np.uint8], y: Floats, weight: Floats, refit: Refit
) -> Calibration | None:
    """Calibrate on rows that a refit of the selected features does not see; None if a class would be missing in it.

    Parameters
    ----------
    loss : Loss
        The loss of the selection.
    parts : array of shape (rows,)
        From `row_parts`.
    y : array of shape (outputs, rows)
        -1 and +1.
    refit : callable
    """
    folds = [parts == 0] if len(parts) >= _MANY else [parts * _FOLDS // _PARTS == fold for fold in range(_FOLDS)]
    margins, rows = [], []
    for held in folds:
        rest = y[:, ~held]
        if held.any() and (rest.max(axis=1, initial=-1) > 0).all() and (rest.min(axis=1, initial=1) < 0).all():
            margins.append(refit(held))
            rows.append(np.flatnonzero(held))
    if not rows:
        return None
    found, chosen = np.concatenate(margins, axis=1), np.concatenate(rows)
    if not np.isfinite(found).all():
        return None
    targets = y[:, chosen]
    if loss.task == "classes":
        return Calibration.fit(loss, found.T, targets.argmax(axis=0), weight[chosen])
    if len(y) > 1:
        return Calibration.fit(loss, found.T, targets.T, weight[chosen])
    return Calibration.fit(loss, found[0], targets[0], weight[chosen])


def calibration_on(selection: Selection, source: Source) -> Calibration | None:
    """Calibrate on labelled rows that the selection was not fitted on; None if there are none."""
    source = selection.adapt(source)
    margins, targets, weights = [], [], []
    for batch, cursor in source.batches(keys=selection.input_keys):
        if not len(batch):
            continue
        where = partial(source.where, cursor, batch)
        targets.append(known_targets(batch, selection.classes, selection.loss, where, multilabel=selection.multilabel))
        margins.append(selection.margins(batch))
        weights.append(np.ones(len(batch)) if batch.weight is None else batch.weight)
    if not margins or not sum(float(weight.sum()) for weight in weights) > 0:
        return None
    return Calibration.fit(selection.loss, *(np.concatenate(some) for some in (margins, targets, weights)))
