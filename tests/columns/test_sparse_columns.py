"""Columns without their zeros, against whole ones."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from thresher.columns.sparse_columns import FewNumbers


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 7))
def test_any_part_is_that_of_whole_columns(seed: int, rows: int, many: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (rows, many)).astype(np.float32)
    few = sp.csc_matrix(x)
    columns = FewNumbers(few.indptr.astype(np.int64), few.indices.astype(np.uint32), few.data, rows)
    assert columns.whole.tolist() == x.T.tolist()
    at = int(rng.integers(0, many))
    assert columns.after(at).whole.tolist() == x.T[at:].tolist()
    assert columns.first(at + 1).whole.tolist() == x.T[: at + 1].tolist()
    wanted = rng.random(many) < 0.5
    assert columns.columns(wanted).whole.tolist() == x.T[wanted].tolist()
    keep = rng.permutation(rows)[: int(rng.integers(1, rows + 1))]
    moved = columns.of_rows(keep)
    assert moved.whole.tolist() == x.T[:, keep].tolist()
    assert all((np.diff(part) > 0).all() for part in np.split(moved.rows.astype(int), moved.indptr[1:-1]))
    zeroed = columns._replace(values=np.where(columns.values == 1, np.float32(0), columns.values)).without_zeros()
    assert zeroed.whole.tolist() == np.where(x == 1, 0, x).T.tolist()
    assert (zeroed.values != 0).all()
