"""The l1 problem: its optimum against plain proximal gradient, cvxpy and LIBLINEAR, and its bound."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.reference.sparse_rf import l1 as reference
from thresher import _native

POOL = _native.ThreadPool(2)
LOSSES = ("squared", "squared_hinge", "logistic")
Array = np.ndarray[Any, Any]


def problem(seed: int, loss: str, n: int = 60, p: int = 12) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)).astype(np.float32).astype(np.float64)
    x[:, 3] = x[:, 2] + np.float32(0.05) * x[:, 4]  # two that are much alike
    x = x.astype(np.float32).astype(np.float64)
    signal = x[:, 0] - 0.7 * x[:, 2] + 0.5 * rng.normal(size=n) + 0.3
    y = signal if loss == "squared" else np.where(signal > 0, 1.0, -1.0)
    return x, y, 0.5 + rng.random(n)


def solver_of(loss: str, x: Array, y: Array, c: Array, *, shift: bool = True, factors: Any = None) -> _native.L1Solver:
    solver = _native.L1Solver(loss, y, c, shift)
    factors = np.ones(x.shape[1]) if factors is None else factors
    solver.add(np.ascontiguousarray(x.T, dtype=np.float32), factors, POOL)
    return solver


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize("lam", [0.5, 5.0])
def test_the_optimum_against_plain_proximal_gradient(loss: str, shift: bool, lam: float) -> None:
    x, y, c = problem(0, loss)
    factors = np.linspace(0.5, 1.5, x.shape[1])
    solver = solver_of(loss, x, y, c, shift=shift, factors=factors)
    solved = solver.solve(lam, 1e-10, 200, POOL)
    w, b = reference.solve(loss, x, y, c, lam * factors, fit_intercept=shift)
    assert np.allclose(solver.weights, w, atol=1e-4)
    assert np.array_equal(solver.weights == 0, np.abs(w) < 1e-6)
    assert np.isclose(solver.intercept, b, atol=1e-4)
    mine = reference.objective(loss, x, solver.weights, solver.intercept, y, c, lam * factors)
    assert np.isclose(solved["objective"], mine, rtol=1e-12)
    assert np.isclose(solved["penalty"], lam * factors @ np.abs(solver.weights))
    bound = reference.lower_bound(loss, x, solver.slopes, y, c, lam * factors)
    assert solved["objective"] - solved["bound"] <= 1e-10 * solved["objective"]
    assert bound <= solved["bound"] * (1 + 1e-12) <= solved["objective"] * (1 + 1e-9)
    assert np.isclose(bound, solved["bound"], rtol=1e-7)
    assert np.allclose(solver.gradient(POOL), x.T @ solver.slopes, atol=1e-9)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_against_a_convex_solver(loss: str) -> None:
    cvxpy = pytest.importorskip("cvxpy")
    x, y, c = problem(1, loss)
    solver = solver_of(loss, x, y, c)
    solved = solver.solve(2.0, 1e-9, 200, POOL)
    w, b = cvxpy.Variable(x.shape[1]), cvxpy.Variable()
    m = x @ w + b
    row_loss = {
        "squared_hinge": lambda: 0.5 * cvxpy.square(cvxpy.pos(1 - cvxpy.multiply(y, m))),
        "logistic": lambda: cvxpy.logistic(-cvxpy.multiply(y, m)),
        "squared": lambda: 0.5 * cvxpy.square(m - y),
    }[loss]()
    whole = cvxpy.Problem(cvxpy.Minimize(c @ row_loss + 2.0 * cvxpy.norm1(w)))
    whole.solve(solver="CLARABEL")
    assert np.isclose(solved["objective"], whole.value, rtol=1e-6)
    assert np.allclose(solver.weights, w.value, atol=2e-3)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_optimum_against_liblinear(loss: str) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    x, y, _ = problem(2, loss, n=400, p=30)
    lam = 4.0
    # LIBLINEAR has Σ max(0, 1 - m)², twice our squared hinge.
    solver = solver_of(loss, x, y, np.full(400, 2.0 if loss == "squared_hinge" else 1.0), shift=False)
    solved = solver.solve(lam, 1e-8, 200, POOL)
    kind: Any = LinearSVC if loss == "squared_hinge" else LogisticRegression
    extra = {"dual": False} if loss == "squared_hinge" else {"solver": "liblinear"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(penalty="l1", C=1.0 / lam, fit_intercept=False, tol=1e-8, max_iter=20_000, **extra).fit(x, y)
    assert np.allclose(solver.weights, model.coef_[0], atol=1e-3)
    c = np.full(400, 2.0 if loss == "squared_hinge" else 1.0)
    theirs = reference.objective(loss, x, model.coef_[0], 0.0, y, c, np.full(30, lam))
    assert solved["bound"] <= theirs
    assert solved["objective"] <= theirs * (1 + 1e-8)


@examples(40)
@given(st.integers(0, 10_000), st.sampled_from(LOSSES), st.booleans(), st.floats(0.01, 50.0), st.integers(1, 25))
@example(6971, "logistic", False, 0.02443134029273749, 9)  # flat directions: the first step is far too long
@example(522, "logistic", False, 0.011584234185759925, 4)
def test_the_gap_closes_on_any_problem(seed: int, loss: str, shift: bool, lam: float, p: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    x = (rng.normal(size=(n, p)) * rng.integers(0, 2, size=(n, p))).astype(np.float32).astype(np.float64)
    x[:, rng.integers(p)] = x[:, 0]  # the same column twice, maybe
    y = rng.normal(size=n) if loss == "squared" else rng.choice([-1.0, 1.0], n)
    c = rng.integers(0, 3, n).astype(np.float64)  # some rows count for nothing
    solver = solver_of(loss, x, y, c, shift=shift)
    solved = solver.solve(lam, 1e-6, 500, POOL)
    scale = float(c @ reference.loss(loss, np.zeros(n), y))
    assert solved["objective"] - solved["bound"] <= 1e-6 * solved["objective"] + 1e-9 * scale
    assert np.isfinite(solver.weights).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_columns_come_and_go(loss: str) -> None:
    """Blocks added one by one, zeros dropped, sparse or dense: the optimum is that of solving it all at once."""
    x, y, c = problem(3, loss, n=300, p=40)
    x[np.random.default_rng(0).random(x.shape) < 0.5] = 0.0
    whole = solver_of(loss, x, y, c)
    best = whole.solve(3.0, 1e-9, 200, POOL)
    stepwise = _native.L1Solver(loss, y, c, True)
    kept = np.empty(0, np.int64)
    last = np.inf
    for begin in (0, 10, 20, 30):
        block = x[:, begin : begin + 10]
        columns, rows = np.nonzero(block.T)
        indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(block, axis=0))]).astype(np.int64)
        values = block[rows, columns].astype(np.float32)
        stepwise.add_sparse(indptr, rows.astype(np.uint32), values, np.ones(10), POOL)
        solved = stepwise.solve(3.0, 1e-9, 200, POOL)
        assert solved["objective"] <= last * (1 + 1e-9)
        last = solved["objective"]
        support = np.flatnonzero(stepwise.weights)
        kept = np.concatenate([kept, np.arange(begin, begin + 10)])[support]
        stepwise.keep(support)
        assert stepwise.columns == len(kept)
    outside = np.setdiff1d(np.arange(40), kept)
    again = _native.L1Solver(loss, y, c, True)
    again.add(np.ascontiguousarray(x[:, np.concatenate([kept, outside])].T, dtype=np.float32), np.ones(40), POOL)
    again.restore(np.concatenate([stepwise.weights, np.zeros(len(outside))]), stepwise.intercept, POOL)
    assert np.allclose(again.slopes, stepwise.slopes, atol=1e-9)
    assert np.isclose(again.solve(3.0, 1e-9, 200, POOL)["objective"], best["objective"], rtol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_any_number_of_threads_gives_the_same_bits(loss: str) -> None:
    x, y, c = problem(4, loss, n=20_003, p=90)
    answers = []
    for threads in (1, 2, 3):
        pool = _native.ThreadPool(threads)
        solver = _native.L1Solver(loss, y, c, True)
        for half in (x[:, :50], x[:, 50:]):
            solver.add(np.ascontiguousarray(half.T, dtype=np.float32), np.ones(half.shape[1]), pool)
            solver.solve(20.0, 1e-8, 100, pool)
        answers.append((solver.weights.tolist(), solver.intercept, solver.slopes.tolist()))
    assert answers[0] == answers[1] == answers[2]


def test_a_penalty_too_large_leaves_the_shift_alone() -> None:
    x, y, c = problem(5, "logistic")
    solver = solver_of("logistic", x, y, c)
    solver.solve(1e9, 1e-9, 10, POOL)
    assert not solver.weights.any()
    largest = float(np.abs(solver.gradient(POOL)).max())
    solver.solve(largest * 1.001, 1e-9, 10, POOL)
    assert not solver.weights.any()
    solver.solve(largest * 0.98, 1e-9, 10, POOL)
    assert np.count_nonzero(solver.weights) == 1


def test_what_is_no_problem_is_refused() -> None:
    for loss in ("hinge", "huber", "nonsense"):
        with pytest.raises(ValueError):
            _native.L1Solver(loss, np.zeros(3), np.ones(3), True)
    solver = _native.L1Solver("squared", np.zeros(3), np.ones(3), True)
    with pytest.raises(ValueError, match="as long as there are rows"):
        solver.add(np.zeros((1, 2), np.float32), np.ones(1), POOL)
    with pytest.raises(ValueError, match="above zero"):
        solver.add(np.zeros((1, 3), np.float32), np.zeros(1), POOL)
    with pytest.raises(ValueError, match="lambda"):
        solver.solve(0.0, 1e-3, 10, POOL)
    with pytest.raises(ValueError, match="be there"):
        solver.keep(np.array([0], np.int64))
    with pytest.raises(ValueError, match="rise"):
        solver.add_sparse(np.array([0, 1]), np.array([3], np.uint32), np.ones(1, np.float32), np.ones(1), POOL)
