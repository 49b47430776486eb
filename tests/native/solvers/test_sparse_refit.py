"""The final fit against its twin: the objective, the stationary point, units and malformed arrays."""

import numpy as np
import pytest

from tests.reference.refit import gradient, objective
from thresher import _native

CASES = [
    ("one", "logistic", 1),
    ("one", "squared_hinge", 1),
    ("one", "squared", 1),
    ("one", "huber", 1),
    ("one", "squared_epsilon", 1),
    ("softmax", "softmax", 3),
    ("rest", "logistic", 3),
    ("many", "squared_hinge", 2),
]


def problem(kind: str, loss: str, lanes: int, seed: int, rows: int = 40, columns: int = 5):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((rows, columns)) < 0.6, rng.normal(size=(rows, columns)), 0.0).astype(np.float32)
    if kind in ("softmax", "rest"):
        y = rng.integers(0, lanes, rows).astype(float)
    elif loss in ("logistic", "squared_hinge"):
        y = rng.choice([-1.0, 1.0], (rows, lanes) if kind == "many" else rows)
    else:
        y = rng.normal(size=rows) + x[:, 0]
    weights = rng.integers(1, 4, rows).astype(float)
    return x, y, weights


def solver(x, y, weights, kind, loss, lanes, shift=None, scale=None, intercept=True):
    row, column = np.nonzero(x)
    indptr = np.concatenate([[0], np.cumsum((x != 0).sum(axis=1))]).astype(np.int64)
    width = x.shape[1]
    return _native.SparseRefit(
        indptr,
        column.astype(np.uint32),
        x[row, column],
        np.zeros(width) if shift is None else shift,
        np.ones(width) if scale is None else scale,
        np.ascontiguousarray(y).ravel(),
        weights,
        loss,
        0.7,
        kind,
        lanes,
        intercept,
    )


@pytest.mark.parametrize(("kind", "loss", "lanes"), CASES)
@pytest.mark.parametrize("ridge", [1e-3, 0.3])
def test_the_fit_is_the_minimum_of_the_twin_s_objective(kind: str, loss: str, lanes: int, ridge: float) -> None:
    x, y, weights = problem(kind, loss, lanes, seed=lanes)
    fitted = solver(x, y, weights, kind, loss, lanes)
    point, value, _, converged = fitted.fit(ridge, np.zeros(lanes * (x.shape[1] + 1)), 1e-8, 200)

    def slow(at: np.ndarray) -> float:
        return objective(x.astype(float), y, weights, kind, loss, 0.7, lanes, ridge, at)

    assert converged
    assert value == pytest.approx(slow(point), rel=1e-9)
    assert np.abs(gradient(point, slow)).max() < 1e-5
    again, *_ = fitted.fit(ridge, point + 0.5, 1e-8, 200)  # convex: from another start to the same value
    assert slow(again) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(("kind", "loss", "lanes"), CASES)
def test_shift_and_scale_are_those_of_the_columns(kind: str, loss: str, lanes: int) -> None:
    x, y, weights = problem(kind, loss, lanes, seed=7)
    shift, scale = np.linspace(-1, 1, x.shape[1]), np.linspace(0.5, 3, x.shape[1])
    start = np.zeros(lanes * (x.shape[1] + 1))
    inside = solver(x, y, weights, kind, loss, lanes, shift, scale)
    point, value, *_ = inside.fit(0.05, start, 1e-9, 200)
    moved = ((x - shift) / scale).astype(np.float32)
    outside, other, *_ = solver(moved, y, weights, kind, loss, lanes).fit(0.05, start, 1e-9, 200)
    assert value == pytest.approx(other, rel=1e-5)
    np.testing.assert_allclose(point, outside, rtol=2e-3, atol=2e-4)
    raw = inside.in_data_units(point).reshape(lanes, -1)
    table = point.reshape(lanes, -1)
    margins = x @ raw[:, :-1].T + raw[:, -1]
    np.testing.assert_allclose(margins, ((x - shift) / scale) @ table[:, :-1].T + table[:, -1], atol=1e-6)


def test_without_an_intercept() -> None:
    x, y, weights = problem("one", "logistic", 1, seed=3)
    point, *_ = solver(x, y, weights, "one", "logistic", 1, intercept=False).fit(0.1, np.zeros(6), 1e-8, 100)
    assert point[-1] == 0.0
    assert np.abs(point[:-1]).max() > 0


def test_separable_classes_stay_finite() -> None:
    x = np.array([[1.0], [2.0], [-1.0], [-2.0]], np.float32)
    y = np.array([1.0, 1.0, -1.0, -1.0])
    point, *_ = solver(x, y, np.ones(4), "one", "logistic", 1).fit(1e-6, np.zeros(2), 1e-4, 50)
    assert np.isfinite(point).all()
    assert point[0] > 1


def test_arrays_that_do_not_fit_are_refused() -> None:
    x, y, weights = problem("one", "logistic", 1, seed=1)
    with pytest.raises(ValueError, match="do not fit"):
        solver(x, y[1:], weights, "one", "logistic", 1)
    with pytest.raises(ValueError, match="no class"):
        solver(x, y - 5, weights, "softmax", "softmax", 2)
    with pytest.raises(ValueError, match="second derivatives"):
        solver(x, y, weights, "one", "hinge", 1)
    with pytest.raises(ValueError, match="no weight"):
        solver(x, y, 0 * weights, "one", "logistic", 1)
    with pytest.raises(ValueError, match="out of range"):
        _native.SparseRefit(
            np.array([0, 1]), np.array([1], np.uint32), None, np.zeros(1), np.ones(1), np.ones(1), np.ones(1),
            "logistic", 1.0, "one", 1, True,
        )  # fmt: skip
    fitted = solver(x, y, weights, "one", "logistic", 1)
    with pytest.raises(ValueError, match="wrong size"):
        fitted.fit(0.1, np.zeros(3), 1e-4, 5)
