"""Adds products of features to the rows of a batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Names
from thresher.core.feature_space import FeatureSpace

Groups = NDArray[np.int64]


class ProductFormer:
    """Forms the products of a feature space."""

    def __init__(self, space: FeatureSpace) -> None:
        products = space.products
        if products is None:
            raise ValueError("the feature space has no products")
        self._base = space.without_products()
        #: The groups that products combine; empty if they combine all features.
        self.groups: list[str | int] = []
        combinations = [[0, 0]] if products.degree == 2 else [[0, 0], [0, 0, 0]]
        if products.groups is not None:
            self.groups = sorted({name for group in products.groups for name in group})
            combinations = [[self.groups.index(name) for name in group] for group in products.groups]
        self._rule = _native.ProductRule(max(1, len(self.groups)), combinations, products.squares)

    def needs_names(self, want_names: bool) -> bool:
        """Whether the batches need names, for the names of products or to find the groups."""
        return (want_names or bool(self.groups)) and not self._base.invertible

    def groups_of(self, batch: Batch) -> Groups | None:
        """The number of each feature's group, -1 for no group; None if products do not depend on groups."""
        if not self.groups:
            return None
        if self._base.invertible:
            return _native.KeyIndex(np.array(self.groups, np.uint64)).find(batch.keys)
        if batch.names is None:
            raise ValueError("groups need names, but the batch has none")
        wanted = [str(name).encode("utf-8", "surrogateescape") for name in self.groups]
        return _native.name_groups(batch.names.words, batch.names.text, batch.names.prefixes, wanted)

    def counts(self, indptr: NDArray[np.int64], groups: Groups | None) -> NDArray[np.uint64]:
        """An upper bound on the features and products of each row (2^62 for counts that overflow)."""
        return self._rule.count(indptr, groups)

    def form(
        self, batch: Batch, groups: Groups | None, only: _native.KeyIndex | None, want_names: bool, features: int
    ) -> tuple[Batch, int]:
        """Add the products to the rows, about ``features`` features in total.

        Also returns the first row with a product that overflows single precision, or -1. If there is such a row, the
        returned batch is the input.
        """
        indptr, keys, values, words, bad = self._rule.form(
            batch.indptr, batch.keys, batch.values, groups, only, want_names, features
        )
        names = None
        if words is not None:
            parents = batch.names or self._names(batch.keys)
            names = replace(parents, words=words, parents=parents.words)
        if bad >= 0:
            return batch, bad
        return replace(batch, indptr=indptr, keys=keys, values=values, names=names), bad

    def _names(self, keys: NDArray[np.uint64]) -> Names:
        """The names of features with invertible keys."""
        if self._base.kind in ("column", "index"):
            return Names.of_keys(keys, b"x" if self._base.kind == "column" else b"")
        return Names.of_bytes([name.encode() for name in self._base.decode(keys)])
