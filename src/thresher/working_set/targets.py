"""The targets and weights of the rows that the working-set loop fits, from their labels."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch
from thresher.core.label_task import check_classes, classes_found
from thresher.core.labels import Label, Targets
from thresher.core.losses import Loss
from thresher.errors import DataError, SettingsError
from thresher.working_set.one_vs_rest import class_factors, one_vs_rest

log = logging.getLogger("thresher.sources")


class RowTargets(NamedTuple):
    """The encoded labels: ``y`` is outputs x rows, and ``classes`` is None for numeric targets."""

    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    classes: list[Label] | None


class TargetCollector:
    """Collects the labels and weights of batches, and encodes them once all rows are there.

    Parameters
    ----------
    loss : Loss
    labels : list, optional
        All labels that rows may have, for several labels a row (``multilabel``).
    may_be_numbers : bool
        Raise `NumericLabels` if the labels are no classes.
    """

    def __init__(
        self,
        loss: Loss,
        labels: list[Label] | None = None,
        *,
        multilabel: bool = False,
        may_be_numbers: bool = False,
    ) -> None:
        #: Whether each row has one class.
        self._one_class = loss.task != "real" and not multilabel
        self._may_be_numbers = may_be_numbers
        self._encoder = Targets(loss, labels, multilabel=multilabel)
        self._labels: list[NDArray[Any]] = []
        self._weights: list[NDArray[np.float32]] = []

    def add(self, batch: Batch, where: Callable[[int], str]) -> None:
        """Check and keep the labels and weights of a batch; ``where(row)`` describes a row in messages."""
        if not len(batch):
            return
        if not self._one_class:
            labels = self._encoder.encode(batch, where)
        elif _has_classes(batch):
            labels = np.asarray(batch.y)
        else:
            self._encoder.encode(batch, where)  # raises an error that names the label
            raise DataError(f"{where(0)}: a label is not a class.")
        self._labels.append(labels)
        self._weights.append(np.ones(len(batch), np.float32) if batch.weight is None else batch.weight)

    def check_classes(self, labels: NDArray[Any], data: str) -> None:
        """Raise if these labels may be numbers, and are."""
        if self._may_be_numbers and labels.dtype != object:
            check_classes(np.unique(labels).tolist(), data)

    def encode(self, data: str, class_weight: Mapping[Any, float] | str | None = None) -> RowTargets:
        """The targets of all rows; ``data`` describes their origin in messages."""
        if not self._labels:
            raise DataError(f"{data}: there are no rows to learn from.")
        labels = np.concatenate(self._labels)
        weight = np.concatenate(self._weights).astype(np.float64)
        if self._one_class:
            self.check_classes(labels, data)
            y, classes, numbers = one_vs_rest(labels)
            if self._may_be_numbers and len(classes) > 2:
                log.info("%s: %s", data, classes_found(classes))
            return RowTargets(y, weight * class_factors(class_weight, classes, numbers), classes)
        if class_weight is not None:
            raise SettingsError("`class_weight` needs a classification task with one class per row")
        return RowTargets(np.ascontiguousarray(np.atleast_2d(labels.T)), weight, self._encoder.classes)


def _has_classes(batch: Batch) -> bool:
    """Whether every row has exactly one label that can be a class."""
    y = batch.y
    if y is None or batch.y_indptr is not None:
        return False
    if y.dtype != object:
        return bool(np.isfinite(y).all())
    return all(label is not None and label == label for label in y.tolist())
