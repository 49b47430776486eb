"""The refit that all methods share (`thresher.refit`), over the columns of a family."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Family, Floats, Ids
from thresher.fgm.settings import FGMSettings
from thresher.refit import Columns, Model, fit_all
from thresher.run import one_vs_rest_loss
from thresher.working_set.result import Found


class L2Refit:
    """Fits the features of some elements of a family with an l2 penalty only.

    Parameters
    ----------
    targets : array of shape (outputs, rows)
        The targets, encoded for the loss.
    weights : array of shape (rows,)
        The weight of each row.
    """

    def __init__(
        self, family: Family, settings: FGMSettings, targets: Floats, weights: Floats, *, multilabel: bool
    ) -> None:
        self.family = family
        self.model = Model(
            one_vs_rest_loss(settings.loss, len(targets), multilabel=multilabel),
            len(targets),
            multilabel,
            settings.fit_intercept,
        )
        self.y = row_targets(self.model, targets)
        self._weights = weights
        self._last = np.empty(0, np.uint64)

    def columns(self, ids: Ids) -> Columns:
        """The columns of all features of these elements, row by row."""
        found = self.family.columns(ids)
        width = len(found.indptr) - 1
        of_entry = np.repeat(np.arange(width, dtype=np.uint32), np.diff(found.indptr))
        # NumPy sorts short integers by their digits, in linear time.
        short = found.rows.astype(np.uint16) if len(self._weights) <= 1 << 16 else found.rows
        by_row = np.argsort(short, kind="stable")
        counts = np.bincount(found.rows, minlength=len(self._weights))
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        values = np.asarray(found.values, np.float32)[by_row]
        return Columns(indptr, of_entry[by_row], values, self.y, self._weights, width)

    def found(self, ids: Ids, penalty: float, keep: Ids) -> Found:
        """The features of these elements with their weights, strongest first; those of weight 0 only if to ``keep``."""
        self._last = ids
        rows = self.columns(ids)
        keys = self.family.features(ids)[1]
        weights, intercepts = fit_all(rows, penalty, self.model)
        weights = np.atleast_2d(weights)
        norms = np.sqrt((weights**2).sum(axis=0))
        order = np.lexsort((keys, -norms))
        order = order[(norms[order] > 0) | np.isin(keys[order], keep)]
        counts = np.bincount(rows.columns, minlength=rows.width).astype(np.uint64)
        return Found(keys[order], weights[:, order], counts[order], intercepts)

    def held_out_margins(self, held: NDArray[np.bool_], penalty: float) -> Floats:
        """Fit the elements of the last `found` without the rows of a mask; the margins of these, outputs x rows."""
        rows = self.columns(self._last)
        weights, intercepts = fit_all(rows.take(np.flatnonzero(~held)), penalty, self.model)
        margins: Floats = rows.take(np.flatnonzero(held)).margins(weights, intercepts)
        return np.atleast_2d(margins.T)


def row_targets(model: Model, targets: Floats) -> Floats:
    """The targets as `thresher.refit` takes them: one number or class a row, or one for each label of a row."""
    if model.multilabel:
        return np.ascontiguousarray(targets.T)
    return np.ascontiguousarray(targets[0] if len(targets) == 1 else targets.argmax(axis=0).astype(np.float64))
