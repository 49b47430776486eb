"""Kernels by their formulas: the expected products of random features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def exact(kernel: str, gamma: float, x: Array, y: Array) -> Array:
    """k(x_i, y_j) for every pair of rows."""
    name, _, parameter = kernel.partition(":")
    squares = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)
    if name == "gaussian":
        return np.exp(-gamma * squares)
    if name in ("laplacian", "binning"):
        return np.exp(-gamma * np.abs(x[:, None, :] - y[None, :, :]).sum(axis=2))
    if name == "matern":
        nu = float(parameter)
        r = np.sqrt(squares * 2.0 * gamma)  # in units of 1 / √(2γ)
        s = math.sqrt(2.0 * nu) * r
        return {0.5: np.exp(-s), 1.5: (1 + s) * np.exp(-s), 2.5: (1 + s + s**2 / 3) * np.exp(-s)}[nu]
    if name == "maclaurin":
        return np.exp(gamma * x @ y.T)
    if name == "polynomial":
        return (1.0 + gamma * x @ y.T) ** int(parameter)
    a, b = (np.hstack([math.sqrt(gamma) * z, np.ones((len(z), 1))]) for z in (x, y))
    lengths = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)[None, :]
    angle = np.arccos(np.clip(a @ b.T / lengths, -1.0, 1.0))
    if name == "perceptron" or parameter == "0":
        return 1.0 - angle / np.pi
    return lengths * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
