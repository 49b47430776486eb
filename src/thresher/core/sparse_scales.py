"""Scales of sparse features: for any number of them, in a fixed number of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch

Floats = NDArray[np.float64]
Exponents = NDArray[np.int8]

#: The number of rows and the cells of a row. A cell takes a byte.
ROWS, CELLS = 2, 1 << 16
#: Values at a time, and bytes that each of them takes while its cells are found.
_CHUNK, _VALUE_BYTES = 1 << 12, 48
#: Bytes while scales are read and applied.
SCALE_BYTES = ROWS * CELLS + _CHUNK * _VALUE_BYTES
#: The cell of no feature. Smaller exponents than the next one are those of subnormal numbers.
_EMPTY, _LEAST = -128, -126
#: Odd factors of a multiplicative hash, one for each row.
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93], np.uint64)
_SHIFT = np.uint64(64 - 16)
_LARGEST = float(np.finfo(np.float32).max)


class SparseScales:
    """The scale of every feature: the largest power of two that is not above its largest absolute value.

    A power of two, so that dividing by it rounds nothing. As in normalized online learning (Ross, Mineiro and Langford
    2013), a feature is divided by the largest value it has; other than there, scales are read before the first row is
    learned and stay, so that sums of gradients keep their meaning.

    Features share cells. Each of two hashes gives a feature a cell, with the largest scale of all features in it, and
    the smaller of the two cells counts. So no scale is too small, and one is too large only if the feature meets larger
    ones in both cells. That is rare as long as the number of *large* features is small against 65,536.

    Parameters
    ----------
    cells : array of shape (2, 65536), optional
        The exponents of a state; default: no feature was added.
    """

    def __init__(self, cells: Exponents | None = None) -> None:
        self.cells = np.full((ROWS, CELLS), _EMPTY, np.int8) if cells is None else cells
        self._usual: int | None = None  # the exponent of a feature that was not added

    def add(self, batch: Batch) -> None:
        """Add the values of rows; zeros do not count."""
        self._usual = None
        for part in _chunks(len(batch.keys)):
            values = None if batch.values is None else batch.values[part]
            exponents = np.zeros(len(batch.keys[part]), np.int8) if values is None else _exponents(values)
            nonzero = exponents != _EMPTY
            for cells, places in zip(self.cells, _places(batch.keys[part][nonzero]), strict=True):
                np.maximum.at(cells, places, exponents[nonzero])

    def exponents(self, keys: NDArray[np.uint64]) -> Exponents:
        """The exponent of each feature's scale; that of a feature that was not added is the median of all cells."""
        if self._usual is None:
            known = np.sort(self.cells[self.cells != _EMPTY])
            self._usual = int(known[(len(known) - 1) // 2]) if len(known) else 0
        out = np.empty(len(keys), np.int8)
        for part in _chunks(len(keys)):
            first, second = _places(keys[part])
            found = np.minimum(self.cells[0, first], self.cells[1, second])
            out[part] = np.where(found == _EMPTY, self._usual, found)
        return out

    def of(self, keys: NDArray[np.uint64]) -> tuple[Floats, Floats]:
        """Centres, all 0, and scales of features."""
        return np.zeros(len(keys)), np.exp2(self.exponents(keys).astype(np.float64))

    def scaled(self, batch: Batch) -> NDArray[np.float32]:
        """The values of rows, divided by the scales of their features."""
        out = np.ones(len(batch.keys), np.float32) if batch.values is None else batch.values.copy()
        exponents = self.exponents(batch.keys)
        for part in _chunks(len(out)):
            values = np.ldexp(out[part].astype(np.float64), -exponents[part].astype(np.int64))
            out[part] = np.clip(values, -_LARGEST, _LARGEST)
        return out

    def state(self) -> dict[str, NDArray[Any]]:
        """The state as arrays, for a checkpoint."""
        return {"scale_cells": self.cells.view(np.uint8)}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> SparseScales:
        """The inverse of `state`; ValueError if it is none."""
        cells = state["scale_cells"]
        if cells.dtype != np.uint8 or cells.shape != (ROWS, CELLS):
            raise ValueError("scale_cells do not fit")
        return cls(cells.view(np.int8))


def _chunks(size: int) -> Iterator[slice]:
    """Parts of an array, so that what is computed on the way takes little memory."""
    return (slice(at, at + _CHUNK) for at in range(0, size, _CHUNK))


def _exponents(values: NDArray[np.float32]) -> Exponents:
    """The exponent of the largest power of two that is not above each absolute value; -128 for zeros."""
    _, exponents = np.frexp(values)
    return np.where(values == 0, _EMPTY, np.clip(exponents - 1, _LEAST, 127)).astype(np.int8)


def _places(keys: NDArray[np.uint64]) -> list[NDArray[np.intp]]:
    """The cell of each feature in each row."""
    return [((keys * factor) >> _SHIFT).astype(np.intp) for factor in _FACTORS]
