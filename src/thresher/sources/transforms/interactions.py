"""Products of features, formed from any source as its rows pass by."""

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
from thresher.core.memory import MB, ReadLimits
from thresher.errors import DataError
from thresher.sources.base import Source
from thresher.sources.transforms.products import Groups, ProductFormer
from thresher.sources.transforms.wrapped import Wrapped

log = logging.getLogger(__name__)

#: Features a batch at most, unless a single row has more. It never changes an answer.
STRETCH = 1 << 18
#: What a feature of the longest row stands for in the memory plan: key, value and name in the five batches that
#: are alive at once, and what a learner notes down of the row it is at; and the share of the plan that is for this.
FEATURE_BYTES, PLAN_SHARE = 128, 4


class Interactions(Wrapped):
    """The rows of a source with products of their features added, two or three at a time.

    All features of a row come first, as they are. A product is named ``a × b``; its value is the product
    of its parts' values, its key a hash of their keys that does not depend on their order. A feature
    that stands twice in a row counts once, with the sum of its values. Nothing is held beyond the batch
    at hand, and rows are shuffled before, not after, their products are formed.

    Parameters
    ----------
    source : Source
    degree : {2, 3}
        Products of two, or of two and of three, different features.
    groups : list of tuples, optional
        Only products between these groups (``degree`` is then of no account), one feature from each:
        ``[("user", "ad"), ("user", "ad", "hour")]``. A group is a namespace of VW text, a column of a
        table, the position of a column of a matrix, or an index of a LIBSVM file.
    squares : bool
        Also products of a feature with itself, ``a²``: real values say more that way, ones do not.
    most : int
        A row that has more features than this, products included, is bad input.

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
        most: int = ReadLimits().products,
    ) -> None:
        super().__init__(source)
        wanted = Products(degree, None if groups is None else _tuples(groups), squares)
        self.space = source.space.with_products(wanted)
        self.products = self.space.products or wanted
        self._former = ProductFormer(self.space)
        self._most = most
        self._told: set[str | int] = set()  # groups whose absence was told of

    @classmethod
    def over(cls, source: Source, products: Products, *, most: int = ReadLimits().products) -> Interactions:
        """These products of the features of a source."""
        return cls(source, products.degree, products.groups, products.squares, most=most)

    def _with(self, source: Source) -> Source:
        return self._copy(source, self._most)

    def _copy(self, source: Source, most: int) -> Interactions:
        copy = Interactions.over(source, self.products, most=most)
        copy._told = self._told  # one and the same: what was told in one pass is not told in the next
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
            for formed, end in self._stretches(batch, after, groups, only, want_names):
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
            self._tell_missing(seen)

    def _stretches(
        self, batch: Batch, after: Cursor, groups: Groups | None, only: _native.KeyIndex | None, want_names: bool
    ) -> Iterator[tuple[Batch, int]]:
        """The rows of a batch with their products, as many as a batch may hold at a time; and where that ends."""
        counts = self._former.counts(batch.indptr, groups)
        reached = np.cumsum(np.minimum(counts, np.uint64(self._most + 1)), dtype=np.int64)  # cut, to stay countable
        first = 0
        while first < len(batch):
            if counts[first] > self._most or np.diff(batch.indptr[first : first + 2])[0] > _native.most_parents:
                raise self._too_long(batch, after, first, int(counts[first]))
            before = reached[first - 1] if first else 0
            end = max(first + 1, int(np.searchsorted(reached, before + min(STRETCH, self._most), side="right")))
            formed, bad = self._form(batch, groups, first, end, only, want_names, int(reached[end - 1] - before))
            if bad == 0:
                raise DataError(
                    f"{self.source.where(after, batch, first)}: a product of its features is too large for single "
                    "precision. Scale the features."
                )
            if bad > 0:  # the rows before that one come out first, so what was read never depends on batches
                end = first + bad
                formed, _ = self._form(batch, groups, first, end, only, want_names, int(reached[end - 1] - before))
            yield formed, end
            first = end
        if len(batch) == 0:  # only its cursor matters
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
        if count <= ReadLimits().products:  # more memory would do
            advice = f'Give memory="{count * FEATURE_BYTES * PLAN_SHARE // MB + 1}MB" or more, or form fewer'
        return DataError(
            f"{self.source.where(after, batch, row)}: the row's {n:,} features make {count:,} with their products; "
            f'{self._most:,} is the most. {advice}: between chosen groups alone, interactions=[("user", "ad")] '
            "(--interactions user,ad), or of two features instead of three."
        )

    def _tell_missing(self, seen: NDArray[np.bool_]) -> None:
        for name, met in zip(self._former.groups, seen, strict=True):
            if not met and name not in self._told:
                self._told.add(name)
                log.warning("%s: there is no feature of the group %r to form products of", self.describe(), name)


def _tuples(groups: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tuple(group) if isinstance(group, list) else group for group in groups)


def _last_part(cursor: Cursor) -> int:
    """The last file that the rows before a cursor can come from: a shuffle buffer may span several."""
    return cursor.part if cursor.inner is None else max(cursor.part, cursor.inner.part)
