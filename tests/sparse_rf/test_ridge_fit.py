"""The l2 fits of all outputs at once, against their twin of one output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.reference.sparse_rf.ridge import objective, solve
from thresher import _native

Array = np.ndarray[Any, Any]
POOL = _native.ThreadPool(1)
EXACT = (1e-8, 30)


def problem(seed: int, rows: int, count: int, outputs: int, name: str) -> tuple[Array, Array, Array]:
    """Columns of unlike sizes (features x rows), targets of each output, and weights of the rows, some of them zero."""
    rng = np.random.default_rng(seed)
    columns = (rng.normal(size=(count, rows)) * rng.uniform(0.1, 3.0, size=(count, 1))).astype(np.float32)
    targets = rng.normal(size=(outputs, count)) @ columns + rng.normal(size=(outputs, rows))
    if name != "squared":
        targets = np.where(targets + rng.normal(size=(outputs, 1)) > 0, 1.0, -1.0)
    return columns, targets, rng.integers(0, 4, size=rows).astype(np.float64)


def fitted(name: str, columns: Array, y: Array, c: Array, ridge: float, **rest: Any) -> tuple[Array, Array, int, int]:
    start = rest.get("start", np.zeros((len(y), len(columns))))
    tolerance, most = rest.get("limits", EXACT)
    intercept, pool = rest.get("intercept", True), rest.get("pool", POOL)
    w, b, steps, passes = _native.ridge_fit(name, 1.0, y, c, intercept, columns, start, ridge, tolerance, most, pool)
    return w.reshape(start.shape), b, steps, passes


def values(name: str, columns: Array, w: Array, b: Array, y: Array, c: Array, ridge: float) -> Array:
    x = columns.T.astype(np.float64)
    return np.array([objective(name, x, *one, c, ridge) for one in zip(w, b, y, strict=True)])


@examples(60)
@given(
    st.integers(0, 999),
    st.integers(2, 60),
    st.integers(1, 12),
    st.integers(1, 5),
    st.sampled_from(["squared_hinge", "logistic", "squared"]),
    st.sampled_from([1e-6, 1e-3, 0.1, 3.0]),
    st.booleans(),
)
def test_every_output_reaches_the_optimum_of_its_twin(
    seed: int, rows: int, count: int, outputs: int, name: str, share: float, intercept: bool
) -> None:
    columns, y, c = problem(seed, rows, count, outputs, name)
    c[0] = 1.0
    ridge = share * c.sum()
    w, b, _, _ = fitted(name, columns, y, c, ridge, intercept=intercept)
    x = columns.T.astype(np.float64)
    twins = [solve(name, x, one, c, ridge, fit_intercept=intercept) for one in y]
    least = values(name, columns, np.array([t[0] for t in twins]), np.array([t[1] for t in twins]), y, c, ridge)
    found = values(name, columns, w, b, y, c, ridge)
    assert (found <= least * (1.0 + 1e-6) + 1e-9).all()


@pytest.mark.parametrize("name", ["squared_hinge", "logistic", "squared"])
def test_many_outputs_equal_each_alone_and_share_the_passes(name: str) -> None:
    columns, y, c = problem(5, 3000, 60, 10, name)
    ridge = 1e-4 * c.sum()
    w, b, _, passes = fitted(name, columns, y, c, ridge, limits=(1e-12, 60))
    alone = [fitted(name, columns, one[None], c, ridge, limits=(1e-12, 60)) for one in y]
    np.testing.assert_allclose(w, np.concatenate([one[0] for one in alone]), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        values(name, columns, w, b, y, c, ridge),
        values(name, columns, *(np.concatenate([one[i] for one in alone]) for i in (0, 1)), y, c, ridge),
        rtol=1e-9,
    )
    assert passes <= 4 * max(one[3] for one in alone)  # not ten times as many


def test_bits_do_not_depend_on_threads() -> None:
    columns, y, c = problem(6, 2500, 37, 4, "squared_hinge")
    one, two = (
        fitted("squared_hinge", columns, y, c, 1e-3 * c.sum(), pool=_native.ThreadPool(threads)) for threads in (1, 3)
    )
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])


def test_fits_start_from_the_given_weights_and_never_rise() -> None:
    columns, y, c = problem(7, 800, 30, 3, "squared_hinge")
    w, b, _, _ = fitted("squared_hinge", columns, y, c, 1e-2 * c.sum())
    again, _, steps, _ = fitted("squared_hinge", columns, y, c, 1e-2 * c.sum(), start=w)
    assert steps <= 2
    np.testing.assert_allclose(again, w, rtol=1e-3, atol=1e-4)
    before = values("squared_hinge", columns, w, b, y, c, 1e-3 * c.sum())
    rough, at, steps, _ = fitted("squared_hinge", columns, y, c, 1e-3 * c.sum(), start=w, limits=(1e-4, 2))
    assert steps <= 2
    assert (values("squared_hinge", columns, rough, at, y, c, 1e-3 * c.sum()) < before).all()


def test_equal_columns_rows_without_weight_and_no_columns() -> None:
    columns, y, c = problem(8, 50, 1, 2, "logistic")
    w, _, _, _ = fitted("logistic", np.repeat(columns, 5, axis=0), y, c, 1e-9)
    assert np.isfinite(w).all()
    w, b, _, _ = fitted("logistic", columns, y, np.zeros(50), 1.0)
    assert not w.any()
    w, b, _, _ = fitted("squared", np.empty((0, 50), np.float32), y, c + 1.0, 1.0)
    np.testing.assert_allclose(b, y @ (c + 1.0) / (c + 1.0).sum())


def test_nonsense_is_refused() -> None:
    columns, y, c = problem(9, 20, 2, 1, "squared")
    with pytest.raises(ValueError, match="ridge must be above zero"):
        fitted("squared", columns, y, c, 0.0)
    with pytest.raises(ValueError, match="as long as the targets"):
        fitted("squared", columns[:, :-1].copy(), y, c, 1.0)
