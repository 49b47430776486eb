"""The loop that the simulations of the MISSION paper run in: its parts, and that the package's engine does the same."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.papers.mission.full_gradient import (
    Fading,
    Method,
    Problems,
    exchange,
    fitted,
    forget,
    largest,
    recovered,
    solve,
)
from benchmarks.papers.mission.through_engine import batch_of, descend, descend_by_gradients, iht, mission

N, P, K = 40, 120, 4
#: Fixed values: the engine's cells are float32, so two equally strong features might be ranked differently.
SEEDS = pytest.mark.parametrize("seed", range(6))


def drawn(seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows and weights; the rows are numbers that float32 has."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, P)).astype(np.float32).astype(np.float64)
    truth = np.zeros(P)
    truth[rng.permutation(P)[:K]] = rng.normal(size=K)
    return x, truth


def problem(x: NDArray[np.float64], truth: NDArray[np.float64], scales: NDArray[np.float64] | None = None) -> Problems:
    scales = np.ones((1, P)) if scales is None else scales
    return Problems((x.T @ x / N)[None], np.zeros(len(scales), np.int64), scales, np.tile(truth, (len(scales), 1)))


@SEEDS
@pytest.mark.parametrize("steps", [1, 7, 25, 80])
def test_the_engine_with_an_identity_sketch_is_mission(seed: int, steps: int) -> None:
    x, truth = drawn(seed)
    method = Method(step=0.3, steps=steps, fade=Fading(0.001, 0.3))
    ours = solve(problem(x, truth), K, method)
    engine = mission(K, N, 0.3, (1, P), identity=True)
    descend(engine, batch_of(x, x @ truth), int(ours.steps[0]), lambda done: method.fade(done * ours.steps[0] / steps))
    _assert_same(engine.selected(), ours.support[0], ours.weights[0])


@SEEDS
@pytest.mark.parametrize("steps", [1, 7, 25, 80])
def test_the_engine_that_forgets_is_iht(seed: int, steps: int) -> None:
    x, truth = drawn(seed)
    ours = solve(problem(x, truth), K, Method(step=0.5, steps=steps, fade=forget))
    engine = iht(K, N, 0.5)
    descend(engine, batch_of(x, x @ truth), int(ours.steps[0]), None)
    _assert_same(engine.selected(), ours.support[0], ours.weights[0])


@SEEDS
def test_a_gradient_learned_as_one_row_is_a_step_over_all_rows(seed: int) -> None:
    x, truth = drawn(seed)
    y, fade = x @ truth, Fading(0.001, 0.3)
    whole, single = (mission(K, rows, 0.3, (3, 200), seed=seed) for rows in (N, 1))
    descend(whole, batch_of(x, y), 30, fade)
    assert descend_by_gradients(single, x, y, 30, fade) == 30
    found = whole.selected()
    order = np.argsort(found.keys)
    _assert_same(single.selected(), found.keys[order].astype(np.int64), found.weights[order])


def _assert_same(found, support, weights) -> None:
    order = np.argsort(found.keys)
    np.testing.assert_array_equal(found.keys[order].astype(np.int64), support)
    np.testing.assert_allclose(found.weights[order], weights, rtol=1e-4, atol=1e-5)


def test_descent_and_least_squares_are_those_of_the_scaled_columns() -> None:
    x, truth = drawn(3)
    scales = np.where(truth != 0, 1 / np.array([[1.0], [2.0]]), 1.0)
    support = np.array([[1, 5, 7, 30], [2, 5, 8, 31]])
    weights = np.arange(8.0).reshape(2, 4)
    problems = problem(x, truth, scales)
    down, best = problems.descent(support, weights), problems.least_squares(support)
    for i in range(2):
        columns = x * scales[i] / np.sqrt(N)
        y = columns @ truth
        np.testing.assert_allclose(down[i], columns.T @ (y - columns[:, support[i]] @ weights[i]), atol=1e-12)
        np.testing.assert_allclose(best[i], np.linalg.lstsq(columns[:, support[i]], y, rcond=None)[0], rtol=1e-9)


def test_an_exchange_lets_so_many_in_and_no_more() -> None:
    store = np.array([[5.0, 1.0, -2.0, 4.0, -6.0, 0.5]])
    support = np.array([[1, 2, 5]])
    assert largest(store, support, 3).tolist() == [[0, 3, 4]]
    assert exchange(1)(store, support, 3).tolist() == [[1, 2, 4]]
    assert exchange(2)(store, support, 3).tolist() == [[0, 2, 4]]
    assert exchange(3)(store, support, 3).tolist() == [[0, 3, 4]]


@pytest.mark.parametrize(
    "method",
    [
        Method(step=0.3, steps=600, fade=Fading(0.001, 0.3)),
        Method(step=0.5, steps=600, fade=forget),
        Method(step=1.0, steps=50, fade=forget, weigh=fitted),
        Method(step=1.0, steps=50, fade=forget, weigh=fitted, choose=exchange(1)),
    ],
)
def test_solved_alone_or_side_by_side_is_the_same(method: Method) -> None:
    x, truth = drawn(11)
    truth[truth != 0] = 1.0
    scales = np.where(truth != 0, 1 / np.array([[1.0], [1.25], [3.0]]), 1.0)
    together = problem(x, truth, scales)
    found = solve(together, K, method)
    assert recovered(together, found)[0]
    for i in range(3):
        alone = solve(problem(x, truth, scales[i : i + 1]), K, method)
        np.testing.assert_array_equal(alone.support[0], found.support[i])
        assert alone.steps[0] == found.steps[i]
