"""Kernels as averages of random functions: how a kernel's functions are drawn, and what they do with a row.

For every kernel k here, k(x, y) is the mean of φ(x) φ(y) over functions φ drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thresher.core.feature_space import Drawn
from thresher.errors import SettingsError

#: Projections that a function of a dot-product kernel has at most.
_MOST_ORDER = 16


class Recipe(NamedTuple):
    """How `thresher._native.draw` draws the functions, and the shape they give to their projections."""

    rule: dict[str, Any]
    shape: str


def check_kernel(drawn: Drawn, inputs: int | None) -> None:
    """Raise unless there are such functions over so many inputs (None: unknown)."""
    if not (drawn.gamma > 0 and math.isfinite(drawn.gamma)):
        raise SettingsError(f"gamma is the width of the kernel: above 0 and finite, not {drawn.gamma}")
    if drawn.few is not None and drawn.few < 1:
        raise SettingsError(f"q is the number of inputs that a function looks at: at least 1, not {drawn.few}")
    if drawn.few is not None and inputs is None:
        raise SettingsError("functions of q inputs need data whose number of columns is known: a matrix")
    if drawn.function is None:
        name, _ = _parts(drawn.kernel)
        if name == "binning" and drawn.few is not None:
            raise SettingsError("random binning looks at all inputs: leave q out")
        if name != "binning":
            recipe(drawn, inputs)


def recipe(drawn: Drawn, inputs: int | None) -> Recipe:
    """The recipe of a kernel's functions; for any but random binning, which has a way of its own."""
    name, argument = _parts(drawn.kernel)
    made = _KERNELS[name](drawn.gamma, argument)
    few = 0 if drawn.few is None else drawn.few
    base = {"law": "normal", "scale": 1.0, "degrees": 0, "offset": 0.0, "constant": 0.0, "inputs": inputs or 0}
    empty = np.empty(0)
    return Recipe({**base, "few": few, "cumulative": empty, "factors": empty, **made.rule}, made.shape)


def _parts(kernel: str) -> tuple[str, float | None]:
    """``matern:1.5`` to its name and number."""
    name, _, argument = kernel.partition(":")
    if name not in (*_KERNELS, "binning"):
        known = ", ".join((*_KERNELS, "binning"))
        raise SettingsError(f"kernel is one of {known}, or thresher.RandomFunctions, not {kernel!r}")
    try:
        return name, float(argument) if argument else None
    except ValueError:
        raise SettingsError(f"the number of a kernel, as in matern:1.5, is none in {kernel!r}") from None


def _none(kernel: str, argument: float | None) -> None:
    if argument is not None:
        raise SettingsError(f"the {kernel} kernel has no number: write {kernel}")


def _gaussian(gamma: float, argument: float | None) -> Recipe:
    """exp(-γ‖x - y‖²): √2 cos(ω'x + b), ω normal with variance 2γ."""
    _none("gaussian", argument)
    return Recipe({"scale": math.sqrt(2.0 * gamma) / (2.0 * math.pi), "offset": 1.0}, "cosine")


def _laplacian(gamma: float, argument: float | None) -> Recipe:
    """exp(-γ‖x - y‖₁): √2 cos(ω'x + b), ω Cauchy with scale γ."""
    _none("laplacian", argument)
    return Recipe({"law": "cauchy", "scale": gamma / (2.0 * math.pi), "offset": 1.0}, "cosine")


def _matern(gamma: float, argument: float | None) -> Recipe:
    """Matérn's kernel of smoothness ν and length 1/√(2γ): ω has Student's t distribution with 2ν degrees."""
    nu = 1.5 if argument is None else argument
    if not (nu > 0 and 2 * nu == int(2 * nu) and nu <= 50):
        raise SettingsError(f"the smoothness of a Matérn kernel is 0.5, 1, 1.5, …, not {nu:g}")
    rule = {"degrees": int(2 * nu), "scale": math.sqrt(2.0 * gamma) / (2.0 * math.pi), "offset": 1.0}
    return Recipe(rule, "cosine")


def _perceptron(gamma: float, argument: float | None) -> Recipe:
    """1 - θ/π with the angle θ of (√γ x, 1) and (√γ y, 1): √2 where a random direction is above zero."""
    _none("perceptron", argument)
    return Recipe({"scale": math.sqrt(gamma), "constant": 1.0}, "step")


def _arc_cosine(gamma: float, argument: float | None) -> Recipe:
    """‖z‖‖z'‖ (sin θ + (π - θ) cos θ) / π of z = (√γ x, 1): √2 max(0, ω'z), ω normal."""
    if argument not in (None, 0.0, 1.0):
        raise SettingsError(f"the arc-cosine kernels here are of order 0 and 1, not {argument:g}")
    shape = "step" if argument == 0.0 else "ramp"
    return Recipe({"scale": math.sqrt(gamma), "constant": 1.0}, shape)


def _maclaurin(gamma: float, argument: float | None) -> Recipe:
    """exp(γ x'y): products of random signs, as many as a coin falls on its head."""
    _none("maclaurin", argument)
    return _products([gamma**n / math.factorial(n) for n in range(_MOST_ORDER + 1)])


def _polynomial(gamma: float, argument: float | None) -> Recipe:
    """(1 + γ x'y)^m: products of at most m random signs."""
    m = 2.0 if argument is None else argument
    if not (m == int(m) and 1 <= m <= _MOST_ORDER):
        raise SettingsError(f"the degree of a polynomial kernel is 1 … {_MOST_ORDER}, not {m:g}")
    return _products([math.comb(int(m), n) * gamma**n for n in range(int(m) + 1)])


def _products(coefficients: list[float]) -> Recipe:
    """Random Maclaurin features of Σ a_n (x'y)^n: n by the coin, then n signs for every input."""
    chance = 0.5 ** np.arange(1.0, len(coefficients) + 1.0)
    chance /= chance.sum()
    factors = np.sqrt(np.array(coefficients) / chance)
    return Recipe({"law": "sign", "cumulative": np.cumsum(chance), "factors": factors}, "product")


_KERNELS: dict[str, Callable[[float, float | None], Recipe]] = {
    "gaussian": _gaussian,
    "laplacian": _laplacian,
    "perceptron": _perceptron,
    "matern": _matern,
    "arc-cosine": _arc_cosine,
    "maclaurin": _maclaurin,
    "polynomial": _polynomial,
}
