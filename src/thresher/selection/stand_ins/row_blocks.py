"""The rows of a source in blocks that depend on the rows alone, not on the batches they are read in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch
from thresher.sources.base import Source

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]

#: A block ends after this number of rows, or with the row that completes this number of values.
ROWS, VALUES = 1024, 1 << 17
#: Keys below this are numbered through a table.
_SMALL_KEYS = 1 << 20
_SALT = np.uint64(0x9FB21C651E98DF25)


class Block(NamedTuple):
    """Rows as a sparse matrix; column j has the key ``keys[j]``. ``first`` is the number of the first row."""

    rows: Any  # a CSR matrix of float64
    keys: Keys
    first: int

    def columns(self, index: _native.KeyIndex) -> tuple[Any, NDArray[np.int64]]:
        """The columns whose key is in ``index``, as a CSR matrix, and their numbers in the index."""
        numbers = index.find(self.keys)
        present = np.flatnonzero(numbers >= 0)
        return self.rows[:, present], numbers[present]

    def signs(self, bits: int) -> Floats:
        """A random sign of each row for each of ``bits`` projections, at most 64: rows x bits of -1 and 1."""
        numbers = np.arange(self.first, self.first + self.rows.shape[0], dtype=np.uint64)
        words = _native.mix_keys(numbers ^ _SALT)
        drawn = (words[:, None] >> np.arange(bits, dtype=np.uint64)) & np.uint64(1)
        return 2.0 * drawn.astype(np.float64) - 1.0


def blocks(source: Source, keys: Keys | None = None) -> Iterator[Block]:
    """The rows of a source, with only the features of these keys; rows of weight 0 are left out."""
    parts: list[Batch] = []
    rows = values = first = 0
    for batch, _ in source.batches(keys=keys, want_labels=False):
        if batch.weight is not None and not batch.weight.all():
            batch = batch.take(np.flatnonzero(batch.weight))
        at = 0
        while at < len(batch):
            ends = batch.indptr[at + 1 :] - batch.indptr[at]
            room = int(np.searchsorted(ends, VALUES - values)) + 1
            taken = min(len(batch) - at, ROWS - rows, room)
            parts.append(batch.take(slice(at, at + taken)))
            rows, values, at = rows + taken, values + int(ends[taken - 1]), at + taken
            if rows == ROWS or values >= VALUES:
                yield _block(parts, first)
                first, parts, rows, values = first + rows, [], 0, 0
    if rows:
        yield _block(parts, first)


def _block(parts: list[Batch], first: int) -> Block:
    import scipy.sparse as sp

    batch = Batch.concat(parts)
    keys, numbers = _numbered(batch.keys)
    values = np.ones(batch.nnz) if batch.values is None else batch.values.astype(np.float64)
    rows = sp.csr_matrix((values, numbers, batch.indptr), shape=(len(batch), len(keys)))
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return Block(rows, keys, first)


def _numbered(keys: Keys) -> tuple[Keys, NDArray[np.int64]]:
    """The distinct keys, ascending, and the number of each key among them."""
    most = int(keys.max(initial=0))
    if most >= _SMALL_KEYS:
        distinct, numbers = np.unique(keys, return_inverse=True)
        return distinct, numbers.reshape(-1)
    places = keys.astype(np.intp)
    present = np.zeros(most + 1, np.bool_)
    present[places] = True
    numbers = (np.cumsum(present) - 1)[places]
    return np.flatnonzero(present).astype(np.uint64), numbers


def products(left: Any, right: Any, most: int) -> Iterator[tuple[int, Any]]:
    """left'right of two CSR matrices with the same rows, some of its rows at a time: the first row, and those.

    Their multiplications are at most ``most``, or those of one row.
    """
    lengths = np.diff(right.indptr).astype(np.float64)
    of_row = np.repeat(lengths, np.diff(left.indptr))
    costs = np.bincount(left.indices, of_row, minlength=left.shape[1])
    ends = np.cumsum(costs)
    turned = left.T.tocsr()
    start = 0
    while start < left.shape[1]:
        before = ends[start - 1] if start else 0.0
        stop = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield start, turned[start:stop] @ right
        start = stop
