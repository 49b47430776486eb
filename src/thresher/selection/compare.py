"""Comparison of selections: features in common, their order and their signs; for two runs, two halves or two dates."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.terms import PLAIN
from thresher.display import shown_path
from thresher.errors import SettingsError, SpaceError
from thresher.selection.file import load
from thresher.selection.selection import Selection, escaped

#: The most selections of one comparison: each has a letter.
MOST = len(ascii_uppercase)


@dataclass(frozen=True)
class Compared:
    """A selection that is compared: its letter, and where it comes from; ``path`` is None for one in memory."""

    label: str
    path: str | None
    features: int
    method: str | None
    data: str | None
    rows: int | None


@dataclass(frozen=True)
class PairComparison:
    """The agreement of two selections.

    Attributes
    ----------
    labels : (str, str)
    common : int
        Features in both.
    only : (int, int)
        Features in the first alone, and in the second alone.
    jaccard : float
        Features in both, divided by features in either; 1 for two empty selections.
    jaccard_by_k : dict
        The same of the k strongest features of each, for k = 1, 2, 5, 10, … up to the smaller selection.
    rank_correlation : float or None
        Spearman's, of the order of the common features; None if there are fewer than two.
    sign_changes : int or None
        Common features whose weight has the opposite sign in the other selection. With several classes, in any class
        that both have. None if the selections predict different things, such as other classes.
    """

    labels: tuple[str, str]
    common: int
    only: tuple[int, int]
    jaccard: float
    jaccard_by_k: dict[int, float]
    rank_correlation: float | None
    sign_changes: int | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """The agreement of two or more selections. Features are listed by their best rank, ties to the first selection.

    Attributes
    ----------
    selections : tuple of Compared
        The selections with their letters: A, B, …
    pairs : tuple of PairComparison
        Every two of them.
    names : list of str
        The features in any of them.
    keys : array of uint64
    ranks : array of shape (selections, features)
        The rank of each feature from 1; 0 where a selection does not have it.
    weights : array of shape (selections, features)
        The weight of each feature, with several outputs the norm across them; NaN where a selection does not have it.
    sign_changed : array of bool
        Whether two selections give the feature weights of opposite signs.
    """

    selections: tuple[Compared, ...]
    pairs: tuple[PairComparison, ...]
    names: list[str] = field(repr=False)
    keys: NDArray[np.uint64] = field(repr=False)
    ranks: NDArray[np.int64] = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)
    sign_changed: NDArray[np.bool_] = field(repr=False)

    @property
    def common(self) -> list[str]:
        """The names of the features in all selections."""
        return self._named(np.all(self.ranks > 0, axis=0))

    @property
    def only(self) -> dict[str, list[str]]:
        """For each selection the names of the features that no other has."""
        single = (self.ranks > 0).sum(axis=0) == 1
        return {
            one.label: self._named(single & (rank > 0)) for one, rank in zip(self.selections, self.ranks, strict=True)
        }

    @property
    def jaccard(self) -> float:
        """The mean over all pairs."""
        return float(np.mean([pair.jaccard for pair in self.pairs]))

    @property
    def jaccard_by_k(self) -> dict[int, float]:
        """The mean over all pairs, for every k that all of them have."""
        shared = [k for k in self.pairs[0].jaccard_by_k if all(k in pair.jaccard_by_k for pair in self.pairs)]
        return {k: float(np.mean([pair.jaccard_by_k[k] for pair in self.pairs])) for k in shared}

    @property
    def rank_correlation(self) -> float | None:
        """The mean over the pairs that have one; None if none has."""
        found = [pair.rank_correlation for pair in self.pairs if pair.rank_correlation is not None]
        return float(np.mean(found)) if found else None

    @property
    def sign_changes(self) -> list[str] | None:
        """The names of the features of opposite signs in two selections; None if no pair can be compared."""
        if all(pair.sign_changes is None for pair in self.pairs):
            return None
        return self._named(self.sign_changed)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{one.label} ({one.features} features)" for one in self.selections)
        mean = "mean " if len(self.pairs) > 1 else ""
        ranks, signs = self.rank_correlation, self.sign_changes
        parts = [f"{len(self.common)} common", f"{mean}Jaccard {self.jaccard:.3f}"]
        parts += [] if ranks is None else [f"{mean}rank correlation {ranks:.3f}"]
        parts += [] if signs is None else [f"{len(signs)} sign changes"]
        return f"<Comparison of {sizes}: {', '.join(parts)}>"

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON values; a feature has its ranks and weights in the order of the selections."""
        rows = zip(self.names, self.keys, self.ranks.T, self.weights.T, self.sign_changed, strict=True)
        return {
            "selections": [vars(one) for one in self.selections],
            "common": len(self.common),
            "jaccard": self.jaccard,
            "jaccard_by_k": self.jaccard_by_k,
            "rank_correlation": self.rank_correlation,
            "sign_changes": self.sign_changes,
            "pairs": [vars(pair) for pair in self.pairs],
            "features": [
                {
                    "name": name,
                    "key": int(key),
                    "ranks": [int(r) or None for r in ranks],
                    "weights": [None if np.isnan(w) else float(w) for w in weights],
                    "sign_changed": bool(changed),
                }
                for name, key, ranks, weights, changed in rows
            ],
        }

    def _named(self, which: NDArray[np.bool_] | np.bool_) -> list[str]:
        return [self.names[i] for i in np.flatnonzero(which)]


