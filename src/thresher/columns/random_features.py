"""Random features of rows: their values, and readable names."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.kernels import check_kernel, make_sampler
from thresher.columns.types import Ids
from thresher.core.batch import Batch
from thresher.core.feature_space import FeatureSpace, RandomFeatureSpec
from thresher.errors import DataError, SettingsError

#: The number of inputs that a feature's name shows.
_NAMED_INPUTS = 6
#: The largest number of columns for which all coefficients are drawn at once.
_MAX_DENSE_INPUTS = 1 << 16


class RandomFeatures:
    """User-defined random features, in place of those of a kernel.

    Parameters
    ----------
    function : callable
        ``function(rows, rng)`` returns one number per row. ``rows`` is a SciPy CSR matrix, and ``rng`` is a
        `numpy.random.Generator` whose state depends only on the seed and the feature's number.
    name : str
        The prefix of the features' names; the number of the feature follows it.
    """

    def __init__(self, function: Callable[[Any, np.random.Generator], Any], name: str = "function") -> None:
        if not callable(function):
            raise SettingsError(f"function must be callable, not {function!r}")
        self.function = function
        self.name = name

    def spec(self, seed: int) -> RandomFeatureSpec:
        """The description that a `FeatureSpace` holds."""
        return RandomFeatureSpec(self.name, seed=seed, function=self.function)


class InputScaling:
    """The factors of the inputs of random features, and those inputs whose logarithms are used."""

    def __init__(self, factors: Sequence[tuple[int, float]], logs: Sequence[int] = ()) -> None:
        self._keys = np.array([key for key, _ in factors], np.uint64)
        self._factors = np.array([factor for _, factor in factors], np.float64)
        self._logs = np.isin(self._keys, np.array(logs, np.uint64))

    def factors(self, keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The factors of these inputs; 0 for unknown ones."""
        at, known = self._places(keys)
        return self._factors[at] * known if len(self._keys) else np.zeros(len(keys))

    def logs(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Whether the logarithms of these inputs are used."""
        at, known = self._places(keys)
        return self._logs[at] & known if self._logs.any() else np.zeros(len(keys), np.bool_)

    def _places(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The places of these inputs in the list, and whether they are in it."""
        if not len(self._keys):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.bool_)
        if len(self._keys) == int(self._keys[-1]) + 1:  # the keys are 0, 1, 2, …
            known = keys < len(self._keys)
            return (keys if known.all() else np.where(known, keys, 0)).astype(np.int64), known
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return at, self._keys[at] == keys

    def apply(self, batch: Batch) -> Batch:
        """The rows with scaled values."""
        factors = self.factors(batch.keys)
        values = factors if batch.values is None else factors * batch.values
        if self._logs.any():
            logged = self.logs(batch.keys)
            values[logged] = _native.signed_log(values[logged])
        return replace(batch, values=values.astype(np.float32))


