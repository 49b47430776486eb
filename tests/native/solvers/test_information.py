"""The information matrix and factors against NumPy, dependent columns, and malformed arrays."""

import numpy as np
import pytest

from thresher import _native


def sparse(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    row, column = np.nonzero(x)
    indptr = np.concatenate([[0], np.cumsum((x != 0).sum(axis=1))]).astype(np.int64)
    return indptr, column.astype(np.uint32), x[row, column].astype(np.float32)


@pytest.mark.parametrize("density", [0.1, 0.9])
def test_sums_and_solutions_are_those_of_dense_matrices(density: float) -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random((203, 7)) < density, rng.normal(size=(203, 7)), 0.0).astype(np.float32)
    shift, scale = rng.normal(size=7) * (np.arange(7) % 2), rng.uniform(0.5, 2.0, 7)
    z = np.column_stack([(x.astype(np.float64) - shift) / scale, np.ones(len(x))])
    rows = _native.CandidateRows(*sparse(x), shift, scale)
    point, residuals, curvature = rng.normal(size=8), rng.normal(size=203), rng.uniform(0.1, 1.0, 203)
    penalty = np.array([0.0, 0.3, 0, 0, 0, 2.0, 0, 0])
    np.testing.assert_allclose(rows.margins(point), z @ point, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rows.gradient(residuals), z.T @ residuals, rtol=1e-10, atol=1e-10)
    matrix = z.T @ (curvature[:, None] * z) + np.diag(penalty)
    factor = rows.factor(curvature, penalty, 1e-9)
    right = rng.normal(size=8)
    np.testing.assert_allclose(factor.solve(right), np.linalg.solve(matrix, right), rtol=1e-9)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diag(np.linalg.inv(matrix)), rtol=1e-9)
    np.testing.assert_allclose((factor.forward(right) ** 2).sum(), right @ np.linalg.solve(matrix, right), rtol=1e-9)
    assert factor.dependent == []
    assert factor.size == 8


def test_a_repeated_key_has_the_sum_of_its_values() -> None:
    x = np.random.default_rng(1).normal(size=(40, 12)).astype(np.float32)
    x[:, 2:] = 0
    once = _native.CandidateRows(*sparse(x), np.zeros(12), np.ones(12))
    halves = np.repeat(x[:, :2] / 2, 2, axis=1).ravel()
    columns = np.tile(np.array([0, 0, 1, 1], np.uint32), 40)
    twice = _native.CandidateRows(np.arange(0, 161, 4), columns, halves, np.zeros(12), np.ones(12))
    penalty, right = np.ones(13), np.ones(13)
    one, other = (rows.factor(np.ones(40), penalty, 0.0).solve(right) for rows in (once, twice))
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_dependent_columns_and_what_they_depend_on() -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(-8, 9, size=(60, 6)).astype(np.float32)
    x[:, 3] = x[:, 0] - 2 * x[:, 2]
    x[:, 5] = 0
    factor = _native.CandidateRows(*sparse(x), np.zeros(6), np.ones(6)).factor(np.ones(60), np.zeros(7), 1e-9)
    assert factor.dependent == [3, 5]
    assert factor.involved(3) == [0, 2]
    assert factor.involved(5) == []
    found = factor.solve(np.ones(7))
    assert found[3] == found[5] == 0.0
    kept = [0, 1, 2, 4, 6]
    z = np.column_stack([x, np.ones(60)])[:, kept].astype(np.float64)
    np.testing.assert_allclose(found[kept], np.linalg.solve(z.T @ z, np.ones(5)), rtol=1e-9)


def test_columns_that_separate_by_themselves() -> None:
    x = np.array([[1, 1, 0, -1], [2, -1, 0, 1], [0, 1, 0, 3], [0, 1, 0, 0]], np.float32)
    rows = _native.CandidateRows(*sparse(x), np.array([0.0, 0, 0, 0]), np.ones(4))
    assert rows.separating(np.array([1.0, 1, 0, 0])).tolist() == [1, 0, 1, 0]
    assert rows.separating(np.array([1.0, 0, 0, 0])).tolist() == [0, 0, 1, 1]
    centred = _native.CandidateRows(*sparse(x), np.array([0.1, 0, 0, 0]), np.ones(4))
    assert centred.separating(np.array([1.0, 1, 0, 0]))[0] == 0


def test_malformed_arrays_are_refused() -> None:
    indptr, columns, values = sparse(np.eye(3, dtype=np.float32))
    ones = np.ones(3)
    with pytest.raises(ValueError, match="out of range"):
        _native.CandidateRows(indptr, columns + np.uint32(1), values, ones, ones)
    with pytest.raises(ValueError, match="as many"):
        _native.CandidateRows(indptr, columns, values, ones, np.ones(4))
    rows = _native.CandidateRows(indptr, columns, values, ones, ones)
    for wrong in (lambda: rows.margins(ones), lambda: rows.gradient(np.ones(4)), lambda: rows.separating(np.ones(2))):
        with pytest.raises(ValueError, match="wrong size"):
            wrong()
    with pytest.raises(ValueError, match="wrong size"):
        rows.factor(ones, ones, 0.0)
    with pytest.raises(ValueError, match="wrong size"):
        _native.SymmetricFactor(np.ones(3), 2, 0.0)
    factor = _native.SymmetricFactor(np.eye(2).ravel(), 2, 0.0)
    with pytest.raises(ValueError, match="out of range"):
        factor.involved(2)
    with pytest.raises(ValueError, match="wrong size"):
        factor.solve(ones)