def compare(
    a: Selection | str | os.PathLike[str],
    b: Selection | str | os.PathLike[str],
    *others: Selection | str | os.PathLike[str],
) -> Comparison:
    """Compare two or more selections, or ``.thr`` files: what they have in common, its order and its signs.

    Features are the same if their keys are; terms of a family, such as products, if they are made of the same
    features. Selections rank their features by weight, with several classes by the norm across them. Raises
    `SpaceError` if the same key means another feature in one of them.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> X = np.random.default_rng(0).normal(size=(2000, 50))
    >>> y = X[:, 7] - X[:, 31] > 0
    >>> th.compare(th.select(X[:1000], y[:1000], k=2), th.select(X[1000:], y[1000:], k=2)).jaccard
    1.0
    """
    given = (a, b, *others)
    if len(given) > MOST:
        raise SettingsError(f"compare at most {MOST} selections at a time, got {len(given)}")
    paths = [None if isinstance(one, Selection) else shown_path(os.fspath(one)) for one in given]
    selections = [one if isinstance(one, Selection) else load(one) for one in given]
    shown = tuple(
        _described(label, path, one) for label, path, one in zip(ascii_uppercase, paths, selections, strict=False)
    )
    for one, other in zip(shown[1:], selections[1:], strict=True):
        _check_spaces(selections[0], other, one.label)
    table = _Table(selections)
    pairs = tuple(
        table.pair((shown[i].label, shown[j].label), i, j) for i, j in combinations(range(len(selections)), 2)
    )
    return Comparison(shown, pairs, table.names, table.keys, table.ranks, table.weights, table.sign_changed)


def _described(label: str, path: str | None, selection: Selection) -> Compared:
    made, data = selection.provenance, selection.provenance.get("data")
    method, rows = selection.settings.get("method"), made.get("rows")
    return Compared(label, path, len(selection), method, None if data is None else shown_path(str(data)), rows)


def _check_spaces(first: Selection, other: Selection, label: str) -> None:
    """Raise unless a key means the same feature in both; which terms of a family they have does not matter."""
    spaces = [one.space.without_expansion() if one.space.expansion else one.space for one in (first, other)]
    try:
        spaces[0].check_same(spaces[1])
    except SpaceError:
        raise SpaceError(
            f"the features of A are {spaces[0]}, but those of {label} are {spaces[1]}: the same key would mean another "
            "feature. Compare selections from the same kind of data."
        ) from None


def _identities(selection: Selection) -> list[Hashable]:
    """What identifies each feature: its key, or the parts of a term."""
    keys: list[int] = selection.keys.tolist()
    if selection.space.expansion is None:
        return list(keys)
    terms: dict[int, Hashable] = {}
    for term in selection.space.expansion.terms:
        itself = len(term.parts) == 1 and term.coordinate == PLAIN
        terms[term.key] = term.parts[0] if itself else (term.parts, term.coordinate)
    return [terms.get(key, key) for key in keys]


