"""Calibration: from margins to probabilities that agree with frequencies.

Two classes have a logistic function of the margin, :math:`p = 1 / (1 + \\exp(-(a m + b)))`, whose parameters are fitted
by Platt's method [1]_ with Newton steps [2]_; with several labels a row, each label has its own. Few rows say too
little about b, which is 0 for them. Several classes have a temperature, :math:`p = \\mathrm{softmax}(m / T)` [3]_.
Both fit Platt's smoothed targets, so they are finite for classes that a threshold separates and for rows of one class,
and neither inverts the order of the margins. Some thousand held-out rows may show that the odds of two classes are no
logistic function: then a curve bends them (`thresher.selection.calibration_curve`).

.. [1] J. Platt, "Probabilistic outputs for support vector machines", 1999.
.. [2] H.-T. Lin, C.-J. Lin, R. Weng, "A note on Platt's probabilistic outputs for support vector machines", 2007.
.. [3] C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of modern neural networks", ICML 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from thresher.core.losses import Loss
from thresher.core.scores.reliability import Reliability
from thresher.errors import DataError, SettingsError
from thresher.selection.calibration_curve import ENOUGH_ROWS, Knots, check_knots, fit_curve, flipped, on_curve

Floats = NDArray[np.float64]
FittedOn = Literal["held-out rows", "progressive margins"]

_KINDS = ("logistic", "softmax")
_FITTED_ON = ("held-out rows", "progressive margins")
_MAX_STEPS = 100
#: The rows from which b is fitted: with fewer, predictions at p = 1/2 were worse than those at m = 0.
_ENOUGH_FOR_INTERCEPT = 1000
#: Larger margins are cut, so that sums of them stay finite.
_LARGEST = 1e100


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The function from margins to probabilities.

    Attributes
    ----------
    kind : {"logistic", "softmax"}
        The logistic of a m + b, or the softmax of m / T.
    slopes : tuple of float
        a for each output, at least 0; for softmax 1 / T alone.
    intercepts : tuple of float
        b for each output; for softmax 0.
    rows : int
        The number of rows it was fitted on.
    ece, log_loss : float
        The expected calibration error (15 bins) and the log loss of the probabilities of these rows.
    fitted_on : {"held-out rows", "progressive margins"}
        Rows that the model was not fitted on, or margins from before the model learned each row.
    knots : tuple of (float, float)
        The curve of the log odds a m + b of two classes; empty: they are not bent. ``ece`` and ``log_loss`` are then
        those of curves fitted on other rows.
    """

    kind: Literal["logistic", "softmax"]
    slopes: tuple[float, ...]
    intercepts: tuple[float, ...]
    rows: int
    ece: float
    log_loss: float
    fitted_on: FittedOn = "held-out rows"
    knots: Knots = ()

    @classmethod
    def fit(
        cls,
        loss: Loss,
        margins: NDArray[Any],
        y: NDArray[Any],
        weight: NDArray[Any] | None = None,
        *,
        rows: int | None = None,
        fitted_on: FittedOn = "held-out rows",
    ) -> Self:
        """Fit margins to the targets of a loss.

        Parameters
        ----------
        loss : Loss
            Only its task matters.
        margins : array of shape (rows,), (rows, n_classes) or (rows, n_labels)
        y : array of shape (rows,), or (rows, n_labels)
            -1 and +1 for two classes and for labels, otherwise class numbers.
        weight : array of shape (rows,), optional
            The weights of the rows. A row may stand for all those in a bin of a histogram of margins.
        rows : int, optional
            The number of rows that these stand for. Default: their own number.
        """
        margins, y = np.asarray(margins, dtype=np.float64), np.asarray(y)
        weight = np.ones(len(margins)) if weight is None else np.asarray(weight, dtype=np.float64)
        if loss.task == "real":
            raise SettingsError(f"the {loss} loss is for numbers, which have no probabilities")
        if np.isnan(margins).any():
            raise DataError("margins that are NaN cannot be calibrated.")
        if not float(weight.sum()) > 0:
            raise DataError("there are no rows to calibrate probabilities on.")
        margins = np.clip(margins, -_LARGEST, _LARGEST)
        logistic = _platt if (len(margins) if rows is None else rows) >= _ENOUGH_FOR_INTERCEPT else _slope
        slopes: tuple[float, ...]
        intercepts: tuple[float, ...]
        if loss.task == "classes":
            kind, slopes, intercepts = "softmax", (_inverse_temperature(margins, y.astype(np.intp), weight),), (0.0,)
        elif margins.ndim == 2:
            kind, (slopes, intercepts) = "logistic", _each_label(margins, y > 0, weight, logistic)
        else:
            kind, (slope, intercept) = "logistic", logistic(margins, y > 0, weight)
            slopes, intercepts = (slope,), (intercept,)
        fitted = cls(
            kind=kind,  # type: ignore[arg-type]
            slopes=slopes,
            intercepts=intercepts,
            rows=len(margins) if rows is None else rows,
            ece=0.0,
            log_loss=0.0,
            fitted_on=fitted_on,
        )
        return fitted._measured(margins, y, weight)

    @classmethod
    def of_own_probabilities(
        cls, loss: Loss, margins: NDArray[Any], y: NDArray[Any], weight: NDArray[Any] | None = None
    ) -> Self:
        """The probabilities of margins fitted with the logistic loss or softmax: a = 1 and b = 0, or T = 1."""
        softmax = loss.task == "classes"
        outputs = margins.shape[1] if margins.ndim == 2 and not softmax else 1
        own = cls(
            kind="softmax" if softmax else "logistic",
            slopes=(1.0,) * outputs,
            intercepts=(0.0,) * outputs,
            rows=len(margins),
            ece=0.0,
            log_loss=0.0,
        )
        return own._measured(margins, y, weight)

    def bent(self, margins: NDArray[Any], y: NDArray[Any], weight: NDArray[Any] | None = None) -> Self:
        """The same with a curve, if that clearly gains on the rows it was fitted on: of two classes, some thousand."""
        if self.kind != "logistic" or margins.ndim != 1 or len(margins) < ENOUGH_ROWS or not self.slopes[0] > 0:
            return self
        weight = np.ones(len(margins)) if weight is None else np.asarray(weight, dtype=np.float64)
        curve = fit_curve(self._log_odds(margins), np.asarray(y) > 0, weight)
        if curve is None:
            return self
        knots, log_odds = curve
        return type(self)(**{**asdict(self), "knots": knots})._with_errors(_chances(log_odds), y, weight)

    def _measured(self, margins: Floats, y: NDArray[Any], weight: NDArray[Any] | None) -> Self:
        return self._with_errors(self.probabilities(margins), y, weight)

    def _with_errors(self, chances: Floats, y: NDArray[Any], weight: NDArray[Any] | None) -> Self:
        found = Reliability()
        found.add(chances, y, weight)
        return type(self)(**{**asdict(self), "ece": found.ece, "log_loss": found.log_loss})

    def probabilities(self, margins: NDArray[Any]) -> Floats:
        """The probabilities, rows x classes (two for margins of one output) or rows x labels."""
        margins = np.asarray(margins, dtype=np.float64)
        if self.kind == "softmax":
            return _softmax(self.slopes[0] * margins)
        if margins.ndim == 1:
            return _chances(self._log_odds(margins))
        labels: Floats = 0.5 + 0.5 * np.tanh(0.5 * (np.array(self.slopes) * margins + np.array(self.intercepts)))
        return labels

    def _log_odds(self, margins: Floats) -> Floats:
        """The log odds of two classes."""
        log_odds: Floats = self.slopes[0] * margins + self.intercepts[0]
        return on_curve(log_odds, self.knots) if self.knots else log_odds

    @property
    def outputs(self) -> int | None:
        """The number of outputs that the parameters are for; None: any number."""
        return None if self.kind == "softmax" else len(self.slopes)

    def centred(self) -> tuple[Self, Floats]:
        """The same with b = 0, and what to add to the intercepts of the model for that.

        The most probable class is then the predicted one: p is 1/2 where the margin is 0.
        """
        a, b = np.array(self.slopes), np.array(self.intercepts)
        shift = np.divide(b, a, out=np.zeros_like(b), where=a > 0)
        left = tuple(float(x) for x in np.where(a > 0, 0.0, b))
        return type(self)(**{**asdict(self), "intercepts": left}), shift

    def flipped(self) -> Self:
        """The same for negated margins and swapped classes, of two."""
        changed = {"intercepts": tuple(-b for b in self.intercepts), "knots": flipped(self.knots)}
        return type(self)(**{**asdict(self), **changed})

    def __str__(self) -> str:
        bent = f", with a curve of {len(self.knots)} points" if self.knots else ""
        if set(self.slopes) == {1.0} and not any(self.intercepts):
            return f"probabilities of the fit itself{bent}, tried on {self.rows:,} {self.fitted_on}, ECE {self.ece:.4f}"
        if self.kind == "softmax":
            temperature = 1.0 / self.slopes[0] if self.slopes[0] > 0 else np.inf
            form = f"softmax of margins / {temperature:.4g}"
        elif len(self.slopes) == 1:
            form = f"logistic of {self.slopes[0]:.4g} m"
            if self.intercepts[0]:
                form += f" {'-' if self.intercepts[0] < 0 else '+'} {abs(self.intercepts[0]):.4g}"
        else:
            form = f"logistic of a m + b for each of {len(self.slopes)} labels"
        return f"{form}{bent}, fitted on {self.rows:,} {self.fitted_on}, ECE {self.ece:.4f}"

    def to_dict(self) -> dict[str, Any]:
        """The calibration as plain values, for files."""
        plain = {**asdict(self), "slopes": list(self.slopes), "intercepts": list(self.intercepts)}
        del plain["knots"]  # as in files of versions without curves
        return {**plain, "knots": [list(knot) for knot in self.knots]} if self.knots else plain

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """The inverse of `to_dict`; ValueError or TypeError if the values are invalid."""
        numbers = {name: tuple(map(float, stored[name])) for name in ("slopes", "intercepts")}
        knots = tuple((float(z), float(v)) for z, v in stored.get("knots", ()))
        found = cls(**{**stored, **numbers, "knots": knots})
        finite = np.isfinite([*found.slopes, *found.intercepts, found.ece, found.log_loss]).all()
        if found.kind not in _KINDS or found.fitted_on not in _FITTED_ON or not finite:
            raise ValueError("invalid calibration")
        if min(found.slopes, default=-1.0) < 0 or len(found.slopes) != len(found.intercepts) or found.rows < 0:
            raise ValueError("invalid parameters of the calibration")
        if knots:
            check_knots(knots)
            if found.kind != "logistic" or found.outputs != 1:
                raise ValueError("a curve is for two classes")
        return found


