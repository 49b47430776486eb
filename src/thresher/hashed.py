"""The answer of a method that selects nothing: a model in hashed cells, which predicts all the same."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Batch
from thresher.errors import SettingsError
from thresher.online.engine import OnlineEngine
from thresher.selection import Selection


@dataclass(frozen=True, eq=False)
class HashedModel(Selection):
    """A selection without features. Its margins come from the engine, and change if that learns on.

    ``turn`` is -1 where the engine learned with the classes the other way round.
    """

    engine: OnlineEngine | None = None
    turn: float = 1.0

    @property
    def wanted(self) -> None:
        return None  # every feature has its cell

    def margins(self, batch: Batch) -> NDArray[np.float64]:
        if self.engine is None:
            raise SettingsError("a hashed model predicts with its engine, and this one has none")
        # + 0.0 so that turning round leaves no negative zero behind
        margins: NDArray[np.float64] = self.turn * self.engine.margins(batch) + 0.0
        return margins

    def transform(self, data: Any, **reading: Any) -> Any:
        raise SettingsError('method="hashing" selects no features to transform to: choose mission, iht or batch-iht')

    def save(self, path: str | os.PathLike[str]) -> None:
        raise SettingsError(
            'method="hashing" selects no features, and its cells are not saved in a .thr file: pickle the estimator'
        )

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        raise SettingsError('method="hashing" selects no features to export: choose mission, iht or batch-iht')

    def to_sklearn(self) -> Any:
        raise SettingsError('method="hashing" has no columns for a scikit-learn model: use the estimator itself')
