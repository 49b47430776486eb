"""What the working-set loop asks of a family of features; solvers never know which one they have."""

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
    """Elements of a family, the best first, and their scores."""

    ids: Ids
    scores: Floats


def best_of(parts: Sequence[Proposal], most: int) -> Proposal:
    """The best of several proposals; what is in more than one counts once, with its best score."""
    ids, scores = np.concatenate([part.ids for part in parts]), np.concatenate([part.scores for part in parts])
    order = np.lexsort((ids, -scores))
    first = np.sort(np.unique(ids[order], return_index=True)[1])[:most]
    return Proposal(ids[order][first], scores[order][first])


class Columns(NamedTuple):
    """Columns for a solver: column j stands in ``rows[indptr[j]:indptr[j + 1]]``, rising, times ``scales[j]``."""

    indptr: NDArray[np.int64]
    rows: NDArray[np.uint32]
    values: NDArray[np.float32]
    scales: Floats

    @property
    def counts(self) -> NDArray[np.uint64]:
        """Rows that each column stands in."""
        return np.diff(self.indptr).astype(np.uint64)


class WholeColumns(NamedTuple):
    """Columns for a solver, without zeros to leave out: columns x rows, each times its scale."""

    values: NDArray[np.float32]
    scales: Floats


class MadeColumns(NamedTuple):
    """Columns for a solver that are not in memory: it has them made whenever it looks at them."""

    scales: Floats


class Family(ABC):
    """Features as elements with 64-bit ids: single features by their keys, groups by their numbers.

    A proposer uses what fits it: `top` here, later families may also draw at random or hand out what arrives.
    """

    #: Rows of the data.
    rows: int
    #: Bytes held.
    bytes: int = 0

    @abstractmethod
    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        """The worst-case analysis (25): for each row of ``residuals`` (outputs x rows) the ``most`` elements of the
        largest scores (Σ_i r_i x_ij)², summed over an element's features. Ties go to the smaller id."""

    @abstractmethod
    def columns(self, ids: Ids) -> Columns:
        """The columns of all features of these elements, scaled as the scores are."""

    def features(self, ids: Ids) -> tuple[NDArray[np.int64], Ids]:
        """Where each element's features begin, and their keys: one each, its id, unless a family has groups."""
        return np.arange(len(ids) + 1, dtype=np.int64), ids

    def expansion(self, keys: Ids) -> Expansion | None:
        """What the features of these keys are made of; None where they are features of the data."""
        return None

    def report(self) -> dict[str, int]:
        """What the analyses so far looked at, see `show_search`; nothing where that is simply everything."""
        return {}

    def state(self) -> dict[str, NDArray[Any]]:
        """What `columns` must know of the ids that were proposed, besides the data."""
        return {}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Know again what the family that gave ``state`` knew."""
        return


def show_search(looked_at: Mapping[str, int]) -> str:
    """What analyses looked at: of how many ``columns``, all analyses together, how many were ``entered``, since they
    could have a product among the best, and how many products were ``scored``."""
    columns, entered, scored = (looked_at[name] for name in ("columns", "entered", "scored"))
    passed = 100 * (1 - entered / max(columns, 1))
    return f"{entered:,} of {columns:,} columns entered ({passed:.4g} % passed over), {scored:,} scores formed"
