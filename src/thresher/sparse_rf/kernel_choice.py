"""Chooses the scale of the inputs and the width of the kernel on held-out rows.

The candidates are a few multiples of 1 / (number of inputs × their mean variance), for inputs divided by their standard
deviations, heavy-tailed ones on a logarithmic scale; then for all of them on their own scale; and, if all inputs may
have one unit, as pixels have, for the inputs as they are. Each candidate has a few
hundred random features, whose ridge regression on the targets takes one matrix of products, whatever the number of
classes. The smallest squared error on held-out rows wins.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from thresher import _native
from thresher.columns.random_features import InputScaling
from thresher.columns.row_store import Rows
from thresher.columns.types import Floats
from thresher.core.feature_space import FeatureSpace, RandomFeatureSpec
from thresher.display import quoted
from thresher.errors import SettingsError
from thresher.sparse_rf.feature_columns import RandomFeatureColumns
from thresher.sparse_rf.held_out import HeldOut

log = logging.getLogger(__name__)

#: The key of each input, ascending, and its factor.
Factors = tuple[tuple[int, float], ...]

#: Multiples of the width of the variance rule.
MULTIPLES = (0.0625, 0.25, 1.0, 4.0)
#: The ridge penalties, as shares of the weight of the rows.
_RIDGES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
_FUNCTIONS, _MAX_ROWS = 300, 4000
#: With more inputs than this they are not scaled one by one: a model stores a factor for each.
MAX_SCALED = 4096
#: An input is constant if its variance is at most this share of its mean square: the rounding of single precision.
_CONSTANT = 1e-12
#: An input is heavy-tailed if its kurtosis is above this (a normal one has 3): random features of its values would need
#: to tell apart both the many rows within a standard deviation and the few at ten or forty.
_HEAVY = 10.0
#: The logarithm of a heavy-tailed input starts to bend at a tenth of its standard deviation.
_BENT = 10.0
#: Inputs of one unit: the largest standard deviation is at most this multiple of the median.
_COMPARABLE = 10.0


class InputScales(NamedTuple):
    """1 / standard deviation of each input, 0 for a constant one, and the keys of the heavy-tailed ones."""

    factors: Factors
    heavy: tuple[int, ...] = ()

    @classmethod
    def of(cls, rows: Rows, weights: Floats, *, tails: bool) -> InputScales | None:
        """The scales of the inputs of some rows; None if there are too many inputs."""
        keys, variances, squares, kurtoses = rows.moments(weights, tails=tails)
        if len(keys) > MAX_SCALED:
            return None
        varies = variances > _CONSTANT * squares
        factors = np.where(varies, 1.0 / np.sqrt(np.where(varies, variances, 1.0)), 0.0)
        heavy = () if kurtoses is None else tuple(keys[varies & (kurtoses > _HEAVY)].tolist())
        return cls(tuple(zip(keys.tolist(), factors.tolist(), strict=True)), heavy)

    def spec(self, plain: RandomFeatureSpec, rows: Rows, weights: Floats, *, logs: bool) -> RandomFeatureSpec:
        """Random features of inputs on these scales, of the width of the variance rule."""
        if not (logs and self.heavy):
            return replace(
                plain, gamma=1.0 / max(1, sum(factor > 0 for _, factor in self.factors)), factors=self.factors
            )
        heavy = set(self.heavy)
        factors = tuple((key, factor * _BENT if key in heavy else factor) for key, factor in self.factors)
        variances = rows.moments(weights, InputScaling(factors, self.heavy).apply).variances
        return replace(plain, gamma=1.0 / max(float(variances.sum()), 1e-300), factors=factors, logs=self.heavy)


def only_these(rows: Rows, spec: RandomFeatureSpec) -> Factors:
    """A factor of 1 for each input of the rows: predictions then ignore inputs that were dropped."""
    keys = rows.inputs()
    if len(keys) > MAX_SCALED or spec.function is not None:
        what = "a function of your own" if spec.function is not None else f"{len(keys):,} inputs"
        raise SettingsError(
            f"`drop` cannot keep features out of predictions with {what}: random features of at most {MAX_SCALED:,} "
            "inputs list theirs. Remove the features from the data instead"
        )
    return tuple((key, 1.0) for key in sorted(keys.tolist()))


def comparable(factors: Factors) -> bool:
    """Whether the inputs may share a unit, such as pixels: no standard deviation is far above the others."""
    deviations = [1.0 / factor for _, factor in factors if factor > 0]
    return bool(deviations) and max(deviations) <= _COMPARABLE * float(np.median(deviations))


def report_constant(space: FeatureSpace, factors: Factors) -> None:
    """Name the inputs that are constant."""
    constant = np.array([key for key, factor in factors if factor == 0], np.uint64)
    if len(constant):
        names = [quoted(name) for name in space.names(constant[:5], {})]
        more = f" and {len(constant) - 5} more" if len(constant) > 5 else ""
        log.info("constant inputs, without effect: %s%s", ", ".join(names), more)


def variance_rule(rows: Rows, size: int | None, weights: Floats | None = None) -> float:
    """1 / (number of inputs × their mean variance)."""
    return float(1.0 / max((size or len(rows.inputs())) * rows.variance(weights), 1e-300))


class KernelChoice:
    """Scores random features of a kernel on held-out rows.

    Parameters
    ----------
    space : FeatureSpace
        The space of the inputs.
    rows : Rows
    held : HeldOut
    """

    def __init__(self, space: FeatureSpace, rows: Rows, held: HeldOut, pool: _native.ThreadPool) -> None:
        which = held.sample(_MAX_ROWS)
        self._held = held.rows(which)
        self._space = space
        self._rows = rows.take(which)
        self._pool = pool

    def best(self, bases: Sequence[RandomFeatureSpec]) -> RandomFeatureSpec:
        """The random features of the best width around the first base.

        Another base, at this multiple, wins if it is better by a standard error.

        Parameters
        ----------
        bases : sequence of RandomFeatureSpec
            The random features of each scale of the inputs, with the width of the variance rule.
        """
        first, *others = bases
        widths = [replace(first, gamma=first.gamma * multiple) for multiple in MULTIPLES]
        losses = [self._losses(candidate) for candidate in widths]
        at = int(np.argmin([self._held.mean(one) for one in losses]))
        chosen, least = widths[at], losses[at]
        for base in others:
            other = replace(base, gamma=base.gamma * MULTIPLES[at])
            found = self._losses(other)
            if self._held.mean(least) - self._held.mean(found) > self._held.error(least - found):
                chosen, least = other, found
        return chosen

    def _losses(self, spec: RandomFeatureSpec) -> Floats:
        """The squared error of each held-out row, by the best ridge regression."""
        held = self._held
        columns = RandomFeatureColumns(self._space.with_random_features(spec), self._rows, self._pool)
        features = columns.columns(columns.draw(_FUNCTIONS, 0))
        assert features is not None
        weights = held.learned
        mean = held.targets @ weights / weights.sum()
        y = (held.targets - mean[:, None]).astype(np.float32)
        every = np.concatenate([features, np.ones((1, len(weights)), np.float32), y])
        products = _native.column_products(features, every, weights, self._pool).reshape(_FUNCTIONS, -1)
        sums, right = products[:, _FUNCTIONS], np.ascontiguousarray(products[:, _FUNCTIONS + 1 :].T)
        means = sums / weights.sum()
        gram = products[:, :_FUNCTIONS] - np.outer(means, sums)
        tested = np.ascontiguousarray(features[:, held.mask])
        best: Floats | None = None
        for ridge in _RIDGES:
            ridged = gram + ridge * weights.sum() * np.eye(_FUNCTIONS)
            solved = _native.solve_positive_definite(ridged, right).reshape(right.shape)
            margins = [
                _native.weighted_sum(tested, np.ascontiguousarray(w), float(b - means @ w))
                for w, b in zip(solved, mean, strict=True)
            ]
            found = np.asarray(((np.array(margins) - held.targets[:, held.mask]) ** 2).mean(axis=0))
            if best is not None and not held.mean(found) < held.mean(best):
                break
            best = found
        assert best is not None
        return best
