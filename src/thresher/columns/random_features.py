"""Functions drawn at random, on any rows: values, and names that people can read."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.kernels import check_kernel, recipe
from thresher.columns.types import Ids
from thresher.core.batch import Batch
from thresher.core.feature_space import Drawn, FeatureSpace
from thresher.errors import DataError, SettingsError

#: Inputs that a name shows, and columns up to which all coefficients are drawn at once.
_SHOWN, _MOST_INPUTS = 6, 1 << 16


class RandomFunctions:
    """Random functions of your own, in place of a kernel.

    Parameters
    ----------
    function : callable
        ``function(rows, rng)`` with rows as a CSR matrix of SciPy, and a `numpy.random.Generator` that is the same
        whenever the same function is drawn: one number a row.
    name : str
        What they are called, with the number of the draw behind it.
    """

    def __init__(self, function: Callable[[Any, np.random.Generator], Any], name: str = "function") -> None:
        if not callable(function):
            raise SettingsError(f"a random function is something to call, not {function!r}")
        self.function = function
        self.name = name

    def drawn(self, seed: int) -> Drawn:
        """As a feature space has it."""
        return Drawn(self.name, seed=seed, function=self.function)


class DrawnFunctions:
    """The functions of these numbers.

    Parameters
    ----------
    space : FeatureSpace
        One with ``drawn``.
    numbers : array of uint64
        Of the draws.
    """

    def __init__(self, space: FeatureSpace, numbers: Ids, team: _native.Team) -> None:
        assert space.drawn is not None
        check_kernel(space.drawn, space.size)
        self.drawn = space.drawn
        self.numbers = np.ascontiguousarray(numbers, np.uint64)
        self.team = team
        self._size = space.size
        self._positions = space.kind == "column" and space.products is None and 0 < (space.size or 0) <= _MOST_INPUTS
        self._inputs: NDArray[np.uint64] | None = None
        self._made: _native.Drawn | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def values(self, batch: Batch) -> NDArray[np.float32]:
        """Functions x rows."""
        if self.drawn.function is not None:
            return self._called(batch)
        if self.drawn.kernel == "binning":
            return _native.binned_values(
                self.drawn.gamma, self.drawn.seed, self.numbers, batch.indptr, batch.keys, batch.values, self.team
            )
        if self._positions:
            inputs, at = np.arange(self._size or 0, dtype=np.uint64), batch.keys.astype(np.uint32)
        else:
            inputs, inverse = np.unique(batch.keys, return_inverse=True)
            at = inverse.astype(np.uint32)
        made = self._over(inputs)
        shape = recipe(self.drawn, self._size).shape
        return _native.drawn_values(made, shape, batch.indptr, batch.keys, batch.values, at, self.team)

    def _over(self, inputs: NDArray[np.uint64]) -> _native.Drawn:
        if self._made is None or self._inputs is None or not np.array_equal(self._inputs, inputs):
            rule = recipe(self.drawn, self._size).rule
            self._made = _native.draw(rule, self.drawn.seed, self.numbers, inputs)
            self._inputs = inputs
        return self._made

    def _called(self, batch: Batch) -> NDArray[np.float32]:
        import scipy.sparse as sp

        width = self._size if self._size is not None else int(batch.keys.max(initial=0)) + 1
        data = np.ones(batch.nnz, np.float32) if batch.values is None else batch.values
        rows = sp.csr_matrix((data, batch.keys.astype(np.int64), batch.indptr), shape=(len(batch), width))
        out = np.empty((len(self), len(batch)), np.float32)
        for j, number in enumerate(self.numbers.tolist()):
            rng = np.random.Generator(np.random.Philox(key=self.drawn.seed, counter=[0, 0, number, 0]))
            column = np.asarray(self.drawn.function(rows, rng), np.float64).reshape(-1)
            if len(column) != len(batch) or not np.isfinite(column).all():
                raise DataError(f"{self.drawn.kernel} {number} does not give one finite number for every row.")
            out[j] = column
        return out

    def names(self, inputs: NDArray[np.uint64], called: Sequence[str]) -> list[str]:
        """What the functions are called, given what their inputs are: ``cos(1.2·age - 0.4·bmi + 0.7)``."""
        if self.drawn.function is not None or self.drawn.kernel == "binning":
            return [f"{self.drawn.kernel} {number}" for number in self.numbers.tolist()]
        shape = recipe(self.drawn, self._size).shape
        made = self._over(np.ascontiguousarray(inputs, np.uint64))
        projections = int(made.starts[-1])
        coefficients = (
            made.coefficients.reshape(len(inputs), projections) if projections else np.empty((len(inputs), 0))
        )
        turns = 2.0 * math.pi if shape == "cosine" else 1.0
        sums = [_sum(turns * coefficients[:, p], turns * float(made.offsets[p]), called) for p in range(projections)]
        starts = made.starts.tolist()
        word = {"cosine": "cos", "step": "step", "ramp": "max0", "product": ""}[shape]
        return [
            "".join(f"{word}({text})" for text in sums[first:end]) or "1" for first, end in itertools.pairwise(starts)
        ]


def _sum(coefficients: NDArray[np.float64], offset: float, called: Sequence[str]) -> str:
    """The strongest terms of a projection, in the order of the inputs, and its constant."""
    order = np.lexsort((np.arange(len(coefficients)), -np.abs(coefficients)))
    order = order[coefficients[order] != 0]
    text = ""
    for j in np.sort(order[:_SHOWN]).tolist():
        text += _term(float(coefficients[j]), f"·{called[j]}", text)
    text += " + …" if len(order) > _SHOWN else ""
    return text + _term(offset, "", text) if offset or not text else text


def _term(value: float, what: str, before: str) -> str:
    sign = ("-" if value < 0 else "") if not before else (" - " if value < 0 else " + ")
    return f"{sign}{abs(value):.3g}{what}"
