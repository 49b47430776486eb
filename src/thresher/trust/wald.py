"""The fit of the candidates alone on a half of the rows: each weight divided by its standard error.

Two classes, and each of several against the rest, have a logistic model; numbers have a linear one. The fit has no
penalty, except where it would not be finite: candidates that are collinear, or that separate the classes, have a ridge
of `RIDGE`, in units in which each column has a root mean square of 1. That is a tenth of what one value adds to the
information. The standard errors are those of the penalised fit.

Everything is summed by one thread in the order of the rows (`native/solvers/information.hpp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.refit import Columns

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: The ridge of a column that needs one: ½ `RIDGE` w² is added to the sum of the losses.
RIDGE = 0.1
#: Matrices of k x k numbers that exist at a time, an upper limit.
MATRICES = 3
#: A column of which the others leave at most this share is collinear with them.
_COLLINEAR = 1e-9
#: A column whose variance grew by this factor on the way to the optimum separates the classes.
_SEPARATED = 1e6
_MAX_STEPS, _TOLERANCE = 60, 1e-9


class HalfFit(NamedTuple):
    """The fit of a half.

    Attributes
    ----------
    z : array of shape (outputs, units)
        The statistics of each unit: a feature, or each of a group of features in turn.
    correlation : array of shape (outputs, outputs)
        The correlation of the residuals between outputs.
    ridged : array of bool of shape (features,)
        The features that have a ridge.
    """

    z: Floats
    correlation: Floats
    ridged: Bools


class Fit(NamedTuple):
    """The fit of one output: the point, the last of it the intercept; the factor there, ridges, and residuals."""

    point: Floats
    factor: _native.SymmetricFactor
    penalty: Floats
    residuals: Floats
    variance: float  # of the residuals; 1 for classes

    def statistics(self) -> Floats:
        """Each weight divided by its standard error; 0 for a column that does not vary."""
        variances = self.variance * _variances(self.factor, self.penalty)[:-1]
        errors = np.sqrt(np.maximum(variances, 0.0))
        return np.divide(self.point[:-1], errors, out=np.zeros(len(errors)), where=errors > 1e-150)

    def group_statistics(self, groups: Sequence[NDArray[np.intp]]) -> Floats:
        """The weights of each group of columns in directions that are uncorrelated and have a variance of 1."""
        found = np.zeros(len(self.point) - 1)
        for group in groups:
            covariance = self.variance * self._covariance(group)
            found[group] = _whitening(covariance, 1e-6).forward(np.ascontiguousarray(self.point[group]))
        return found

    def _covariance(self, group: NDArray[np.intp]) -> Floats:
        columns = np.array([_column(self.factor, at) for at in group])
        ridge = self.penalty * columns
        shrunk = np.array([[(one * other).sum() for other in columns] for one in ridge])
        found: Floats = columns[:, group] - shrunk
        return found


def fit_half(
    rows: Columns, targets: Floats, *, linear: bool, groups: Sequence[NDArray[np.intp]] | None = None
) -> HalfFit:
    """Fit the candidates to each output; ``targets`` is (rows, outputs), 0 and 1 for classes.

    ``groups`` are the columns of each group, whose statistics are then those of the group.
    """
    native = _native.CandidateRows(rows.indptr, rows.columns, rows.values, *rows.units())
    weight = rows.weight / max(rows.weight.mean(), 1e-300)
    z, residuals, ridged = [], [], np.zeros(rows.width, np.bool_)
    for target in np.ascontiguousarray(targets.T):
        fit = (_linear if linear else _logistic)(native, target, weight)
        z.append(fit.statistics() if groups is None else fit.group_statistics(groups))
        residuals.append(fit.residuals)
        ridged |= fit.penalty[:-1] > 0
        del fit
    lengths = [np.sqrt((one * one).sum()) or 1.0 for one in residuals]
    scaled = [one / length for one, length in zip(residuals, lengths, strict=True)]
    correlation = np.array([[(one * other).sum() for other in scaled] for one in scaled])
    return HalfFit(np.array(z), correlation, ridged)


def whitened(first: HalfFit, second: HalfFit) -> tuple[Floats, Floats]:
    """The statistics of two halves in outputs that are uncorrelated for a feature without effect."""
    if len(first.z) == 1:
        return first.z, second.z
    # The residuals of several classes nearly add up to 0: the last one says little that the others do not.
    factor = _whitening(0.5 * (first.correlation + second.correlation), 0.01)
    one, other = (
        np.array([factor.forward(np.ascontiguousarray(column)) for column in fit.z.T]).T for fit in (first, second)
    )
    return one, other


def _whitening(matrix: Floats, tolerance: float) -> _native.SymmetricFactor:
    return _native.SymmetricFactor(np.ascontiguousarray(matrix).ravel(), len(matrix), tolerance)


def _column(factor: _native.SymmetricFactor, at: int) -> Floats:
    """A column of the inverse."""
    unit = np.zeros(factor.size)
    unit[at] = 1.0
    return factor.solve(unit)


def _variances(factor: _native.SymmetricFactor, penalty: Floats) -> Floats:
    """The variances of the weights: A⁻¹ of an unpenalised fit, A⁻¹ (A - R) A⁻¹ with ridges R."""
    found = factor.inverse_diagonal()
    for at in np.flatnonzero(penalty):
        found -= penalty[at] * _column(factor, int(at)) ** 2
    return found


def _collinear(factor: _native.SymmetricFactor) -> Bools:
    """The columns that are combinations of others, and these others; never the intercept."""
    found = np.zeros(factor.size, np.bool_)
    for column in factor.dependent:
        found[[column, *factor.involved(column)]] = True
    found[-1] = False
    return found


def _logistic(rows: _native.CandidateRows, target: Floats, weight: Floats) -> Fit:
    """A logistic model. Columns that separate the classes by themselves, such as rare words, have a ridge at once."""
    separating = rows.separating(target) > 0
    share = float((weight * target).sum() / weight.sum())
    start = np.zeros(len(separating) + 1)
    start[-1] = np.log(share / (1.0 - share))
    at_start = weight * share * (1.0 - share)
    penalty = np.zeros(len(start))
    collinear = _collinear(rows.factor(at_start, penalty, _COLLINEAR))
    penalty[:-1][separating] = RIDGE
    penalty[collinear] = RIDGE
    before = rows.factor(at_start, penalty, 0.0).inverse_diagonal()
    for _ in range(3):
        fit = _newton(rows, target, weight, penalty, start)
        grown = fit.factor.inverse_diagonal() > _SEPARATED * before
        grown[fit.factor.dependent] = True
        grown &= penalty == 0
        if not grown[:-1].any():
            return fit
        penalty[:-1][grown[:-1]] = RIDGE
        del fit
    penalty[:-1] = RIDGE
    return _newton(rows, target, weight, penalty, start)


def _newton(rows: _native.CandidateRows, target: Floats, weight: Floats, penalty: Floats, start: Floats) -> Fit:
    """The optimum of the penalised likelihood, by Newton's method with halved steps."""
    point, margins = start, rows.margins(start)

    def objective(at: Floats, margins: Floats) -> float:
        return float((weight * (np.logaddexp(0.0, margins) - target * margins)).sum() + 0.5 * (penalty * at**2).sum())

    value, last = objective(point, margins), False
    for _ in range(_MAX_STEPS):
        chance = 0.5 * (1.0 + np.tanh(0.5 * margins))
        factor = rows.factor(weight * chance * (1.0 - chance), penalty, 0.0)
        if last:
            break
        downhill = rows.gradient(weight * (target - chance)) - penalty * point
        step = factor.solve(downhill)
        last = float((downhill * step).sum()) < _TOLERANCE
        size = 1.0
        while size > 1e-6:
            there = point + size * step
            margins_there = rows.margins(there)
            reached = objective(there, margins_there)
            if reached <= value:
                point, margins, value = there, margins_there, reached
                break
            size *= 0.5
        else:
            last = True
    return Fit(point, factor, penalty.copy(), target - chance, 1.0)


def _linear(rows: _native.CandidateRows, target: Floats, weight: Floats) -> Fit:
    """Least squares."""
    width = len(rows.gradient(weight))
    penalty = np.zeros(width)
    factor = rows.factor(weight, penalty, _COLLINEAR)
    if factor.dependent:
        penalty[_collinear(factor)] = RIDGE
        factor = rows.factor(weight, penalty, 0.0)
    point = factor.solve(rows.gradient(weight * target))
    residuals = target - rows.margins(point)
    variance = float((weight * residuals**2).sum()) / max(1, len(target) - width)
    return Fit(point, factor, penalty, residuals, max(variance, 1e-300))
