"""The interface between feature families, proposers and solvers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.core.terms import Expansion

Ids = NDArray[np.uint64]
Floats = NDArray[np.float64]


class Proposal(NamedTuple):
    """Elements of a family, best first, with their scores."""

    ids: Ids
    scores: Floats


def merge_proposals(parts: Sequence[Proposal], limit: int) -> Proposal:
    """The best ``limit`` elements of several proposals. An element in several of them keeps its best score."""
    ids, scores = np.concatenate([part.ids for part in parts]), np.concatenate([part.scores for part in parts])
    order = np.lexsort((ids, -scores))
    first = np.sort(np.unique(ids[order], return_index=True)[1])[:limit]
    return Proposal(ids[order][first], scores[order][first])


class ScaledColumns(NamedTuple):
    """Sparse columns (CSC) for a solver: column j is ``values[indptr[j]:indptr[j + 1]]`` times ``scales[j]``, in the
    ascending ``rows`` of the same range."""

    indptr: NDArray[np.int64]
    rows: NDArray[np.uint32]
    values: NDArray[np.float32]
    scales: Floats

    @property
    def counts(self) -> NDArray[np.uint64]:
        """The number of stored entries of each column."""
        return np.diff(self.indptr).astype(np.uint64)


class Family(ABC):
    """A set of elements with 64-bit ids: a feature's id is its key, a group's id is its number."""

    #: Rows of the data.
    rows: int
    #: Bytes in use.
    bytes: int = 0

    @abstractmethod
    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        """Worst-case analysis (25): for each row of ``residuals`` (outputs x rows), the ``limit`` elements with the
        largest scores (Σ_i r_i x_ij)², summed over the features of an element. Ties go to the smaller id."""

    @abstractmethod
    def columns(self, ids: Ids) -> ScaledColumns:
        """The columns of all features of these elements, with the scaling that the scores use."""

    def features(self, ids: Ids) -> tuple[NDArray[np.int64], Ids]:
        """Where each element's features begin, and the keys of the features. By default an element is one feature,
        whose key is the element's id."""
        return np.arange(len(ids) + 1, dtype=np.int64), ids

    def expansion(self, keys: Ids) -> Expansion | None:
        """How these features are computed from columns of the data; None if they are columns of the data."""
        return None

    def search_stats(self) -> dict[str, int]:
        """Counts for `format_search_stats`, over all analyses so far; empty if every analysis is exhaustive."""
        return {}

    def state(self) -> dict[str, NDArray[Any]]:
        """What `columns` needs to know about proposed ids, besides the data."""
        return {}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore the result of `state`."""
        return


class SingleColumns(Family):
    """The family of all columns, over which groups are families, too."""

    @abstractmethod
    def squared_sums(self, residuals: Floats, keys: Ids) -> Floats:
        """The scores of these columns (outputs x keys), for families of groups."""


def format_search_stats(stats: Mapping[str, int]) -> str:
    """Describe how much of a family the analyses searched.

    ``columns`` counts the columns of all analyses, ``entered`` those that the bounds did not prune, and ``scored`` the
    scores that were computed.
    """
    columns, entered, scored = (stats[name] for name in ("columns", "entered", "scored"))
    pruned = 100 * (1 - entered / max(columns, 1))
    return f"{entered:,} of {columns:,} columns entered ({pruned:.4g} % pruned), {scored:,} scores computed"
