"""The features found by a working-set method, and the selection built from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Floats, Ids
from thresher.core.feature_space import FeatureSpace
from thresher.core.labels import Label
from thresher.run import Origin, Result, build_selection, one_vs_rest_loss
from thresher.selection.selection import Selection

#: The entries of the path of a fit that are whole numbers.
_COUNTS = {"drawn", "features", "steps"}


def restored_path(names: Sequence[str], numbers: NDArray[np.float64]) -> list[dict[str, float]]:
    """The path of a fit as read from a checkpoint. Counts are integers, so that a file has the bytes of a fresh run."""
    return [
        {name: int(value) if name in _COUNTS else value for name, value in zip(names, entry, strict=True)}
        for entry in numbers.tolist()
    ]


class Found(NamedTuple):
    """The features found by an engine, strongest first; ``weights`` is (outputs, features)."""

    keys: Ids
    weights: Floats
    counts: NDArray[np.uint64]
    intercepts: Floats

    def selection(
        self,
        names: list[str] | None,
        *,
        classes: list[Label] | None,
        multilabel: bool,
        space: FeatureSpace,
        settings: dict[str, Any],
        origin: Origin,
        facts: dict[str, Any],
    ) -> Selection:
        """Build the selection; without ``names`` only for prediction."""
        outputs = len(self.weights)
        return build_selection(
            Result(
                self.keys,
                self.weights if outputs > 1 else self.weights[0],
                np.zeros(len(self.keys)),
                self.counts,
                self.intercepts,
            ),
            [f"#{key}" for key in self.keys.tolist()] if names is None else names,
            loss=one_vs_rest_loss(settings["loss"], outputs, multilabel=multilabel),
            classes=classes,
            space=space,
            settings=settings,
            origin=origin,
            facts=facts,
            final=names is not None,
        )
