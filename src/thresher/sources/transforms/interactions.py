"""Adds products of features to the rows of any source."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import Products
from thresher.core.memory import MB, PRODUCT_BYTES, PRODUCT_SHARE, ReadLimits
from thresher.display import quoted
from thresher.errors import DataError
from thresher.sources.base import Source, Wrapped
from thresher.sources.transforms.products import Groups, ProductFormer

log = logging.getLogger(__name__)

#: The largest number of features per batch, unless a single row has more. It never changes a result.
MAX_BATCH_FEATURES = 1 << 18


class Interactions(Wrapped):
    """The rows of a source with products of two or three features added.

    The features of a row come first, unchanged. A product is named ``a × b``. Its value is the product of the values
    of its parts, and its key a hash of their keys that does not depend on their order. A feature that occurs twice in
    a row counts once, with the sum of its values. Only the current batch is in memory, and rows are shuffled before
    their products are formed.

    Parameters
    ----------
    source : Source
    degree : {2, 3}
        Products of two, or of two and of three, different features.
    groups : list of tuples, optional
        Only products between these groups, one feature from each: ``[("user", "ad"), ("user", "ad", "hour")]``.
        ``degree`` is then ignored. A group is a namespace of VW text, a column of a table, the position of a column of
        a matrix, or an index of a LIBSVM file.
    squares : bool
        Also products of a feature with itself, ``a²``. They help with real values; for ones they add nothing.
    max_features : int
        The largest number of features of a row, products included; a row with more is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher.sources.registry import as_source
    >>> rows = Interactions(as_source(np.array([[2.0, 0.0, 3.0]]), [1.0]))
    >>> ((batch, _),) = rows.batches(want_names=True)
    >>> batch.names.decode(), batch.values.tolist()
    (['x0', 'x2', 'x0 × x2'], [2.0, 3.0, 6.0])
    """

    def __init__(
        self,
        source: Source,
        degree: int = 2,
        groups: Sequence[Sequence[str | int]] | None = None,
        squares: bool = False,
        *,
        max_features: int = ReadLimits().products,
    ) -> None:
        super().__init__(source)
        products = Products(degree, None if groups is None else _tuples(groups), squares)
        self.space = source.space.with_products(products)
        self.products = self.space.products or products
        self._former = ProductFormer(self.space)
        self._max_features = max_features
        self._warned: set[str | int] = set()  # absent groups that were logged

    @classmethod
    def over(cls, source: Source, products: Products, *, max_features: int = ReadLimits().products) -> Interactions:
        """These products of the features of a source."""
        return cls(source, products.degree, products.groups, products.squares, max_features=max_features)

    def _with(self, source: Source) -> Source:
        return self._copy(source, self._max_features)

    def _copy(self, source: Source, max_features: int) -> Interactions:
        copy = Interactions.over(source, self.products, max_features=max_features)
        copy._warned = self._warned  # shared, so that a group is logged once
        return copy

    def _settings(self) -> str:
        return ":products:{degree}:{groups}:{squares}".format(**self.products.to_dict())

    def limited(self, limits: ReadLimits) -> Source:
        return self._copy(self.source.limited(limits), limits.products)

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        return self._with(self.source.shuffled(seed, rows=rows, features=features))

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        return self.source.where(replace(cursor.inner or Cursor(), part=cursor.part), batch, row)

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        row = start.row
        begin = before = start.inner or Cursor()
        seen = np.zeros(len(self._former.groups), bool)
        names = self._former.needs_names(want_names)
        for batch, after in self.source.batches(rows, start=begin, want_names=names, want_labels=want_labels):
            offset = before.skip if before is begin else 0
            groups = self._former.groups_of(batch)
            if groups is not None:
                seen[groups[groups >= 0]] = True
            for formed, end in self._split(batch, after, groups, only, want_names):
                row += len(formed)
                whole = end == len(batch)
                place = Cursor(
                    part=after.part if whole else _last_part(after),
                    row=row,
                    inner=after if whole else replace(before, skip=offset + end),
                    read=after.read,
                    skipped=after.skipped,
                )
                yield formed, place
            before = after
        if only is None and start.row == 0:
            self._warn_missing(seen)

    def _split(
        self, batch: Batch, after: Cursor, groups: Groups | None, only: _native.KeyIndex | None, want_names: bool
    ) -> Iterator[tuple[Batch, int]]:
        """Yield the rows of a batch with their products, in batches of limited size, and the end row of each."""
        counts = self._former.counts(batch.indptr, groups)
        totals = np.cumsum(
            np.minimum(counts, np.uint64(self._max_features + 1)), dtype=np.int64
        )  # capped, so that the sum cannot overflow
        first = 0
        while first < len(batch):
            if counts[first] > self._max_features or np.diff(batch.indptr[first : first + 2])[0] > _native.most_parents:
                raise self._too_long(batch, after, first, int(counts[first]))
            before = totals[first - 1] if first else 0
            end = max(
                first + 1,
                int(np.searchsorted(totals, before + min(MAX_BATCH_FEATURES, self._max_features), side="right")),
            )
            formed, bad = self._form(batch, groups, first, end, only, want_names, int(totals[end - 1] - before))
            if bad == 0:
                raise DataError(
                    f"{self.source.where(after, batch, first)}: a product of its features overflows single precision. "
                    "Scale the features."
                )
            if bad > 0:  # yield the rows before it first, so that the result does not depend on the batches
                end = first + bad
                formed, _ = self._form(batch, groups, first, end, only, want_names, int(totals[end - 1] - before))
            yield formed, end
            first = end
        if len(batch) == 0:  # its cursor counts skipped lines
            yield self._former.form(batch, groups, only, want_names, 0)[0], 0

    def _form(
        self,
        batch: Batch,
        groups: Groups | None,
        first: int,
        end: int,
        only: _native.KeyIndex | None,
        want_names: bool,
        features: int,
    ) -> tuple[Batch, int]:
        """`ProductFormer.form` for some rows of a batch."""
        if (first, end) != (0, len(batch)):
            groups = None if groups is None else groups[batch.indptr[first] : batch.indptr[end]]
            batch = batch.take(slice(first, end))
        return self._former.form(batch, groups, only, want_names, features)

    def _too_long(self, batch: Batch, after: Cursor, row: int, count: int) -> DataError:
        n = int(batch.indptr[row + 1] - batch.indptr[row])
        advice = "Form fewer"
        if count <= ReadLimits().products:  # more memory is enough
            advice = f'Pass `memory="{count * PRODUCT_BYTES * PRODUCT_SHARE // MB + 1}MB"` or more, or form fewer'
        return DataError(
            f"{self.source.where(after, batch, row)}: the row has {n:,} features, {count:,} with their products; at "
            f'most {self._max_features:,} are allowed. {advice}: only between chosen groups, `interactions=[("user", '
            '"ad")]`, or of two features instead of three.'
        )

    def _warn_missing(self, seen: NDArray[np.bool_]) -> None:
        for name, found in zip(self._former.groups, seen, strict=True):
            if not found and name not in self._warned:
                self._warned.add(name)
                log.warning("%s: no feature is in the group %s, so it forms no products", self.describe(), quoted(name))


def _tuples(groups: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tuple(group) if isinstance(group, list) else group for group in groups)


def _last_part(cursor: Cursor) -> int:
    """The last file of the rows before a cursor: a shuffle buffer may span several."""
    return cursor.part if cursor.inner is None else max(cursor.part, cursor.inner.part)
