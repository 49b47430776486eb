"""Data and comparisons for the tests of families."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import thresher as th
from thresher import _native
from thresher.columns.in_memory import InMemoryColumns
from thresher.sources.base import Source
from thresher.sources.registry import as_source

POOL = _native.ThreadPool(2)


def some_rows(seed: int, kind: str, rows: int = 60, columns: int = 12) -> Any:
    """A random sparse matrix of ones, of values in (0, 1], or of normal values."""
    rng = np.random.default_rng(seed)
    x = sp.random(rows, columns, rng.uniform(0.1, 0.6), random_state=seed, format="csr", dtype=np.float32)
    x.data = {"ones": np.ones(x.nnz), "shares": 1.0 - rng.random(x.nnz), "any": 2 * rng.normal(size=x.nnz)}[
        kind
    ].astype("f4")
    return x


def stored(source: Source, *, power: float = 1.0, weights: Any = None, pool: Any = POOL) -> InMemoryColumns:
    store = _native.ColumnStore()
    for batch, _ in source.batches(want_labels=False):
        store.add(batch.indptr, batch.keys, batch.values)
    store.finish(pool, weights)
    total = None if weights is None else float(weights.sum())
    return InMemoryColumns(store, pool, power=power, total=total, weights=weights)


def columns_of(x: Any, **options: Any) -> InMemoryColumns:
    return stored(as_source(x, np.zeros(x.shape[0])), **options)


def stopped(path: Any, saved: Any, settings: dict[str, Any]) -> None:
    """Interrupt a fit after its first iteration, which leaves a checkpoint."""

    def stop(progress: Any) -> None:
        if progress.passes_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted):
        th.select(path, checkpoint=saved, every=0.0, progress=stop, **settings)
    assert saved.exists()


def same_model(one: Any, other: Any) -> bool:
    """Whether two selections are bitwise equal."""
    return (
        one.names == other.names
        and one.keys.tolist() == other.keys.tolist()
        and one.weights.tolist() == other.weights.tolist()
        and one.intercept.tolist() == other.intercept.tolist()
        and one.counts.tolist() == other.counts.tolist()
    )
