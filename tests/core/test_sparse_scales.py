"""Scales of sparse features: those of the slow twin unless features share both cells, and never too small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.reference.core.sparse_scales import scaled, scales_of
from thresher.core.batch import Batch
from thresher.core.sparse_scales import CELLS, ROWS, SparseScales

VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False)
TABLES = st.lists(st.dictionaries(st.integers(0, 2**64 - 1), VALUES, max_size=5), min_size=1, max_size=12)


def batch_of(rows: list[dict[int, float]]) -> Batch:
    indptr = np.cumsum([0, *(len(row) for row in rows)])
    keys = np.array([key for row in rows for key in row], np.uint64)
    values = np.array([value for row in rows for value in row.values()], np.float32)
    return Batch(indptr=indptr, keys=keys, values=values, y=np.zeros(len(rows)))


@examples(100)
@given(rows=TABLES, step=st.integers(1, 12))
def test_scales_are_those_of_the_twin(rows: list[dict[int, float]], step: int) -> None:
    found = SparseScales()
    for at in range(0, len(rows), step):
        found.add(batch_of(rows[at : at + step]))
    wanted = {key: scale for key, scale in scales_of(rows).items() if any(row.get(key) for row in rows)}
    keys = np.array(list(wanted), np.uint64)
    centres, scales = found.of(keys)
    assert (centres == 0).all()
    assert dict(zip(keys.tolist(), scales, strict=True)) == wanted  # 60 features in 2 x 65,536 cells
    values = found.scaled(batch_of(rows))
    expected = [v for row in scaled(rows) for v in row.values()]
    present = batch_of(rows).values != 0
    np.testing.assert_array_equal(values[present], np.array(expected, np.float32)[present])


@examples(50)
@given(rows=TABLES, order=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[dict[int, float]], order: object) -> None:
    mixed = list(rows)
    order.shuffle(mixed)  # type: ignore[attr-defined]
    states = []
    for each in (rows, mixed):
        scales = SparseScales()
        scales.add(batch_of(each))
        states.append(scales.state()["scale_cells"].tobytes())
    assert states[0] == states[1]


def test_many_features_share_cells_and_few_scales_are_too_large() -> None:
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**64, 200_000, np.uint64)
    large = np.arange(len(keys)) < 1000
    values = np.where(large, 5000.0, 1.0).astype(np.float32)
    scales = SparseScales()
    scales.add(Batch(indptr=np.array([0, len(keys)]), keys=keys, values=values, y=np.zeros(1)))
    found = scales.of(keys)[1]
    assert (found >= np.where(large, 4096, 1)).all()
    assert (found[~large] > 1).mean() < 1e-3  # expected: (1000 / 65,536)^2


def test_ends_of_single_precision_and_unknown_features() -> None:
    rows = [{1: float(np.finfo(np.float32).max), 2: 1e-45, 3: 3.0, 4: 0.0}]
    scales = SparseScales()
    assert scales.of(np.array([7], np.uint64))[1].tolist() == [1.0]  # nothing was added
    scales.add(batch_of(rows))
    values = scales.scaled(batch_of(rows))
    assert np.isfinite(values).all()
    assert values[0] < 2
    assert values[2] == 1.5
    assert scales.of(np.array([7], np.uint64))[1].tolist() == [2.0]  # as the median feature


def test_a_state_that_does_not_fit_is_refused() -> None:
    scales = SparseScales()
    again = SparseScales.from_state(scales.state())
    assert again.cells.shape == (ROWS, CELLS)
    with pytest.raises(ValueError, match="scale_cells"):
        SparseScales.from_state({"scale_cells": np.zeros((1, 5), np.int8)})
