"""The model of the features that stay: fitted to all rows, with a penalty that one half chooses for the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.refit import Columns, Model, choose_refit, fit_all
from thresher.run import calibrated
from thresher.selection.calibration import Calibration
from thresher.selection.selection import Selection
from thresher.trust.split import outputs_of

#: The fewest rows that calibrate probabilities.
_ENOUGH_TO_CALIBRATE = 200
#: The penalty if one half has no rows.
_PENALTY = 1e-3


def final_fit(chosen: Selection, halves: tuple[Columns, Columns], *, fit_intercept: bool, calibrate: bool) -> Selection:
    """The features of ``chosen`` with weights fitted to the rows of both halves, strongest first."""
    model = Model(chosen.loss, len(chosen.intercept), chosen.multilabel, fit_intercept)
    train, held = halves
    calibration, penalty = None, _PENALTY
    if len(chosen):
        refit = choose_refit(train, held, model) if held.rows else None
        if refit is not None:
            penalty = refit.penalty
            if calibrate and chosen.classes is not None and held.rows >= _ENOUGH_TO_CALIBRATE:
                margins = held.margins(refit.weights, refit.intercept)
                calibration = Calibration.fit(chosen.loss, margins, held.y, held.weight)
    rows = joined(train, held)
    if len(chosen):
        weights, intercept = fit_all(rows, penalty, model)
    else:
        weights, intercept = chosen.weights, _constant(chosen, rows, fit_intercept)
    order = _by_strength(weights if chosen.scales is None else weights * chosen.scales, chosen.keys)
    arrays: dict[str, Any] = {
        name: array[..., order]
        for name in ("keys", "q_values", "frequencies", "centres", "scales")
        if (array := getattr(chosen, name)) is not None
    }
    counts = np.bincount(rows.columns, minlength=rows.width).astype(np.uint64)
    found = replace(
        chosen,
        names=[chosen.names[i] for i in order],
        weights=np.ascontiguousarray(weights[..., order]),
        bounds=np.zeros(len(order)),
        counts=counts[order],
        intercept=intercept + 0.0,
        **arrays,
    )
    return calibrated(found, calibration)


def arrays_of(selection: Selection) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays with a number for each feature, but the keys, q-values and frequencies."""
    for name in ("weights", "bounds", "counts", "centres", "scales"):
        if (array := getattr(selection, name)) is not None:
            yield name, array


def some_features(selection: Selection, which: NDArray[np.bool_]) -> Selection:
    """Some features of a selection."""
    names = [name for name, stays in zip(selection.names, which, strict=True) if stays]
    arrays: dict[str, Any] = {name: array[..., which] for name, array in arrays_of(selection)}
    for name in ("keys", "q_values", "frequencies"):
        if (array := getattr(selection, name)) is not None:
            arrays[name] = array[which]
    return replace(selection, names=names, **arrays)


def joined(first: Columns, second: Columns) -> Columns:
    """The rows of both."""
    parts = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("columns", "values", "y", "weight")
    }
    indptr = np.concatenate([first.indptr, second.indptr[1:] + first.indptr[-1]])
    return Columns(indptr, **parts, width=first.width)


def some_columns(rows: Columns, places: NDArray[np.intp]) -> Columns:
    """Some of the columns; ``places`` are their numbers, in the order that they are to have."""
    number = np.full(rows.width, len(places), np.uint32)
    number[places] = np.arange(len(places), dtype=np.uint32)
    renumbered = number[rows.columns]
    stays = renumbered < len(places)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(stays)])[rows.indptr]
    return rows._replace(indptr=indptr, columns=renumbered[stays], values=rows.values[stays], width=len(places))


def _by_strength(weights: NDArray[np.float64], keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    return np.lexsort((keys, -np.linalg.norm(np.atleast_2d(weights), axis=0)))


def _constant(chosen: Selection, rows: Columns, fit_intercept: bool) -> NDArray[np.float64]:
    """The intercept of a model without features: the mean, or the log odds of each class."""
    if not fit_intercept:
        return np.zeros(len(chosen.intercept))
    share = np.average(outputs_of(chosen, rows), axis=0, weights=rows.weight)
    if chosen.classes is None:
        return np.asarray(share)
    share = np.clip(share, 1e-6, 1.0 - 1e-6)
    odds: NDArray[np.float64] = np.log(share) if chosen.loss.name == "softmax" else np.log(share / (1.0 - share))
    return odds
