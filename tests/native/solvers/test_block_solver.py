"""The inner problem: the projection and the optimum, against brute force, plain proximal gradient and cvxpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.reference.fgm import working_set as reference
from thresher import _native

POOL = _native.ThreadPool(2)
LOSSES = ("squared_hinge", "logistic", "squared")


def add(solver: _native.BlockSolver, block: np.ndarray[Any, Any], scales: Any = None) -> None:
    columns, rows = np.nonzero(block.T)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(block, axis=0))]).astype(np.int64)
    scales = np.ones(block.shape[1]) if scales is None else scales
    solver.add_block(indptr, rows.astype(np.uint32), block[rows, columns].astype(np.float32), scales)


def problem(seed: int, n: int = 40, loss: str = "squared_hinge") -> tuple[list[Any], Any, Any]:
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(3):
        x = rng.normal(size=(n, 4)) * (rng.random((n, 4)) < (0.15 if seed % 2 else 0.9))
        blocks.append(x.astype(np.float32).astype(np.float64))
    y = np.sign(blocks[0][:, 0] + blocks[1][:, 1] + 0.5 * rng.normal(size=n) + 0.4)
    y[y == 0] = 1.0
    y[:2] = (1.0, -1.0)
    return blocks, (rng.normal(size=n) + blocks[0][:, 0] if loss == "squared" else y), 0.5 + rng.random(n)


@examples(200)
@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=8), st.floats(1e-3, 1e3))
def test_the_projection_against_trying_every_count(norms: list[float], tau: float) -> None:
    found = _native.shrink_norms(np.array(norms), tau)
    assert np.allclose(found, reference.shrink(np.array(norms), tau), atol=1e-9 * max(1.0, *norms))


def test_the_projection_against_a_convex_solver() -> None:
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(0)
    for tau in (0.1, 1.0, 7.0):
        u = [rng.normal(size=3) for _ in range(4)]
        w = [cvxpy.Variable(3) for _ in u]
        value = 0.5 * tau * sum(cvxpy.sum_squares(a - b) for a, b in zip(w, u, strict=True))
        value += 0.5 * cvxpy.square(sum(cvxpy.norm(a) for a in w))
        cvxpy.Problem(cvxpy.Minimize(value)).solve(solver="CLARABEL")
        norms = np.array([np.linalg.norm(b) for b in u])
        kept = _native.shrink_norms(norms, tau)
        for a, b, norm, now in zip(w, u, norms, kept, strict=True):
            assert np.allclose(a.value, b * now / norm, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("shift", "seed"), [(True, 0), (False, 1)])
def test_the_optimum_against_plain_proximal_gradient(loss: str, shift: bool, seed: int) -> None:
    blocks, y, c = problem(seed, loss=loss)
    solver = _native.BlockSolver(loss, 1.0, y, c, shift)
    for block in blocks:
        add(solver, block)
    solved = solver.solve(0.0, 10_000, POOL)
    w, b = reference.solve(loss, blocks, y, c, fit_intercept=shift)
    assert np.allclose(solver.weights, np.concatenate(w), atol=1e-4)
    assert np.isclose(solver.intercept, b, atol=1e-4)
    mine = np.split(solver.weights, 3)
    assert np.isclose(solved["objective"], reference.objective(loss, blocks, mine, solver.intercept, y, c), rtol=1e-12)
    margins = np.hstack(blocks) @ solver.weights + solver.intercept
    assert np.allclose(solver.slopes, c * reference.slope(loss, margins, y), atol=1e-12)
    assert 0 <= solved["objective"] - solved["bound"] < 1e-6 * solved["objective"]
    if shift:
        assert abs(solver.slopes.sum()) < 1e-10 * np.abs(solver.slopes).sum()


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_and_alpha_against_a_convex_solver(loss: str) -> None:
    cvxpy = pytest.importorskip("cvxpy")
    blocks, y, c = problem(4, loss=loss)
    solver = _native.BlockSolver(loss, 1.0, y, c, True)
    for block in blocks:
        add(solver, block)
    solved = solver.solve(0.0, 10_000, POOL)
    w, b = [cvxpy.Variable(4) for _ in blocks], cvxpy.Variable()
    m = cvxpy.Variable(len(y))
    row_loss = {
        "squared_hinge": lambda: 0.5 * cvxpy.square(cvxpy.pos(1 - cvxpy.multiply(y, m))),
        "logistic": lambda: cvxpy.logistic(-cvxpy.multiply(y, m)),
        "squared": lambda: 0.5 * cvxpy.square(m - y),
    }[loss]()
    ties = m == sum(block @ v for block, v in zip(blocks, w, strict=True)) + b
    value = 0.5 * cvxpy.square(sum(cvxpy.norm(v) for v in w)) + c @ row_loss
    whole = cvxpy.Problem(cvxpy.Minimize(value), [ties])
    whole.solve(solver="CLARABEL")
    assert np.isclose(solved["objective"], whole.value, rtol=1e-6)
    assert np.allclose(solver.weights, np.concatenate([v.value for v in w]), atol=1e-3)
    alpha = np.abs(ties.dual_value)  # Theorem 3: the slope of the loss is the dual variable
    assert np.allclose(np.abs(solver.slopes), alpha, atol=1e-3)


def test_scales_are_the_columns_times_a_number() -> None:
    blocks, y, c = problem(2)
    scales = np.array([2.0, 0.5, 1.0, 4.0])
    scaled = _native.BlockSolver("logistic", 1.0, y, c, True)
    plain = _native.BlockSolver("logistic", 1.0, y, c, True)
    add(scaled, blocks[0], scales)
    add(plain, blocks[0] * scales)
    scaled.solve(0.0, 5000, POOL)
    plain.solve(0.0, 5000, POOL)
    assert np.allclose(scaled.weights, plain.weights, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_any_number_of_threads_gives_the_same_bits(loss: str) -> None:
    blocks, y, c = problem(3, n=20_000, loss=loss)
    answers = []
    for threads in (1, 2, 3):
        solver = _native.BlockSolver(loss, 1.0, y, c, True)
        pool = _native.ThreadPool(threads)
        for block in blocks:
            add(solver, block)
            solver.solve(1e-6, 1000, pool)
        answers.append((solver.weights.tolist(), solver.intercept, solver.slopes.tolist()))
    assert answers[0] == answers[1] == answers[2]


def test_a_restored_solver_goes_on_to_the_same_bits() -> None:
    blocks, y, c = problem(5)
    whole = _native.BlockSolver("squared_hinge", 1.0, y, c, True)
    add(whole, blocks[0])
    whole.solve(1e-3, 1000, POOL)
    again = _native.BlockSolver("squared_hinge", 1.0, y, c, True)
    add(again, blocks[0])
    again.restore(whole.weights, whole.intercept, whole.tau, POOL)
    assert again.slopes.tolist() == whole.slopes.tolist()
    for solver in (whole, again):
        add(solver, blocks[1])
        solver.solve(1e-3, 1000, POOL)
    assert again.weights.tolist() == whole.weights.tolist()


def test_the_best_shift_alone() -> None:
    y = np.array([1.0] * 90 + [-1.0] * 10)
    for loss, expected in (("squared_hinge", 0.8), ("logistic", np.log(9.0)), ("squared", 0.8)):
        solver = _native.BlockSolver(loss, 1.0, y, np.full(100, 10.0), True)
        solver.solve(1e-3, 100, POOL)
        assert np.isclose(solver.intercept, expected, rtol=1e-9)
        assert abs(solver.slopes.sum()) < 1e-9


def test_blocks_that_are_none_are_refused() -> None:
    solver = _native.BlockSolver("squared", 1.0, np.zeros(3), np.ones(3), True)
    one = np.ones(1)
    for indptr, rows in (([0, 2], [1, 1]), ([0, 1], [3]), ([1, 1], []), ([0, 2], [2, 1]), ([0, 1, 0], [1])):
        with pytest.raises(ValueError):
            solver.add_block(np.array(indptr, np.int64), np.array(rows, np.uint32), np.ones(len(rows), np.float32), one)


def test_a_loss_without_second_derivatives_is_refused() -> None:
    """It was taken for huber."""
    solver = _native.BlockSolver("hinge", 1.0, np.array([1.0, -1.0]), np.ones(2), True)
    add(solver, np.eye(2))
    with pytest.raises(ValueError, match="a loss with second derivatives"):
        solver.solve(1e-6, 10, POOL)
