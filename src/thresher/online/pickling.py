"""An engine's state for pickling: arrays that are almost all zeros, as a fresh sketch is, take little room."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Arrays shorter than this are left as they are.
_SHORT = 1 << 12


def freeze(state: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """The state with every long array of mostly zeros as (shape, dtype, where, what)."""
    return {name: _sparse(array) for name, array in state.items()}


def thaw(frozen: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The reverse of `freeze`, to the bit."""
    return {name: _dense(value) if isinstance(value, tuple) else value for name, value in frozen.items()}


def _sparse(array: NDArray[Any]) -> Any:
    if array.size < _SHORT:
        return array
    # By bits, so that a negative zero stays one.
    bits = np.ascontiguousarray(array).ravel().view(f"u{array.itemsize}")
    where = np.flatnonzero(bits)
    if 4 * len(where) > array.size:
        return array
    return array.shape, array.dtype.str, where, bits[where]


def _dense(value: tuple[Any, ...]) -> NDArray[Any]:
    shape, dtype, where, what = value
    bits = np.zeros(int(np.prod(shape)), what.dtype)
    bits[where] = what
    dense: NDArray[Any] = bits.view(dtype).reshape(shape)
    return dense