def _chances(log_odds: Floats) -> Floats:
    """The probabilities of two classes."""
    half = 0.5 * np.tanh(0.5 * log_odds)
    return np.stack([0.5 - half, 0.5 + half], axis=1)


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _each_label(
    margins: Floats, positive: NDArray[np.bool_], weight: Floats, logistic: Callable[..., tuple[float, float]]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The parameters of each label. Labels that all rows have, or none, get those of all labels together."""
    labels = margins.shape[1]
    pooled = None
    found = []
    for label in range(labels):
        has = positive[:, label]
        if has.all() or not has.any():
            if pooled is None:
                pooled = logistic(margins.ravel(), positive.ravel(), np.repeat(weight, labels))
            found.append(pooled)
        else:
            found.append(logistic(np.ascontiguousarray(margins[:, label]), has, weight))
    return tuple(a for a, _ in found), tuple(b for _, b in found)


def _slope(margins: Floats, positive: NDArray[np.bool_], weight: Floats) -> tuple[float, float]:
    """a that minimises the same loss, with b = 0: a temperature of two classes."""
    both = np.stack([-0.5 * margins, 0.5 * margins], axis=1)
    return _inverse_temperature(both, positive.astype(np.intp), weight), 0.0


def _platt(margins: Floats, positive: NDArray[np.bool_], weight: Floats) -> tuple[float, float]:
    """a and b that minimise the log loss of Platt's targets, with a >= 0."""
    total = float(weight.sum())
    hits = float((weight * positive).sum())
    misses = total - hits
    # Platt's targets: the posterior means of a uniform prior, in place of 1 and 0.
    target = np.where(positive, (hits + 1.0) / (hits + 2.0), 1.0 / (misses + 2.0))
    mean_target = float((weight * target).sum()) / total
    constant = float(np.log(mean_target) - np.log1p(-mean_target))
    largest = float(np.abs(margins).max())
    if not largest > 0:
        return 0.0, constant
    x = margins / largest
    centre = float((weight * x).sum()) / total
    x = x - centre
    spread = float(np.sqrt((weight * x * x).sum() / total))
    if not spread > 1e-12:
        return 0.0, constant
    x = x / spread
    a, b = 0.0, constant
    value = _log_loss(a, b, x, target, weight)
    for _ in range(_MAX_STEPS):
        p = 0.5 + 0.5 * np.tanh(0.5 * (a * x + b))
        slope, curve = weight * (p - target), weight * p * (1.0 - p) + 1e-12 * weight
        ga, gb = float((slope * x).sum()), float(slope.sum())
        if max(abs(ga), abs(gb)) <= 1e-10 * total:
            break
        haa, hab, hbb = float((curve * x * x).sum()), float((curve * x).sum()), float(curve.sum())
        determinant = haa * hbb - hab * hab
        if not determinant > 0:
            break
        da, db = (hab * gb - hbb * ga) / determinant, (hab * ga - haa * gb) / determinant
        step, gain = 1.0, ga * da + gb * db
        while step > 1e-10:
            new = _log_loss(a + step * da, b + step * db, x, target, weight)
            if new <= value + 1e-4 * step * gain:
                break
            step *= 0.5
        else:
            break
        a, b, value = a + step * da, b + step * db, new
    if not a > 0:  # the loss is convex: with a < 0 at its minimum, the best a >= 0 is 0
        return 0.0, constant
    unscaled = a / spread / largest
    return (unscaled, b - a * centre / spread) if np.isfinite(unscaled) else (0.0, constant)


def _log_loss(a: float, b: float, x: Floats, target: Floats, weight: Floats) -> float:
    z = a * x + b
    return float((weight * (np.maximum(z, 0.0) - target * z + np.log1p(np.exp(-np.abs(z))))).sum())


def _inverse_temperature(margins: Floats, y: NDArray[np.intp], weight: Floats) -> float:
    """1 / T that minimises the log loss of the smoothed targets: Newton steps within a bracket."""
    classes = margins.shape[1]
    sizes = np.zeros(classes)
    np.add.at(sizes, y, weight)
    m = margins - margins.mean(axis=1, keepdims=True)
    largest = float(np.abs(m).max())
    if not largest > 0 or classes < 2:
        return 0.0
    m = m / largest
    rest = 1.0 / (sizes[y] + 2.0)  # the share of all other classes, as Platt's targets have it
    own = m[np.arange(len(m)), y]
    # The margins sum to zero in each row, so those of the other classes sum to -own.
    wanted = float((weight * ((1.0 - rest) * own - rest * own / (classes - 1))).sum())

    def slope_and_curve(s: float) -> tuple[float, float]:
        p = _softmax(s * m)
        mean = (p * m).sum(axis=1)
        return float((weight * mean).sum()) - wanted, float((weight * ((p * m * m).sum(axis=1) - mean * mean)).sum())

    low, high, s = 0.0, 1.0, 1.0
    if slope_and_curve(0.0)[0] >= 0:
        return 0.0
    while slope_and_curve(high)[0] < 0 and high < 1e9:
        low, high = high, 2.0 * high
    s = 0.5 * (low + high)
    for _ in range(_MAX_STEPS):
        slope, curve = slope_and_curve(s)
        low, high = (s, high) if slope < 0 else (low, s)
        newton = s - slope / curve if curve > 0 else -1.0
        new = newton if low < newton < high else 0.5 * (low + high)
        if abs(new - s) <= 1e-12 * s:
            break
        s = new
    return s / largest
