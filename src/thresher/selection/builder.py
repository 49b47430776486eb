"""Build a selection from the result of a method."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.core.feature_space import FeatureSpace
from thresher.core.labels import Label
from thresher.core.losses import Loss, get_loss
from thresher.selection.selection import Selection
from thresher.version import __version__


class Result(NamedTuple):
    """The result of a method, strongest feature first.

    ``weights`` is (features,) or (outputs, features); ``errors`` the standard error or error bound of each weight, 0
    if weights are exact.
    """

    keys: NDArray[np.uint64]
    weights: NDArray[np.float64]
    errors: NDArray[np.float64]
    counts: NDArray[np.uint64]
    intercept: NDArray[np.float64]


class Origin(NamedTuple):
    """A description of the training data."""

    data: str
    fingerprint: str | None
    reading: dict[str, Any] | None

    @classmethod
    def of(cls, data: Any, *, fingerprint: bool = True) -> Origin:
        """Describe a Source or a FeatureStream; a fingerprint may take a pass over the data."""
        reading = data.reading() if hasattr(data, "reading") else None
        return cls(data.describe(), data.fingerprint() if fingerprint else None, reading)


def build_selection(
    result: Result,
    names: list[str],
    *,
    loss: Loss,
    classes: list[Label] | None,
    space: FeatureSpace,
    settings: dict[str, Any],
    origin: Origin,
    facts: dict[str, Any],
) -> Selection:
    """Combine a result, its names and its provenance; ``facts`` are the method's part of the provenance."""
    return Selection(
        names,
        result.keys,
        result.weights,
        result.errors,
        result.counts,
        result.intercept + 0.0,  # no negative zeros
        loss,
        classes,
        space,
        settings,
        {
            "thresher": __version__,
            "data": origin.data,
            "fingerprint": origin.fingerprint,
            **facts,
            **({} if origin.reading is None else {"reading": origin.reading}),
        },
    )


def one_vs_rest_loss(loss: str, outputs: int, *, multilabel: bool) -> Loss:
    """The loss of a one-vs-rest model."""
    return get_loss(f"rest:{loss}" if outputs > 1 and not multilabel else loss)
