"""Finite feature maps of additive kernels: samples of the kernel's spectrum (Vedaldi and Zisserman, 2010)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from thresher.columns.types import Floats


@dataclass(frozen=True)
class KernelSpectrum:
    """A kernel of two numbers, and its spectrum.

    ``kernel`` is a function of their difference (for a homogeneous kernel: of the difference of their logarithms, to be
    multiplied by √(x z)), and ``density`` is its Fourier transform.
    """

    kernel: Callable[[Floats], Floats]
    density: Callable[[Floats], Floats]
    homogeneous: bool


def _sech(x: Any) -> Any:
    return 1.0 / np.cosh(x)


_HOMOGENEOUS = {
    "chi2": KernelSpectrum(lambda d: _sech(d / 2), lambda f: _sech(np.pi * f), True),
    "intersection": KernelSpectrum(lambda d: np.exp(-abs(d) / 2), lambda f: 2 / np.pi / (1 + 4 * f * f), True),
    "js": KernelSpectrum(
        lambda d: (np.exp(d / 2) * np.log2(1 + np.exp(-d)) + np.exp(-d / 2) * np.log2(1 + np.exp(d))) / 2,
        lambda f: 2 / np.log(4) * _sech(np.pi * f) / (1 + 4 * f * f),
        True,
    ),
}
#: The names of the additive kernels.
KERNELS = ("gaussian", *_HOMOGENEOUS)


def _spectrum(kernel: str, gamma: float) -> KernelSpectrum:
    if kernel != "gaussian":
        return _HOMOGENEOUS[kernel]
    norm = math.sqrt(4 * np.pi * gamma)
    return KernelSpectrum(lambda d: np.exp(-gamma * d * d), lambda f: np.exp(-f * f / (4 * gamma)) / norm, False)


@cache
def sample_spectrum(kernel: str, gamma: float, order: int, span: float) -> tuple[float, tuple[float, ...], float]:
    """Find the step between samples that approximates the kernel best.

    Returns
    -------
    step : float
    amplitudes : tuple of floats
        Of the samples 0 to ``order``.
    error : float
        The largest error of the kernel's value: for the Gaussian over differences up to ``span``, for a homogeneous
        kernel relative to the larger of the two numbers.
    """
    spectrum = _spectrum(kernel, gamma)
    unit = math.sqrt(gamma) if kernel == "gaussian" else 1.0
    differences = np.linspace(0.0, span if kernel == "gaussian" else 30.0, 600)
    damping = np.exp(-differences / 2) if spectrum.homogeneous else 1.0
    multiples: Floats = np.arange(1, order + 1, dtype=np.float64)

    def error_of(step: float) -> tuple[float, float]:
        weights = 2 * step * spectrum.density(multiples * step)
        waves = (np.cos(np.outer(differences, multiples * step)) * weights).sum(axis=1)
        waves += step * spectrum.density(np.zeros(1))
        return float(np.abs(damping * (spectrum.kernel(differences) - waves)).max()), step

    error, step = min(error_of(step) for step in unit * np.linspace(0.02, 3.0, 150))
    weights = 2 * step * spectrum.density(multiples * step)
    first = math.sqrt(step * float(spectrum.density(np.zeros(1))[0]))
    return step, (first, *np.sqrt(weights).tolist()), error
