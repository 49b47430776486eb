"""Several families as one: the best are looked for across all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.column_blocks import BlockedColumns, ColumnBlocks
from thresher.columns.family_spec import Structure
from thresher.columns.in_memory import StoredColumns
from thresher.columns.types import Columns, Family, Floats, Ids, Proposal, best_of
from thresher.core.feature_space import FeatureSpace
from thresher.core.terms import Expansion, Term
from thresher.errors import SettingsError


class Union(Structure):
    """Features of several families at once, such as columns, products of some and histograms of others.

    ``k`` and ``B`` count elements, of whatever family they are: a group of bins is one, and so is a product.

    Parameters
    ----------
    *families : Structure or str
        Families, or what they are called: ``"linear"``, ``"polynomial:2"``.
    by_size : bool
        Divide a group's score by its number of features, so that groups are not favoured over single features.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 30))
    >>> y = (X[:, 3] - 0.5) * (X[:, 17] - 0.5) + 0.2 * (abs(X[:, 8] - 0.5) < 0.25) > 0.1
    >>> family = th.Union("linear", th.Polynomial(2, columns=range(20)), th.HIK(20, columns=[8]), by_size=True)
    >>> th.FGMClassifier(k=8, family=family).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(self, *families: Structure | str | None, by_size: bool = False) -> None:
        from thresher.fgm.families.parse import structure_of

        if not families:
            raise SettingsError("a union of no families")
        self.by_size = by_size
        #: None for the columns themselves.
        self.families = [None if family is None else structure_of(family) for family in families]

    def at(self, space: FeatureSpace) -> Union:
        here = Union(*self.families, by_size=self.by_size)
        here.families = [None if family is None else family.at(space) for family in self.families]
        return here

    def names(self) -> tuple[str, ...]:
        return tuple(name for family in self.families if family is not None for name in family.names())

    def check(self, size: int | None, k: int) -> None:
        for family in self.families:
            if family is not None:
                family.check(size, k)

    def over(self, columns: StoredColumns) -> Family:
        members = [columns if family is None else family.over(columns) for family in self.families]
        return UnionFamily(members, by_size=self.by_size)

    def streamed(self, blocks: ColumnBlocks) -> Family:
        members = [BlockedColumns(blocks) if family is None else family.streamed(blocks) for family in self.families]
        return UnionFamily(members, by_size=self.by_size)

    def fingerprint(self) -> str:
        names = ["linear" if family is None else family.fingerprint() for family in self.families]
        return " + ".join(names) + (" by size" if self.by_size else "")


class UnionFamily(Family):
    """Each proposes its best, and the best of these are taken."""

    def __init__(self, members: Sequence[Family], *, by_size: bool = False) -> None:
        self.members = members
        self.by_size = by_size
        self.rows = members[0].rows
        self.bytes = max(member.bytes for member in members)
        self.owner: dict[int, int] = {}

    def top(self, residuals: Floats, most: int) -> list[Proposal]:
        proposed = [[self._weighed(member, one) for one in member.top(residuals, most)] for member in self.members]
        best = []
        for parts in zip(*proposed, strict=True):
            best.append(best_of(parts, most))
            known = [dict(zip(part.ids.tolist(), part.scores.tolist(), strict=True)) for part in parts]
            for key, score in zip(best[-1].ids.tolist(), best[-1].scores.tolist(), strict=True):
                # What several families have is of the one that gives it most.
                self.owner.setdefault(key, [scores.get(key) for scores in known].index(score))
        return best

    def _weighed(self, member: Family, proposal: Proposal) -> Proposal:
        if not self.by_size:
            return proposal
        return Proposal(proposal.ids, proposal.scores / np.diff(member.features(proposal.ids)[0]))

    def _runs(self, ids: Ids) -> Iterator[tuple[Family, Ids]]:
        """Stretches of ids of one member."""
        for number, run in groupby(ids.tolist(), key=lambda key: self.owner[key]):
            yield self.members[number], np.array(list(run), np.uint64)

    def columns(self, ids: Ids) -> Columns:
        parts = [member.columns(run) for member, run in self._runs(ids)]
        ends = np.cumsum([0, *[int(part.indptr[-1]) for part in parts]])
        indptr = [part.indptr[1:] + end for part, end in zip(parts, ends[:-1].tolist(), strict=True)]
        return Columns(
            np.concatenate([np.zeros(1, np.int64), *indptr]),
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.scales for part in parts]),
        )

    def features(self, ids: Ids) -> tuple[NDArray[np.int64], Ids]:
        parts = [member.features(run) for member, run in self._runs(ids)]
        sizes = np.concatenate([np.empty(0, np.int64), *[np.diff(starts) for starts, _ in parts]])
        keys = [keys for _, keys in parts]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), np.concatenate([np.empty(0, np.uint64), *keys])

    def expansion(self, keys: Ids) -> Expansion:
        terms: dict[int, Term] = {}
        for number, member in enumerate(self.members):
            ids = np.array([key for key, owner in self.owner.items() if owner == number], np.uint64)
            features = member.features(ids)[1]
            made = member.expansion(features)
            plain = (Term(key, (key,)) for key in features.tolist())
            terms |= {term.key: term for term in (plain if made is None else made.terms)}
        return Expansion(tuple(terms[key] for key in keys.tolist()))

    def report(self) -> dict[str, int]:
        parts = [member.report() for member in self.members]
        return {name: sum(part.get(name, 0) for part in parts) for name in set().union(*parts)}

    def state(self) -> dict[str, NDArray[Any]]:
        state: dict[str, NDArray[Any]] = {
            "ids": np.array(list(self.owner), np.uint64),
            "owners": np.array(list(self.owner.values()), np.int64),
        }
        for number, member in enumerate(self.members):
            state |= {f"{number}_{name}": array for name, array in member.state().items()}
        return state

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        self.owner = dict(zip(state["ids"].tolist(), state["owners"].tolist(), strict=True))
        for number, member in enumerate(self.members):
            member.restore({name: state[f"{number}_{name}"] for name in member.state()})
