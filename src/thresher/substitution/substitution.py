"""Online Substitution: the problem that features arrive at, the best k of which stay."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.sparse_columns import CSCColumns
from thresher.columns.types import Ids
from thresher.core.losses import get_loss
from thresher.substitution.arriving.feature_stream import Block
from thresher.substitution.problem import Kept, Targets, kept_of
from thresher.substitution.settings import SubstitutionSettings


class SubstitutionProblem:
    """Algorithm 1; see ``native/working_set/substitution.hpp``."""

    def __init__(self, settings: SubstitutionSettings, targets: Targets, team: _native.Team) -> None:
        loss = get_loss(settings.loss)
        self._native = _native.Substitution.make(
            loss.name,
            loss.delta,
            np.ascontiguousarray(targets.y),
            targets.shares,
            settings.fit_intercept,
            settings.k,
            settings.eta or 0.0,
            settings.rate,
            settings.slowness,
            settings.c,
            settings.checked,
        )
        self._outputs, self._rows = targets.y.shape
        self._team = team
        self._block: Block | None = None
        self.done = self.ahead = 0

    def add(self, ids: Ids, columns: Block) -> None:
        self._block, self.done = columns, min(self.ahead, len(ids))
        self.ahead -= self.done

    def solve(self) -> None:
        assert self._block is not None
        ids, columns = self._block.ids[self.done :], self._block.columns
        try:
            if isinstance(columns, CSCColumns):
                few = columns.tail(self.done)
                self._native.arrive_sparse(few.indptr, few.rows, few.values, ids, self._team)
            else:
                self._native.arrive(columns[self.done :], ids, self._team)
        finally:
            self.done += self._native.done

    @property
    def objective(self) -> float:
        """f at the weights as they are."""
        return self._native.objective(self._team)

    def kept(self) -> Kept:
        return kept_of(self._native.state(), self._rows, self._outputs)

    def kept_ids(self) -> Ids:
        return self._native.ids

    def state(self) -> dict[str, NDArray[Any]]:
        return self._native.state()

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        self._native.restore(**state, team=self._team)

    def facts(self) -> dict[str, Any]:
        received, taken, refused = self._native.state()["counts"].tolist()
        return {
            "received": received,
            "taken": taken,
            "refused": refused,
            "eta": self._native.eta,
            "L_F": self._native.lipschitz,
            "objective": self.objective,
        }
