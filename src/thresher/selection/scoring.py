"""Scores of a selection on labelled data."""

from __future__ import annotations

from functools import partial

import numpy as np

from thresher.core.labels import known_targets
from thresher.core.metrics import Scores
from thresher.errors import DataError
from thresher.selection.coverage import Coverage
from thresher.selection.selection import Selection
from thresher.sources.base import Source


def evaluate(selection: Selection, source: Source, coverage: Coverage | None = None) -> dict[str, float]:
    """Score a selection on labelled rows by the metrics of its task, see `thresher.core.metrics.Scores`.

    ``coverage`` counts the rows that hold a selected feature.
    """
    source = selection.adapt(source)
    scores = Scores(selection.loss, len(selection.classes or ()))
    for batch, cursor in source.batches(keys=selection.input_keys):
        where = partial(source.where, cursor, batch)
        y = known_targets(batch, selection.classes, selection.loss, where, multilabel=selection.multilabel)
        margins = selection.margins(batch)
        if not np.isfinite(margins).all():
            row = int(np.argwhere(~np.isfinite(margins))[0, 0])
            raise DataError(f"{where(row)}: the prediction is {margins[row]}: its values are too large for this model.")
        scores.add(margins, y, batch.weight)
        if coverage is not None:
            coverage.add(batch)
    return scores.result()
