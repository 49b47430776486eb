"""Compact pickling of an engine's state: mostly-zero arrays, such as a fresh sketch, are stored sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Shorter arrays stay dense.
_MIN_SIZE = 1 << 12


def sparsify(state: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Replace every long, mostly-zero array by (shape, dtype, positions, values)."""
    return {name: _sparse(array) for name, array in state.items()}


def densify(packed: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The exact inverse of `sparsify`."""
    return {name: _dense(value) if isinstance(value, tuple) else value for name, value in packed.items()}


def _sparse(array: NDArray[Any]) -> Any:
    if array.size < _MIN_SIZE:
        return array
    # Compare bits, so that negative zeros survive.
    bits = np.ascontiguousarray(array).ravel().view(f"u{array.itemsize}")
    positions = np.flatnonzero(bits)
    if 4 * len(positions) > array.size:
        return array
    return array.shape, array.dtype.str, positions, bits[positions]


def _dense(value: tuple[Any, ...]) -> NDArray[Any]:
    shape, dtype, positions, values = value
    bits = np.zeros(int(np.prod(shape)), values.dtype)
    bits[positions] = values
    dense: NDArray[Any] = bits.view(dtype).reshape(shape)
    return dense
