"""Sparse Random Features whose penalty and size held-out rows choose.

Algorithm 1 follows a path of λ, one iteration for each, from the λ that keeps no feature downwards, without the
held-out rows. It ends when their score no longer improves. The features of the best λ, strongest first, are then
fitted with an l2 penalty; held-out rows choose this penalty, and the smallest number of features whose loss is within
one standard error of the best, or with few rows the best itself. Last, the chosen features are fitted on all rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats, Ids
from thresher.errors import FileFormatError
from thresher.sparse_rf.engine import SparseRFEngine
from thresher.sparse_rf.feature_columns import RandomFeatureColumns
from thresher.sparse_rf.held_out import HeldOut
from thresher.sparse_rf.l2_fit import L2Fit
from thresher.sparse_rf.settings import SparseRFSettings
from thresher.working_set.result import Found

#: λ falls by this factor, at most this often; a path ends after this many values without a better score.
_FALL, STAGES, _PATIENCE = 0.5, 18, 2
#: The duality gap of the path: its weights only choose features.
_TOLERANCE = 1e-2
#: A path also ends with this multiple of the features that may be kept, by whether there are several outputs: most of
#: their time is that of the last l1 problems, each of which sees the features of one output only.
_SURPLUS = {False: 2.0, True: 1.5}
#: The l2 penalties, as shares of the weight of the rows; larger ones for few rows. The factor between numbers of
#: features.
_LARGE_RIDGES = (3e-1, 1e-1, 3e-2)
_RIDGES, _SIZES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6), 0.65
#: The rows that choose them.
_MAX_ROWS = 6000
_FEWEST, _ROWS_PER_FEATURE = 100, 8
#: The most features, by whether there are several outputs.
_MOST = {False: 500, True: 1000}


def lam_path(
    family: RandomFeatureColumns, settings: SparseRFSettings, targets: Floats, weights: Floats, pool: _native.ThreadPool
) -> tuple[float, ...]:
    """A path of λ from the first features: half of the λ that keeps none of them, and so on downwards."""
    engine = SparseRFEngine(family, replace(settings, k=None, lam=1.0), targets, weights, pool)
    ids = family.draw(settings.drawn, 0)
    columns = family.columns(ids)
    top = 0.0
    for problem in engine.problems:
        problem.add(ids, columns)
        top = max(top, problem.steepest())
    top = top if top > 0 else 1.0
    return tuple(top * _FALL**stage for stage in range(1, STAGES + 1))


class AutoEngine:
    """Algorithm 1 along a path of λ, one iteration per `step`, and the choice at its end.

    Parameters
    ----------
    family : RandomFeatureColumns
    held : HeldOut
        The held-out rows, and the targets and weights of all rows.
    room : int, optional
        Bytes for the columns of the l2 fits: a sample of the rows, if they take more.
    most : int, optional
        The most features that the memory has room for.
    """

    def __init__(
        self,
        family: RandomFeatureColumns,
        settings: SparseRFSettings,
        held: HeldOut,
        pool: _native.ThreadPool,
        *,
        room: int | None = None,
        most: int | None = None,
    ) -> None:
        self.family, self.settings, self.held, self.pool, self._room = family, settings, held, pool, room
        learned = held.learned
        path = lam_path(family, settings, held.targets, learned, pool)
        tolerance = max(settings.tol, _TOLERANCE)
        self._inner = SparseRFEngine(
            family, replace(settings, k=None, lam=path, tol=tolerance), held.targets, learned, pool
        )
        rows = int((held.weights > 0).sum())
        #: The most features of the result.
        self._several = len(held.targets) > 1
        self.most = settings.k or min(_MOST[self._several], max(_FEWEST, rows // _ROWS_PER_FEATURE))
        self.most = self.most if most is None else max(1, min(self.most, most))
        self._means: list[float] = []  # the loss on held-out rows after each λ, and the mistakes
        self._mistakes: list[float] = []
        self._best: tuple[Ids, Floats] = (np.empty(0, np.uint64), np.empty((len(held.targets), 0)))
        self._final: L2Fit | None = None
        #: What the held-out rows chose.
        self.chosen: dict[str, float] = {}

    @property
    def problems(self) -> list[Any]:
        """The l1 problem of each output."""
        return self._inner.problems

    @property
    def targets(self) -> Floats:
        """The targets, outputs x rows."""
        return self.held.targets

    @property
    def rounds(self) -> int:
        """Completed iterations."""
        return self._inner.rounds

    @property
    def path(self) -> list[dict[str, float]]:
        """One entry per iteration, with the score on held-out rows."""
        scores = [self.held.score(mean) for mean in self._mistakes]
        return [{**entry, "score": score} for entry, score in zip(self._inner.path, scores, strict=False)]

    @property
    def stage_done(self) -> bool:
        """Whether the last iteration was the last one of its λ."""
        return self._inner.stage_done

    def step(self) -> bool:
        """Run one iteration; return False at the end of the path."""
        means = self._means
        worse = bool(means) and len(means) - 1 - int(np.argmin(means)) > _PATIENCE * self.settings.iterations
        full = bool(means) and self._inner.path[-1]["features"] > _SURPLUS[self._several] * self.most
        if worse or full or not self._inner.step():
            return False
        margins = np.array([problem.margins[self.held.mask] + problem.intercept for problem in self.problems])
        means.append(self.held.mean(self.held.losses(margins)))
        self._mistakes.append(self.held.mean(self.held.mistakes(margins)))
        if means[-1] <= min(means):
            self._best = self._inner.merged()
            self.chosen["lam"] = self._inner.path[-1]["lam"]
        self._final = None
        return True

    def found(self) -> Found:
        """The chosen features, with weights fitted on all rows."""
        fit = self._final = self._final or self._choose()
        weights = fit.weights
        order = np.lexsort((fit.ids, -np.sqrt((weights**2).sum(axis=0))))
        counts = np.full(len(fit.ids), self.targets.shape[1], np.uint64)
        return Found(fit.ids[order], weights[:, order], counts, fit.intercepts)

    def held_out_margins(self, held: NDArray[np.bool_]) -> Floats:
        """Fit the features of the last `found` without the rows of a mask; the margins of these, outputs x rows."""
        assert self._final is not None
        return self._final.without(held)

    @property
    def fits_all_rows(self) -> bool:
        """Whether the last fit saw all rows, not a sample."""
        return self._final is not None and self._final.rows == len(self.held.mask)

    def _choose(self) -> L2Fit:
        """Choose the l2 penalty and the number of features, and fit them on all rows."""
        keys, weights = self._best
        order = np.lexsort((keys, -np.sqrt((weights**2).sum(axis=0))))[: self.most]
        keys, weights = keys[order], weights[:, order]
        which = self.held.sample(min(_MAX_ROWS, self._rows_that_fit(len(keys))))
        some = self.held.rows(which)
        fit = L2Fit(self.family, self.settings, keys, some.targets, some.learned, self.pool, which)
        fit.start(weights)
        ridges = (*_LARGE_RIDGES, *_RIDGES) if some.few else _RIDGES
        best: Floats | None = None
        for penalty in ridges:
            fit.solve(penalty, roughly=True)
            losses = some.losses(fit.margins(some.mask))
            if best is not None and not some.mean(losses) < some.mean(best):
                break
            best, ridge, weights = losses, penalty, fit.weights
        assert best is not None
        fit.start(weights)
        size, start = self._size(fit, some, ridge, best)
        self.chosen |= {"l2": ridge, "features": size}
        which = self.held.sample(self._rows_that_fit(size))
        some = self.held.rows(which)
        final = L2Fit(self.family, self.settings, keys[:size], some.targets, some.weights, self.pool, which)
        final.start(start)
        final.solve(ridge)
        return final

    def _rows_that_fit(self, features: int) -> int:
        """The rows whose columns of these features fit, with a copy of some of them."""
        rows = len(self.held.mask)
        return rows if self._room is None else min(rows, max(1, self._room // (8 * max(1, features))))

    def _size(self, fit: L2Fit, some: HeldOut, ridge: float, whole: Floats) -> tuple[int, Floats]:
        """The smallest number of features, strongest first, within one standard error of the best; their weights.

        With few rows a standard error is so wide that most of the accuracy would be given up: the best number then.
        ``whole`` are the losses with all features.
        """
        sizes, losses, weights, within = [len(fit.ids)], [whole], [fit.weights], [True]
        while any(within[-2:]) and 1 <= int(sizes[-1] * _SIZES) < sizes[-1]:
            sizes.append(int(sizes[-1] * _SIZES))
            fit.shorten(sizes[-1])
            fit.solve(ridge, roughly=True)
            weights.append(fit.weights)
            losses.append(some.losses(fit.margins(some.mask)))
            means = [some.mean(one) for one in losses]
            best = int(np.argmin(means))
            errors = [0.0 if some.few else some.error(one - losses[best]) for one in losses]
            within = [mean - means[best] <= error for mean, error in zip(means, errors, strict=True)]
        at = max(i for i, near in enumerate(within) if near)
        return sizes[at], weights[at]

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that `restore` needs, besides the data."""
        keys, weights = self._best
        best = {"best_keys": keys, "best_weights": weights, "means": np.array([self._means, self._mistakes])}
        return {**self._inner.state(), **best, "best_lam": np.array([self.chosen.get("lam", 0.0)])}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore the result of `state`; KeyError or ValueError if it does not fit this engine."""
        self._inner.restore(state)
        if state["means"].shape != (2, self._inner.rounds):
            raise FileFormatError("inconsistent scores of held-out rows")
        self._means, self._mistakes = state["means"].tolist()
        self._best = (state["best_keys"], state["best_weights"])
        self.chosen = {"lam": float(state["best_lam"][0])}
