"""Scores of a selection on labelled data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch, Cursor
from thresher.core.labels import known_targets
from thresher.core.scores.metrics import Scores
from thresher.core.scores.reliability import Reliability
from thresher.errors import DataError
from thresher.selection.coverage import Coverage
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.registry import as_source, is_paths

#: Called with each batch, its margins, its targets, what describes the origin of its rows, and the cursor before it.
Observer = Callable[[Batch, NDArray[np.float64], NDArray[Any], Callable[[int], str], Cursor], None]


def evaluate(
    selection: Selection, source: Source, coverage: Coverage | None = None, observer: Observer | None = None
) -> dict[str, float]:
    """Score a selection on labelled rows by the metrics of its task, see `thresher.core.scores.metrics.Scores`.

    Where the selection has probabilities, ``ece`` is their expected calibration error; ``log_loss`` is that of
    calibrated probabilities, if there are any. ``coverage`` counts the rows that hold a selected feature; ``observer``
    sees every batch with its margins.
    """
    source = selection.adapt(source)
    scores = Scores(selection.loss, len(selection.classes or ()))
    reliability = Reliability() if selection.classes is not None and selection.has_probabilities else None
    before = Cursor()
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
        if reliability is not None and len(margins):
            reliability.add(selection.probabilities(margins), y, batch.weight)
        if observer is not None:
            observer(batch, margins, y, where, before)
        before = cursor
    found = scores.result()
    if reliability is not None and found:
        if selection.calibration is not None or "log_loss" not in found:
            found["log_loss"] = reliability.log_loss
        found["ece"] = reliability.ece
    return found


def test_source(test: Any, source: Source, target: Any, reading: dict[str, Any]) -> Source:
    """The data to score, read in the same way as the training data."""
    data, *labels = test if isinstance(test, tuple) else (test,)
    recipe = source.reading()
    if recipe is not None and not isinstance(data, Source):
        # The recipe names the target column of a file, but takes that of a data frame from here.
        named = bool(labels) or (is_paths(data) and recipe["form"]["target"] is not None)
        where = {"format": reading["format"], "on_error": reading["on_error"], "target": None if named else target}
        return as_source(data, *labels, like=recipe, **where)
    reading = {name: value for name, value in reading.items() if name != "weight" or is_paths(data)}
    return as_source(data, *labels, target=None if labels else target, **reading)
