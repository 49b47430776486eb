"""Online Substitution: keeps the best k of the features that arrive."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.sparse_columns import CSCColumns
from thresher.columns.types import Ids
from thresher.core.losses import get_loss
from thresher.substitution.problem import BlockwiseProblem, Kept, Targets, kept_from_state
from thresher.substitution.settings import SubstitutionSettings


class SubstitutionProblem(BlockwiseProblem):
    """Algorithm 1 of the paper, over the native ``Substitution``."""

    def __init__(
        self, settings: SubstitutionSettings, targets: Targets, pool: _native.ThreadPool, keep: Ids | None = None
    ) -> None:
        super().__init__()
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
            arrivals=int(settings.arrivals),
            shrink=float(settings.shrink),
            ridge=float(settings.ridge),
        )
        if keep is not None:
            self._native.pin(keep)
        self._outputs, self._rows = targets.y.shape
        self._pool = pool
        self._shrink = float(settings.shrink)

    def solve(self) -> None:
        assert self._block is not None
        ids, columns = self._block.ids[self.done :], self._block.columns
        try:
            if isinstance(columns, CSCColumns):
                rest = columns.tail(self.done)
                self._native.arrive_sparse(rest.indptr, rest.rows, rest.values, ids, self._pool)
            else:
                self._native.arrive(columns[self.done :], ids, self._pool)
        finally:
            self.done += self._native.done

    def kept(self) -> Kept:
        kept = kept_from_state(self._native.state(), self._rows, self._outputs)
        if self._shrink == 0.0:
            return kept
        # The refit has columns of a mean square of one: the shrinkage is for the competition only.
        counts = np.maximum(1, np.count_nonzero(kept.columns, axis=1))
        factors = np.sqrt(counts / (counts + self._shrink))
        return kept._replace(weights=kept.weights * factors[:, None], scales=kept.scales / factors)

    def kept_ids(self) -> Ids:
        return self._native.ids

    def state(self) -> dict[str, NDArray[Any]]:
        return self._native.state()

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        self._native.restore(**state, pool=self._pool)

    def summary(self) -> dict[str, Any]:
        received, taken, refused = self._native.state()["counts"].tolist()
        return {
            "received": received,
            "taken": taken,
            "refused": refused,
            "eta": self._native.eta,
            "L_F": self._native.lipschitz,
            "objective": self._native.objective(self._pool),
        }
