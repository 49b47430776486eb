"""Warnings about labels that look like something else than the loss takes them for.

The rules are in ``docs/sources.md``. They read some of the first rows again, always the same ones whatever the batches
are, and never a pipe.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from thresher.core.label_task import are_numbers
from thresher.core.losses import Loss
from thresher.selection.leaks import first_rows
from thresher.sources.base import Source

#: The rows whose labels are examined, and the fewest of them.
_LABEL_ROWS, _MIN_LABELS = 1000, 100
#: Classes with at least so many values that are not whole numbers may be quantities; of whole numbers, these are so
#: many that most of the rows have their own, over a range of ten times as many.
_MANY_FRACTIONS, _SPREAD = 10, 10


def label_warnings(source: Source, loss: Loss, *, online: bool) -> Iterator[str]:
    """Warn of numbers that look like classes and of classes that look like numbers.

    ``online`` methods have a loss of their own for more than two classes; the others make each class a binary problem.
    """
    two_classes = loss.task == "binary" and online  # a third label is an error
    if two_classes or source.multilabel or not source.rewindable:
        return
    parts = [np.asarray(batch.y) for batch, _ in first_rows(source, _LABEL_ROWS, np.empty(0, np.uint64))]
    labels = np.concatenate(parts) if parts else np.empty(0)
    if len(labels) < _MIN_LABELS or labels.dtype == object or not np.isfinite(labels).all():
        return
    values = np.unique(labels.astype(np.float64))
    whole = bool((values == np.floor(values)).all())
    where = f"{source.describe()}: "
    rows = f"(first {len(labels):,} rows)"
    if loss.task == "real":
        if len(values) > 2 and not are_numbers(values.tolist()):
            several = "softmax" if online else "squared_hinge"
            yield (
                f"{where}the target has only the {len(values)} values {_listed(values)} {rows}, which the {loss} loss "
                f"takes as numbers. If they are classes, choose another loss (`loss={several!r}`)."
            )
    elif _is_quantity(values, len(labels), whole):
        yield (
            f"{where}the labels are {len(values)} different numbers {rows}, such as {_listed(values[:3])}, and the "
            f"{loss} loss makes each of them a class. If they are quantities, choose another loss (`loss='squared'`)."
        )


def _is_quantity(values: NDArray[np.float64], rows: int, whole: bool) -> bool:
    if not whole:
        return len(values) >= _MANY_FRACTIONS
    return 2 * len(values) > rows and float(np.ptp(values)) > _SPREAD * len(values)


def _listed(values: NDArray[np.float64]) -> str:
    shown = [f"{value:g}" for value in values.tolist()]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
