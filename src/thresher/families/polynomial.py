"""Products of columns: all of them, though none is ever stored."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.errors import FileFormatError, SettingsError
from thresher.expansion import Expansion, Term
from thresher.families.family import Columns, Family, Floats, Ids, Proposal
from thresher.families.stored import StoredColumns, scales_of
from thresher.families.structure import Structure

if TYPE_CHECKING:
    from thresher.working_set.settings import FGMSettings

#: Columns that a product may have.
MOST = 8


@dataclass(frozen=True)
class Polynomial(Structure):
    """The explicit map of the polynomial kernel (γ x'z + r)^degree: columns, and products of up to ``degree`` of them.

    Every analysis looks for the best among all products, of which there may be 10^14 (section 6.2 of the paper); only
    those that are proposed are ever formed.

    Parameters
    ----------
    degree : int
        Columns of a product at most, up to 8.
    gamma, r : float
        The kernel's. They weigh products against columns where columns are taken as they are (``scale=None``): a
        product of two counts √2·γ times, a square γ times, a column √(2γr) times, at degree 2. Under
        ``scale="norm"`` they cancel.
    squares : bool, optional
        Products of a column with itself. Unasked with degree 2; products of more are of different columns, so
        conjunctions where columns are of zeros and ones.
    linear : bool
        The columns themselves too.
    columns : sequence of int, optional
        Only products of these columns, given by position (keys, in general).
    prune : bool
        Pass over what cannot be among the best. The answer is the same without.

    Notes
    -----
    What is passed over follows from bounds. Of columns scaled alike, (Σ a x)²/Σ x² ≤ Σ a² over the rows where x ≠ 0 (Cauchy
    and Schwarz), and a product has no rows that its parts have not; where no value is negative, the larger of the sums
    over positive and over negative residuals is enough. Of columns as they are, |Σ a x z| ≤ Σ |a x| max |z|.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40))
    >>> y = X[:, 3] * X[:, 17] > 0
    >>> th.select(X, y, k=1, method="fgm", family=th.Polynomial(2)).names
    ['x3 × x17']
    """

    degree: int = 2
    gamma: float = 1.0
    r: float = 1.0
    squares: bool | None = None
    linear: bool = True
    columns: Sequence[int] | None = None
    prune: bool = True

    def __post_init__(self) -> None:
        if type(self.degree) is not int or not 2 <= self.degree <= MOST:
            raise SettingsError(f"a polynomial's degree is between 2 and {MOST}, not {self.degree!r}")
        if not (self.gamma > 0 and math.isfinite(self.gamma) and self.r >= 0 and math.isfinite(self.r)):
            raise SettingsError(f"gamma is above 0 and r not below, unlike {self.gamma} and {self.r}")
        if self.columns is not None:
            chosen = np.unique(np.asarray(self.columns))
            if not len(chosen) or chosen.dtype.kind not in "iu" or int(chosen.min()) < 0:
                raise SettingsError(f"columns are given by position, unlike {self.columns!r}")
            object.__setattr__(self, "columns", tuple(chosen.tolist()))

    @property
    def powers(self) -> bool:
        """Whether a column may stand in a product twice."""
        return self.degree == 2 if self.squares is None else self.squares

    def check(self, size: int | None, settings: FGMSettings) -> None:
        if size is not None and self.columns is not None and self.columns[-1] >= size:
            raise SettingsError(f"products of column {self.columns[-1]}, and columns go from 0 to {size - 1}")

    def over(self, columns: StoredColumns) -> Family:
        return ProductFamily(self, columns)

    def fingerprint(self) -> str:
        return f"Polynomial:{asdict(self) | {'prune': None}}"

    def factor(self, parts: Sequence[int]) -> float:
        """The square of the constant that the kernel's map gives to a product."""
        left = self.degree - len(parts)
        ways = math.factorial(self.degree) / math.factorial(left)
        for count in Counter(parts).values():
            ways /= math.factorial(count)
        return ways * self.gamma ** len(parts) * self.r**left


class ProductFamily(Family):
    """The products of a data's columns.

    An id is the column's key, or the hash of the keys of the product's parts that it is for `Interactions` too. Which
    columns it stands for is remembered of those that were proposed.
    """

    def __init__(self, polynomial: Polynomial, columns: StoredColumns) -> None:
        self.polynomial = polynomial
        self.single = columns
        self.rows = columns.rows
        self.parts: dict[int, tuple[int, ...]] = {}
        chosen = polynomial.columns
        self._search = _native.ProductSearch(
            columns.store,
            columns.weights,
            None if chosen is None else np.array(chosen, np.uint64),
            degree=polynomial.degree,
            powers=polynomial.powers,
            linear=polynomial.linear,
            unit=columns.unit,
            gamma=polynomial.gamma,
            r=polynomial.r,
        )
        self.bytes = columns.bytes + self._search.bytes

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        return [self._top(np.ascontiguousarray(residual), most) for residual in residuals]

    def _top(self, residual: Floats, most: int) -> Proposal:
        ids, scores, starts, parts = self._search.top(residual, most, self.polynomial.prune, self.single.team)
        for i, key in enumerate(ids.tolist()):
            self.parts[key] = tuple(sorted(parts[starts[i] : starts[i + 1]].tolist()))
        return Proposal(ids, self.single.total * scores if self.single.unit else scores)

    def columns(self, ids: Ids) -> Columns:
        products = [self.parts[key] for key in ids.tolist()]
        starts = np.concatenate([[0], np.cumsum([len(parts) for parts in products])]).astype(np.int64)
        keys = np.array([key for parts in products for key in parts], np.uint64)
        indptr, rows, values, squares = self._search.take(starts, keys)
        if self.single.unit:
            return Columns(indptr, rows, values, scales_of(squares, self.single.total, unit=True))
        return Columns(indptr, rows, values, np.sqrt([self.polynomial.factor(parts) for parts in products]))

    def expansion(self, keys: Ids) -> Expansion:
        return Expansion(tuple(Term(key, self.parts[key]) for key in keys.tolist()))

    def report(self) -> dict[str, Any]:
        columns, entered, scored = self._search.counts
        return {"columns": columns, "entered": entered, "scored": scored}

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "ids": np.array(list(self.parts), np.uint64),
            "sizes": np.array([len(parts) for parts in self.parts.values()], np.int64),
            "parts": np.array([key for parts in self.parts.values() for key in parts], np.uint64),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        sizes, parts = state["sizes"], state["parts"].tolist()
        if len(sizes) != len(state["ids"]) or int(sizes.sum()) != len(parts) or (sizes < 1).any():
            raise FileFormatError("products that are none")
        ends = np.cumsum(sizes).tolist()
        cut = [tuple(parts[end - size : end]) for end, size in zip(ends, sizes.tolist(), strict=True)]
        self.parts = dict(zip(state["ids"].tolist(), cut, strict=True))
