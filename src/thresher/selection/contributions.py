"""Contributions: what each selected feature of a row adds to its prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from thresher.selection.selection import Selection


class Contributions(NamedTuple):
    """What each selected feature adds to the margin of each row.

    Attributes
    ----------
    values : CSR matrix of shape (rows, k), or a list of one per class
        Weight times value, in the order of the selection; nothing is stored where a row does not have the feature.
        With several classes or labels, a list with a matrix for each, in the order of ``selection.labels``.
    intercept : array of shape (1,) or (n_classes,)
        What every row begins with.
    """

    values: Any
    intercept: NDArray[np.float64]

    def margins(self) -> NDArray[np.float64]:
        """The sums of the contributions and the intercept: those of ``decision_function``, up to rounding."""
        if not isinstance(self.values, list):
            one: NDArray[np.float64] = _row_sums(self.values) + self.intercept[0]
            return one
        sums = [_row_sums(values) for values in self.values]
        return np.stack(sums, axis=1) + self.intercept


def contributions(selection: Selection, data: Any, reading: Mapping[str, Any]) -> Contributions:
    """The contributions of the selected features in all rows of any data; see `Selection.contributions`."""
    import scipy.sparse as sp

    matrix = selection.selected_columns(data, reading, np.float64)

    def weighted(weights: NDArray[np.float64]) -> Any:
        # The outputs share the positions: those of many classes take little more memory than those of one.
        return sp.csr_matrix((matrix.data * weights[matrix.indices], matrix.indices, matrix.indptr), shape=matrix.shape)

    single = selection.weights.ndim == 1
    values = weighted(selection.weights) if single else [weighted(weights) for weights in selection.weights]
    return Contributions(values, selection.intercept.copy())


def _row_sums(matrix: Any) -> NDArray[np.float64]:
    return np.asarray(matrix.sum(axis=1), np.float64).ravel()