class _Table:
    """The features of all selections, by their best rank, with ranks and weights."""

    def __init__(self, selections: Sequence[Selection]) -> None:
        self._selections = selections
        every = [_identities(one) for one in selections]
        best: dict[Hashable, tuple[int, int]] = {}
        for which, features in enumerate(every):
            for rank, feature in enumerate(features):
                best[feature] = min(best.get(feature, (rank, which)), (rank, which))
        order = {feature: column for column, feature in enumerate(sorted(best, key=lambda feature: best[feature]))}
        at = [best[feature] for feature in order]
        known: dict[Hashable, str] = {}  # a name that one selection does not know, another may
        for one, features in zip(selections, every, strict=True):
            for feature, name, key in zip(features, one.names, one.keys.tolist(), strict=True):
                if name != f"#{key}":
                    known.setdefault(feature, name)
        self.names = [
            escaped(known.get(f, selections[which].names[row])) for f, (row, which) in zip(order, at, strict=True)
        ]
        self.keys = np.array([selections[which].keys[row] for row, which in at], np.uint64)
        self.ranks = np.zeros((len(selections), len(order)), np.int64)
        self.weights = np.full(self.ranks.shape, np.nan)
        for which, (one, features) in enumerate(zip(selections, every, strict=True)):
            columns = [order[feature] for feature in features]
            self.ranks[which, columns] = np.arange(1, len(one) + 1)
            self.weights[which, columns] = one.weights if one.weights.ndim == 1 else np.linalg.norm(one.weights, axis=0)
        self.sign_changed = np.zeros(len(order), np.bool_)

    def pair(self, labels: tuple[str, str], i: int, j: int) -> PairComparison:
        """The agreement of two selections; marks the features of opposite signs."""
        ranks = self.ranks[[i, j]]
        both: NDArray[np.bool_] = np.all(ranks > 0, axis=0)
        common = int(both.sum())
        changed = self._sign_changes(i, j, both)
        if changed is not None:
            self.sign_changed |= changed
        smaller = min(len(self._selections[i]), len(self._selections[j]))
        return PairComparison(
            labels,
            common,
            (len(self._selections[i]) - common, len(self._selections[j]) - common),
            _jaccard(ranks, None),
            {k: _jaccard(ranks, k) for k in nested_sizes(smaller)},
            _spearman(ranks[:, both]),
            None if changed is None else int(changed.sum()),
        )

    def _sign_changes(self, i: int, j: int, both: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        one, other = self._selections[i], self._selections[j]
        if (one.classes is None) != (other.classes is None) or one.weights.ndim != other.weights.ndim:
            return None
        shared: list[tuple[int, int]] = [(0, 0)]
        if one.classes is not None and other.classes is not None:
            if one.weights.ndim == 1 and one.classes != other.classes:
                return None
            if one.weights.ndim == 2:
                shared = [(row, other.classes.index(c)) for row, c in enumerate(one.classes) if c in other.classes]
        if not shared:
            return None
        columns = np.flatnonzero(both)
        left = np.atleast_2d(one.weights)[:, self.ranks[i, columns] - 1]
        right = np.atleast_2d(other.weights)[:, self.ranks[j, columns] - 1]
        opposite = [np.sign(left[a]) * np.sign(right[b]) < 0 for a, b in shared]
        changed = np.zeros(len(both), np.bool_)
        changed[columns] = np.any(opposite, axis=0)
        return changed


def nested_sizes(most: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, … up to ``most``, and ``most`` itself."""
    found = [factor * 10**power for power in range(len(str(most))) for factor in (1, 2, 5)]
    return [k for k in found if k < most] + ([most] if most else [])


def _jaccard(ranks: NDArray[np.int64], k: int | None) -> float:
    """Features that both have among the first ``k`` (None: all), divided by those that either has there."""
    there = (ranks > 0) if k is None else (ranks > 0) & (ranks <= k)
    either = int(there.any(axis=0).sum())
    return int(there.all(axis=0).sum()) / either if either else 1.0


def _spearman(ranks: NDArray[np.int64]) -> float | None:
    """Spearman's correlation of two orders; there are no ties."""
    n = int(ranks.shape[1])
    if n < 2:
        return None
    first, second = (np.argsort(np.argsort(row)) for row in ranks)
    squares = int(((first - second) ** 2).sum())
    return 1.0 - 6.0 * squares / (n * (n * n - 1))
