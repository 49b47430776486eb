"""Sparse columns against dense ones."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from thresher.columns.sparse_columns import CSCColumns


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 7))
def test_any_part_is_that_of_dense_columns(seed: int, rows: int, n_columns: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (rows, n_columns)).astype(np.float32)
    csc = sp.csc_matrix(x)
    columns = CSCColumns(csc.indptr.astype(np.int64), csc.indices.astype(np.uint32), csc.data, rows)
    assert columns.toarray().tolist() == x.T.tolist()
    at = int(rng.integers(0, n_columns))
    assert columns.tail(at).toarray().tolist() == x.T[at:].tolist()
    assert columns.head(at + 1).toarray().tolist() == x.T[: at + 1].tolist()
    mask = rng.random(n_columns) < 0.5
    assert columns.take_columns(mask).toarray().tolist() == x.T[mask].tolist()
    keep = rng.permutation(rows)[: int(rng.integers(1, rows + 1))]
    moved = columns.take_rows(keep)
    assert moved.toarray().tolist() == x.T[:, keep].tolist()
    assert all((np.diff(part) > 0).all() for part in np.split(moved.rows.astype(int), moved.indptr[1:-1]))
    zeroed = columns._replace(values=np.where(columns.values == 1, np.float32(0), columns.values)).without_zeros()
    assert zeroed.toarray().tolist() == np.where(x == 1, 0, x).T.tolist()
    assert (zeroed.values != 0).all()
