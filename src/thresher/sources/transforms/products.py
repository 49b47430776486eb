"""A batch in, the batch with products of its features out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Names
from thresher.core.feature_space import FeatureSpace

Groups = NDArray[np.int64]


class ProductFormer:
    """Forms the products that a space has over its own features."""

    def __init__(self, space: FeatureSpace) -> None:
        products = space.products
        if products is None:
            raise ValueError("a space without products")
        self._base = space.without_products()
        #: Groups of features that are told apart.
        self.groups: list[str | int] = []
        combinations = [[0, 0]] if products.degree == 2 else [[0, 0], [0, 0, 0]]
        if products.groups is not None:
            self.groups = sorted({name for group in products.groups for name in group})
            combinations = [[self.groups.index(name) for name in group] for group in products.groups]
        self._rule = _native.ProductRule(max(1, len(self.groups)), combinations, products.squares)

    def needs_names(self, want_names: bool) -> bool:
        """Whether the batches must bring names: to name products by, or to tell groups by."""
        return (want_names or bool(self.groups)) and not self._base.invertible

    def groups_of(self, batch: Batch) -> Groups | None:
        """The number of each feature's group, -1 for those in none; None where groups are not told apart."""
        if not self.groups:
            return None
        if self._base.invertible:
            return _native.KeyIndex(np.array(self.groups, np.uint64)).find(batch.keys)
        if batch.names is None:
            raise ValueError("groups are told by names, and the batch has none")
        wanted = [str(name).encode("utf-8", "surrogateescape") for name in self.groups]
        return _native.name_groups(batch.names.words, batch.names.text, batch.names.prefixes, wanted)

    def counts(self, indptr: NDArray[np.int64], groups: Groups | None) -> NDArray[np.uint64]:
        """How many features and products each row has at most (2^62 where that is no longer counted)."""
        return self._rule.count(indptr, groups)

    def form(
        self, batch: Batch, groups: Groups | None, only: _native.KeyIndex | None, want_names: bool, features: int
    ) -> tuple[Batch, int]:
        """The rows with their products, about ``features`` of both in all.

        The second value is the first row with a product that single precision cannot hold, or -1. If there is
        one, the batch is of no use.
        """
        indptr, keys, values, words, bad = self._rule.form(
            batch.indptr, batch.keys, batch.values, groups, only, want_names, features
        )
        names = None
        if words is not None:
            parents = batch.names or self._spelled(batch.keys)
            names = replace(parents, words=words, parents=parents.words)
        if bad >= 0:
            return batch, bad
        return replace(batch, indptr=indptr, keys=keys, values=values, names=names), bad

    def _spelled(self, keys: NDArray[np.uint64]) -> Names:
        """The names of features whose keys decode by themselves."""
        if self._base.kind in ("column", "index"):
            return Names.of_keys(keys, b"x" if self._base.kind == "column" else b"")
        return Names.of_bytes([name.encode() for name in self._base.decode(keys)])
