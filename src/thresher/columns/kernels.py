"""Kernels, and how to sample their random features.

For every kernel k here, k(x, y) is the mean of φ(x) φ(y) over random features φ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thresher.core.feature_space import RandomFeatureSpec
from thresher.errors import SettingsError

#: The largest number of projections in a random feature of a dot-product kernel.
_MAX_ORDER = 16


class Sampler(NamedTuple):
    """The options of `thresher._native.draw`, and the function that a feature applies to its projections."""

    rule: dict[str, Any]
    shape: str


def check_kernel(spec: RandomFeatureSpec, inputs: int | None) -> None:
    """Raise if the kernel or its parameters are invalid for this number of inputs (None: unknown)."""
    if not (spec.gamma > 0 and math.isfinite(spec.gamma)):
        raise SettingsError(f"gamma must be above 0 and finite, not {spec.gamma}")
    if spec.few is not None and spec.few < 1:
        raise SettingsError(f"`q`, the number of inputs of a random feature, must be at least 1, not {spec.few}")
    if spec.few is not None and inputs is None:
        raise SettingsError("`q` needs data with a known number of columns, such as a matrix")
    if spec.function is None:
        name, _ = _parse(spec.kernel)
        if name == "binning" and spec.few is not None:
            raise SettingsError("random binning uses all inputs; leave out `q`")
        if name != "binning":
            make_sampler(spec, inputs)


def make_sampler(spec: RandomFeatureSpec, inputs: int | None) -> Sampler:
    """The sampler of any kernel but binning, which has its own native function."""
    name, parameter = _parse(spec.kernel)
    sampler = _KERNELS[name](spec.gamma, parameter)
    few = 0 if spec.few is None else spec.few
    defaults = {"law": "normal", "scale": 1.0, "degrees": 0, "offset": 0.0, "constant": 0.0, "inputs": inputs or 0}
    empty = np.empty(0)
    return Sampler({**defaults, "few": few, "cumulative": empty, "factors": empty, **sampler.rule}, sampler.shape)


def _parse(kernel: str) -> tuple[str, float | None]:
    """Split ``matern:1.5`` into the kernel's name and its parameter."""
    name, _, parameter = kernel.partition(":")
    if name not in (*_KERNELS, "binning"):
        known = ", ".join((*_KERNELS, "binning"))
        raise SettingsError(f"kernel must be one of {known}, or thresher.RandomFeatures, not {kernel!r}")
    try:
        return name, float(parameter) if parameter else None
    except ValueError:
        raise SettingsError(f"Invalid kernel parameter in {kernel!r}; expected for example matern:1.5.") from None


def _no_parameter(kernel: str, parameter: float | None) -> None:
    if parameter is not None:
        raise SettingsError(f"the {kernel} kernel has no parameter; write {kernel}")


def _gaussian(gamma: float, parameter: float | None) -> Sampler:
    """exp(-γ‖x - y‖²): √2 cos(ω'x + b), ω normal with variance 2γ."""
    _no_parameter("gaussian", parameter)
    return Sampler({"scale": math.sqrt(2.0 * gamma) / (2.0 * math.pi), "offset": 1.0}, "cosine")


def _laplacian(gamma: float, parameter: float | None) -> Sampler:
    """exp(-γ‖x - y‖₁): √2 cos(ω'x + b), ω Cauchy with scale γ."""
    _no_parameter("laplacian", parameter)
    return Sampler({"law": "cauchy", "scale": gamma / (2.0 * math.pi), "offset": 1.0}, "cosine")


def _matern(gamma: float, parameter: float | None) -> Sampler:
    """The Matérn kernel of smoothness ν and length 1/√(2γ): ω has Student's t distribution with 2ν degrees."""
    nu = 1.5 if parameter is None else parameter
    if not (nu > 0 and 2 * nu == int(2 * nu) and nu <= 50):
        raise SettingsError(f"the smoothness of a Matérn kernel must be 0.5, 1, 1.5, …, not {nu:g}")
    rule = {"degrees": int(2 * nu), "scale": math.sqrt(2.0 * gamma) / (2.0 * math.pi), "offset": 1.0}
    return Sampler(rule, "cosine")


def _perceptron(gamma: float, parameter: float | None) -> Sampler:
    """1 - θ/π with the angle θ between (√γ x, 1) and (√γ y, 1): √2 if the projection on ω is above zero."""
    _no_parameter("perceptron", parameter)
    return Sampler({"scale": math.sqrt(gamma), "constant": 1.0}, "step")


def _arc_cosine(gamma: float, parameter: float | None) -> Sampler:
    """‖z‖‖z'‖ (sin θ + (π - θ) cos θ) / π of z = (√γ x, 1): √2 max(0, ω'z), ω normal."""
    if parameter not in (None, 0.0, 1.0):
        raise SettingsError(f"the order of an arc-cosine kernel must be 0 or 1, not {parameter:g}")
    shape = "step" if parameter == 0.0 else "ramp"
    return Sampler({"scale": math.sqrt(gamma), "constant": 1.0}, shape)


def _maclaurin(gamma: float, parameter: float | None) -> Sampler:
    """exp(γ x'y): products of projections on random signs, of geometrically distributed degree."""
    _no_parameter("maclaurin", parameter)
    return _products([gamma**n / math.factorial(n) for n in range(_MAX_ORDER + 1)])


def _polynomial(gamma: float, parameter: float | None) -> Sampler:
    """(1 + γ x'y)^m: products of at most m projections on random signs."""
    m = 2.0 if parameter is None else parameter
    if not (m == int(m) and 1 <= m <= _MAX_ORDER):
        raise SettingsError(f"the degree of a polynomial kernel must be 1 to {_MAX_ORDER}, not {m:g}")
    return _products([math.comb(int(m), n) * gamma**n for n in range(int(m) + 1)])


def _products(coefficients: list[float]) -> Sampler:
    """Random Maclaurin features of Σ a_n (x'y)^n: draw the degree n, then n random signs for every input."""
    chance = 0.5 ** np.arange(1.0, len(coefficients) + 1.0)
    chance /= chance.sum()
    factors = np.sqrt(np.array(coefficients) / chance)
    return Sampler({"law": "sign", "cumulative": np.cumsum(chance), "factors": factors}, "product")


_KERNELS: dict[str, Callable[[float, float | None], Sampler]] = {
    "gaussian": _gaussian,
    "laplacian": _laplacian,
    "perceptron": _perceptron,
    "matern": _matern,
    "arc-cosine": _arc_cosine,
    "maclaurin": _maclaurin,
    "polynomial": _polynomial,
}
