"""What came out of a source, as plain rows to compare."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from thresher.core.batch import Batch, Cursor
from thresher.sources.base import Source


class Got(NamedTuple):
    """A row as it came out, with every column that was left out filled in."""

    keys: tuple[int, ...]
    values: tuple[float, ...]
    y: Any
    weight: float
    qid: int
    names: tuple[str, ...] | None


def rows_of(batch: Batch) -> list[Got]:
    """The rows of a batch."""
    n = len(batch)
    keys = batch.keys.tolist()
    values = [1.0] * len(keys) if batch.values is None else batch.values.tolist()
    y = [None] * n if batch.y is None else batch.y.tolist()
    if batch.y_indptr is not None:
        y = [tuple(y[batch.y_indptr[i] : batch.y_indptr[i + 1]]) for i in range(n)]
    weight = [1.0] * n if batch.weight is None else batch.weight.tolist()
    qid = [-1] * n if batch.qid is None else batch.qid.tolist()
    names = None if batch.names is None else batch.names.decode()
    out = []
    for i in range(n):
        a, b = batch.indptr[i], batch.indptr[i + 1]
        name = None if names is None else tuple(names[a:b])
        out.append(Got(tuple(keys[a:b]), tuple(values[a:b]), y[i], weight[i], qid[i], name))
    return out


def joined(batches: Iterable[tuple[Batch, Cursor]]) -> list[Got]:
    """The rows of all batches."""
    return [row for batch, _ in batches for row in rows_of(batch)]


def read(source: Source, rows: int = 8192, **options: Any) -> list[Got]:
    """All rows of a source."""
    return joined(source.batches(rows, **options))


def exactly(rows: Iterable[Any]) -> list[str]:
    """Rows as text that tells -0.0 from 0.0 and takes one NaN for another."""
    return [repr(row) for row in rows]
