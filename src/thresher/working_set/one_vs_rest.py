"""One-vs-rest targets of classes, and class weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.labels import Label, check_weighted_labels, class_weights, one_class_error, plain_label, sort_labels


def one_vs_rest(labels: NDArray[Any]) -> tuple[NDArray[np.float64], list[Label], NDArray[np.intp]]:
    """Targets of -1 and +1 for each output, the classes, and the class number of each row."""
    found = np.unique(labels) if labels.dtype != object else list(dict.fromkeys(labels.tolist()))
    classes = sort_labels(found)
    if len(classes) < 2:
        raise one_class_error(classes[0])
    if labels.dtype != object:
        numbers = np.searchsorted(np.array(classes, np.float64), labels)
    else:
        places = {label: i for i, label in enumerate(classes)}
        numbers = np.array([places[plain_label(label)] for label in labels.tolist()], np.intp)
    if len(classes) == 2:
        return np.where(numbers == 1, 1.0, -1.0)[None, :], classes, numbers
    return np.where(numbers == np.arange(len(classes))[:, None], 1.0, -1.0), classes, numbers


def class_factors(
    class_weight: Mapping[Any, float] | str | None, classes: list[Label], numbers: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The factor by which ``class_weight`` multiplies the weight of each row."""
    if class_weight is None:
        return np.ones(len(numbers))
    if isinstance(class_weight, Mapping):
        check_weighted_labels(class_weight, classes)
    counts = np.bincount(numbers, minlength=len(classes)).tolist()
    weights = class_weights(class_weight, lambda: dict(zip(classes, counts, strict=True)))
    return np.array([weights.get(label, 1.0) for label in classes])[numbers]
