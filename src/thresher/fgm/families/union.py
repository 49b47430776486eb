"""The union of several families: every analysis searches all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.column_blocks import BlockedColumns, ColumnBlocks
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.sharded import ShardedColumns, Shards
from thresher.columns.types import Family, Floats, Ids, Proposal, ScaledColumns, merge_proposals
from thresher.core.feature_space import FeatureSpace
from thresher.core.terms import Expansion, Term
from thresher.errors import SettingsError
from thresher.fgm.families.spec import FamilyLike, FamilySpec


class Union(FamilySpec):
    """Elements of several families, such as columns, products of some columns and histograms of others.

    ``k`` and ``B`` count elements of any family: a group of bins is one element, and so is a product.

    Parameters
    ----------
    *families : FamilySpec, Groups or str
        Families, or their names: ``"linear"``, ``"polynomial:2"``.
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

    def __init__(self, *families: FamilyLike | None, by_size: bool = False) -> None:
        from thresher.fgm.families.parse import as_family_spec

        if not families:
            raise SettingsError("a union needs at least one family")
        self.by_size = by_size
        #: None means all columns of the data.
        self.families = [None if family is None else as_family_spec(family) for family in families]

    def resolve(self, space: FeatureSpace) -> Union:
        families = [None if family is None else family.resolve(space) for family in self.families]
        return Union(*families, by_size=self.by_size)

    def column_names(self) -> tuple[str, ...]:
        return tuple(name for family in self.families if family is not None for name in family.column_names())

    def check(self, size: int | None, k: int) -> None:
        for family in self.families:
            if family is not None:
                family.check(size, k)

    def build(self, columns: InMemoryColumns) -> Family:
        members = [columns if family is None else family.build(columns) for family in self.families]
        return UnionFamily(members, by_size=self.by_size)

    def build_blocked(self, blocks: ColumnBlocks) -> Family:
        members = [
            BlockedColumns(blocks) if family is None else family.build_blocked(blocks) for family in self.families
        ]
        return UnionFamily(members, by_size=self.by_size)

    @property
    def no_workers(self) -> str:  # type: ignore[override]
        """The first reason of its members."""
        reasons = (family.no_workers for family in self.families if family is not None)
        return next(filter(None, reasons), "")

    def build_sharded(self, shards: Shards, power: float) -> Family:
        members = [
            ShardedColumns(shards, power) if family is None else family.build_sharded(shards, power)
            for family in self.families
        ]
        return UnionFamily(members, by_size=self.by_size)

    def fingerprint(self) -> str:
        names = ["linear" if family is None else family.fingerprint() for family in self.families]
        return " + ".join(names) + (" by size" if self.by_size else "")


class UnionFamily(Family):
    """The elements of all member families. Each member proposes its best, and the best of these are merged."""

    def __init__(self, members: Sequence[Family], *, by_size: bool = False) -> None:
        self.members = members
        self.by_size = by_size
        self.rows = members[0].rows
        self.bytes = max(member.bytes for member in members)
        self.owner: dict[int, int] = {}

    def top(self, residuals: Floats, limit: int) -> list[Proposal]:
        proposed = [[self._weighted(member, one) for one in member.top(residuals, limit)] for member in self.members]
        best = []
        for parts in zip(*proposed, strict=True):
            best.append(merge_proposals(parts, limit))
            known = [dict(zip(part.ids.tolist(), part.scores.tolist(), strict=True)) for part in parts]
            for key, score in zip(best[-1].ids.tolist(), best[-1].scores.tolist(), strict=True):
                # An element of several members belongs to the one that scores it highest.
                self.owner.setdefault(key, [scores.get(key) for scores in known].index(score))
        return best

    def _weighted(self, member: Family, proposal: Proposal) -> Proposal:
        if not self.by_size:
            return proposal
        return Proposal(proposal.ids, proposal.scores / np.diff(member.features(proposal.ids)[0]))

    def _runs(self, ids: Ids) -> Iterator[tuple[Family, Ids]]:
        """Runs of consecutive ids that belong to the same member."""
        for number, run in groupby(ids.tolist(), key=lambda key: self.owner[key]):
            yield self.members[number], np.array(list(run), np.uint64)

    def columns(self, ids: Ids) -> ScaledColumns:
        parts = [member.columns(run) for member, run in self._runs(ids)]
        ends = np.cumsum([0, *[int(part.indptr[-1]) for part in parts]])
        indptr = [part.indptr[1:] + end for part, end in zip(parts, ends[:-1].tolist(), strict=True)]
        return ScaledColumns(
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
            expansion = member.expansion(features)
            plain = (Term(key, (key,)) for key in features.tolist())
            terms |= {term.key: term for term in (plain if expansion is None else expansion.terms)}
        return Expansion(tuple(terms[key] for key in keys.tolist()))

    def search_stats(self) -> dict[str, int]:
        parts = [member.search_stats() for member in self.members]
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