class RandomFeatureMap:
    """Maps rows to the values of the random features with these numbers.

    Parameters
    ----------
    space : FeatureSpace
        A space with random features.
    numbers : array of uint64
        The numbers of the features.
    pool : ThreadPool
        The threads. Their number does not change the results.
    """

    def __init__(self, space: FeatureSpace, numbers: Ids, pool: _native.ThreadPool) -> None:
        assert space.random_features is not None
        check_kernel(space.random_features, space.size)
        self.spec = space.random_features
        self.numbers = np.ascontiguousarray(numbers, np.uint64)
        self.pool = pool
        self._size = space.size
        self._dense = space.kind == "column" and space.products is None and 0 < (space.size or 0) <= _MAX_DENSE_INPUTS
        self._scaling = None if self.spec.factors is None else InputScaling(self.spec.factors, self.spec.logs)
        self._inputs: NDArray[np.uint64] | None = None
        self._drawn: _native.RandomFeatures | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def values(self, batch: Batch) -> NDArray[np.float32]:
        """The values of the features, features x rows."""
        spec = self.spec
        if self._scaling is not None:
            batch = self._scaling.apply(batch)
        if spec.function is not None:
            return self._call_function(batch)
        if spec.kernel == "binning":
            return _native.binned_values(
                spec.gamma, spec.seed, self.numbers, batch.indptr, batch.keys, batch.values, self.pool
            )
        if self._dense:
            inputs, at = np.arange(self._size or 0, dtype=np.uint64), batch.keys.astype(np.uint32)
        else:
            inputs, inverse = np.unique(batch.keys, return_inverse=True)
            at = inverse.astype(np.uint32)
        drawn = self._draw(inputs)
        shape = make_sampler(spec, self._size).shape
        return _native.random_feature_values(drawn, shape, batch.indptr, batch.keys, batch.values, at, self.pool)

    def _draw(self, inputs: NDArray[np.uint64]) -> _native.RandomFeatures:
        """The coefficients of the features at these inputs; cached for the last inputs."""
        if self._drawn is None or self._inputs is None or not np.array_equal(self._inputs, inputs):
            rule = make_sampler(self.spec, self._size).rule
            self._drawn = None  # not two at a time
            self._drawn = _native.draw(rule, self.spec.seed, self.numbers, inputs)
            self._inputs = inputs
        return self._drawn

    def _call_function(self, batch: Batch) -> NDArray[np.float32]:
        import scipy.sparse as sp

        width = self._size if self._size is not None else int(batch.keys.max(initial=0)) + 1
        data = np.ones(batch.nnz, np.float32) if batch.values is None else batch.values
        rows = sp.csr_matrix((data, batch.keys.astype(np.int64), batch.indptr), shape=(len(batch), width))
        out = np.empty((len(self), len(batch)), np.float32)
        for j, number in enumerate(self.numbers.tolist()):
            rng = np.random.Generator(np.random.Philox(key=self.spec.seed, counter=[0, 0, number, 0]))
            column = np.asarray(self.spec.function(rows, rng), np.float64).reshape(-1)
            if len(column) != len(batch) or not np.isfinite(column).all():
                raise DataError(f"{self.spec.kernel} {number} must return one finite number for every row.")
            out[j] = column
        return out

    def names(self, inputs: NDArray[np.uint64], input_names: Sequence[str]) -> list[str]:
        """Readable names of the features, such as ``cos(1.2·age - 0.4·bmi + 0.7)``."""
        if self.spec.function is not None or self.spec.kernel == "binning":
            return [f"{self.spec.kernel} {number}" for number in self.numbers.tolist()]
        shape = make_sampler(self.spec, self._size).shape
        drawn = self._draw(np.ascontiguousarray(inputs, np.uint64))
        projections = int(drawn.starts[-1])
        coefficients = (
            drawn.coefficients.reshape(len(inputs), projections) if projections else np.empty((len(inputs), 0))
        )
        if self._scaling is not None:  # in the units of the data
            keys = np.ascontiguousarray(inputs, np.uint64)
            factors, logged = self._scaling.factors(keys), self._scaling.logs(keys)
            coefficients = coefficients * np.where(logged, factors > 0, factors)[:, None]
            input_names = [
                f"log1p({factor:.3g}·{name})" if log else name
                for name, factor, log in zip(input_names, factors.tolist(), logged.tolist(), strict=True)
            ]
        unit = 2.0 * math.pi if shape == "cosine" else 1.0  # cosines are drawn in turns, not in radians
        sums = [
            _format_projection(unit * coefficients[:, p], unit * float(drawn.offsets[p]), input_names)
            for p in range(projections)
        ]
        word = {"cosine": "cos", "step": "step", "ramp": "max0", "product": ""}[shape]
        return [
            "".join(f"{word}({text})" for text in sums[first:end]) or "1"
            for first, end in itertools.pairwise(drawn.starts.tolist())
        ]


def _format_projection(coefficients: NDArray[np.float64], offset: float, input_names: Sequence[str]) -> str:
    """The strongest terms of a projection, in the order of the inputs, and its offset."""
    order = np.lexsort((np.arange(len(coefficients)), -np.abs(coefficients)))
    order = order[coefficients[order] != 0]
    text = ""
    for j in np.sort(order[:_NAMED_INPUTS]).tolist():
        text += _format_term(float(coefficients[j]), f"·{input_names[j]}", text)
    text += " + …" if len(order) > _NAMED_INPUTS else ""
    return text + _format_term(offset, "", text) if offset or not text else text


def _format_term(value: float, factor: str, before: str) -> str:
    sign = ("-" if value < 0 else "") if not before else (" - " if value < 0 else " + ")
    return f"{sign}{abs(value):.3g}{factor}"
