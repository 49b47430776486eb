"""Online Substitution: the paper's algorithms step by step, and the same answer whatever the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference import substitution as reference
from thresher import _native

POOL = _native.ThreadPool(2)
EVEN = np.empty(0)
LOSSES = ["squared", "squared_hinge", "logistic", "huber", "squared_epsilon"]
REAL = ("squared", "huber", "squared_epsilon")
NONE = 2**64 - 1


def data(n: int = 150, p: int = 200, s: int = 10, seed: int = 0) -> tuple[Any, Any, set[int]]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)).astype(np.float32)
    true = rng.choice(p, s, replace=False)
    return x, x[:, true] @ rng.normal(size=s) + 0.1 * rng.normal(size=n), set(true.tolist())


def targets(loss: str, y: Any) -> Any:
    return y if loss in REAL else np.where(y > 0, 1.0, -1.0)


def scaled(x: Any) -> Any:
    wide = x.astype(np.float64)
    return wide / np.sqrt((wide**2).mean(axis=0))


def native(loss: str, y: Any, s: int, *, eta: float = 0.0, m: float = 1.0, c: float = 0.0, **more: Any) -> Any:
    shift = more.pop("shift", False)
    weights = more.pop("weights", EVEN)
    return _native.Substitution.make(loss, 0.5, np.atleast_2d(y), weights, shift, s, eta, 0.95, m, c, **more)


def scan(method: Any, x: Any, block: int, pool: Any = POOL) -> list[tuple[int, int | None]]:
    changes: list[tuple[int, int | None]] = []
    for at in range(0, x.shape[1], block):
        part = np.ascontiguousarray(x[:, at : at + block].T)
        entered, left = method.arrive(part, np.arange(at, at + len(part), dtype=np.uint64), pool)
        pairs = zip(entered.tolist(), left.tolist(), strict=True)
        changes += [(j, None if k == NONE else k) for j, k in pairs]
    return changes


def same(one: th.Selection, other: th.Selection) -> bool:
    return one.names == other.names and one.weights.tolist() == other.weights.tolist()


# ── the algorithm ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("block", [1, 7, 64])
def test_decisions_are_those_of_algorithm_1(loss: str, block: int) -> None:
    """Blocks by matrix products decide as one feature after the other in double precision does."""
    x, y, _ = data()
    y = targets(loss, y)
    twin = reference.OnlineSubstitution(y, 10, 0.4, loss, m=1.5, c=0.3, lipschitz=0.0, delta=0.5)
    method = native(loss, y, 10, eta=0.4, m=1.5, c=0.0)
    twin.c = 0.0
    columns = list(enumerate(scaled(x).T))
    changes = []
    for _ in range(2):
        reference.scan(twin, columns)
        changes += scan(method, x, block)
    assert twin.close == 0  # no decision was so near that rounding could turn it
    assert changes == twin.changes
    assert len(changes) > 12
    mine = dict(zip(method.ids.tolist(), method.weights.tolist(), strict=True))
    assert mine.keys() == twin.w.keys()
    assert np.allclose([mine[k] for k in twin.w], list(twin.w.values()), rtol=1e-9)
    assert np.isclose(method.objective(POOL), twin.values[-1], rtol=1e-9)


@examples(20)
@given(
    seed=st.integers(0, 10_000),
    loss=st.sampled_from(LOSSES),
    arrivals=st.sampled_from([2, 7, 50]),
    block=st.sampled_from([1, 13, 60]),
    ridge=st.sampled_from([0.0, 0.1]),
    m=st.sampled_from([1.0, 4.0, 30.0]),
)
def test_shared_steps_refuse_only_what_cannot_enter(
    seed: int, loss: str, arrivals: int, block: int, ridge: float, m: float
) -> None:
    """The twin compares every arrival with all kept weights, and has no bound."""
    x, y, _ = data(n=60, p=60, s=5, seed=seed)
    y = targets(loss, y)
    twin = reference.OnlineSubstitution(y, 5, 0.3, loss, m=m, delta=0.5, arrivals=arrivals, ridge=ridge)
    method = native(loss, y, 5, eta=0.3, m=m, arrivals=arrivals, ridge=ridge)
    changes = []
    for _ in range(2):
        reference.scan(twin, enumerate(scaled(x).T))
        changes += scan(method, x, block)
    if twin.close == 0:
        assert changes == twin.changes
        assert np.allclose(sorted(method.weights), sorted(twin.w.values()), rtol=1e-7)
        assert np.isclose(method.objective(POOL), twin.f(twin.w), rtol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_arrival_a_step_has_the_bits_of_algorithm_1(loss: str) -> None:
    x, y, _ = data()
    states = []
    for more in ({}, {"arrivals": 1, "shrink": 0.0, "ridge": 0.0}):
        method = native(loss, targets(loss, y), 10, shift=True, **more)
        scan(method, x, 16)
        states.append({name: array.tolist() for name, array in method.state().items()})
    assert states[0] == states[1]


@examples(10)
@given(stop=st.integers(1, 119), outputs=st.sampled_from([1, 2]))
def test_shared_steps_go_on_from_a_state(stop: int, outputs: int) -> None:
    x, y, _ = data(n=80, p=120)
    y = np.stack([targets("logistic", y), targets("logistic", x[:, 3])])[:outputs]
    given = {"m": 20.0, "arrivals": 16, "shrink": 5.0, "ridge": 0.1, "shift": True}
    whole, first, second = (native("logistic", y, 8, **given) for _ in range(3))
    scan(whole, x, 120)
    scan(first, x[:, :stop], 50)
    second.restore(**first.state(), pool=POOL)
    second.arrive(np.ascontiguousarray(x[:, stop:].T), np.arange(stop, 120, dtype=np.uint64), POOL)
    for name, array in whole.state().items():
        assert array.tolist() == second.state()[name].tolist()


def test_the_scale_of_rare_columns_is_shrunk() -> None:
    rng = np.random.default_rng(1)
    x = (rng.random((200, 6)) < [0.02, 0.05, 0.1, 0.3, 0.7, 1.0]).astype(np.float32) * rng.normal(size=(200, 6))
    x = x.astype(np.float32)
    method = native("logistic", np.where(x.sum(axis=1) > 0, 1.0, -1.0), 6, shrink=10.0, shift=True)
    scan(method, x, 6)
    counts = (x != 0).sum(axis=0)
    want = np.sqrt(counts / (counts + 10)) / x.astype(np.float64).std(axis=0)
    assert np.allclose(method.state()["scalings"].reshape(6, 2)[:, 1], want)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_columns_of_few_numbers_decide_alike(loss: str) -> None:
    """Zeros of kept columns are passed over; some columns are whole."""
    x, y, _ = data()
    x[:, ::2][np.random.default_rng(4).random((150, 100)) < 0.96] = 0.0
    y = targets(loss, y)
    twin = reference.OnlineSubstitution(y, 10, 0.4, loss)
    reference.scan(twin, enumerate(scaled(x).T))
    for by_rows in (False, True):
        method = native(loss, y, 10, eta=0.4, by_rows=by_rows)
        assert scan(method, x, 16) == twin.changes
        mine = dict(zip(method.ids.tolist(), method.weights.tolist(), strict=True))
        assert np.allclose([mine[k] for k in twin.w], list(twin.w.values()), rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_without_their_zeros_have_the_bits_of_whole_ones(loss: str, weighted: bool) -> None:
    """Over more than one part of the rows, in blocks that are made whole and in such that are not."""
    rng = np.random.default_rng(6)
    x, y, _ = data(n=4500, p=60, s=6)
    x[rng.random(x.shape) < np.where(np.arange(60) % 3, 0.97, 0.6)] = 0.0
    y = targets(loss, y + 3 * x[:, 0])
    more = {"shift": True, "weights": rng.dirichlet(np.ones(len(y))) if weighted else EVEN}
    states = []
    for block in (None, 60, 1, 7):
        method = native(loss, y, 6, **more)
        for _ in range(2):
            for at in range(0, 60, block or 60):
                ids = np.arange(at, min(at + (block or 60), 60), dtype=np.uint64)
                few = sp.csc_array(x[:, at : at + len(ids)])
                if block is None:
                    method.arrive(np.ascontiguousarray(x.T), ids, POOL)
                else:
                    arrays = few.indptr.astype(np.int64), few.indices.astype(np.uint32), few.data
                    method.arrive_sparse(*arrays, ids, POOL)
        states.append({name: array.tolist() for name, array in method.state().items()})
    assert all(state == states[0] for state in states)
    assert states[0]["counts"][1] > 10


def test_columns_that_are_not_in_order_are_refused() -> None:
    _, y, _ = data()
    method, ids = native("squared", y, 5), np.arange(1, dtype=np.uint64)
    for at, values, message in (([3, 2], [1, 1], "rise"), ([2, 150], [1, 1], "rise"), ([2, 3], [1, 0], "zeros")):
        arrays = np.array([0, 2]), np.array(at, np.uint32), np.array(values, np.float32)
        with pytest.raises(ValueError, match=message):
            method.arrive_sparse(*arrays, ids, POOL)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_block_size_and_threads_change_no_bit(loss: str) -> None:
    x, y, _ = data(n=3000, p=90)
    states = []
    for block, threads in ((64, 1), (64, 2), (5, 2)):
        method, pool = native(loss, targets(loss, y), 10, shift=True), _native.ThreadPool(threads)
        for _ in range(2):
            scan(method, x, block, pool)
        states.append({name: array.tolist() for name, array in method.state().items()})
    assert states[0] == states[1] == states[2]


def test_products_have_the_same_bits_with_and_without_fused_operations() -> None:
    """Products of floats are exact in double precision; with weights of one the other path is taken."""
    rng = np.random.default_rng(3)
    left, right = (rng.normal(size=(n, 5000)).astype(np.float32) for n in (13, 9))
    fused = _native.column_products(left, right, EVEN, POOL)
    plain = _native.column_products(left, right, np.ones(5000), POOL)
    assert fused.tolist() == plain.tolist()
    assert np.allclose(fused.reshape(13, 9), left.astype(float) @ right.T.astype(float), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_never_rises_and_the_step_stays_safe(loss: str) -> None:
    """Columns are much alike here, so a step that is too long would show."""
    x, y, _ = data(p=120)
    x += 2.0 * np.random.default_rng(1).normal(size=(len(x), 1)).astype(np.float32)
    method, z = native(loss, targets(loss, y), 8), scaled(x)
    curvature = 0.25 if loss == "logistic" else 1.0
    last = np.inf
    for j in range(2 * x.shape[1]):
        j %= x.shape[1]
        full = method.size == 8
        method.arrive(np.ascontiguousarray(x[:, j : j + 1].T), np.array([j], np.uint64), POOL)
        kept = z[:, method.ids.astype(int)]
        assert curvature * np.linalg.eigvalsh(kept.T @ kept / len(x))[-1] <= method.lipschitz * (1 + 1e-9)
        now = method.objective(POOL)
        assert now <= last * (1 + 1e-12) or not full
        last = now


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_theorem_1(loss: str) -> None:
    """(8) along a run with c = 0.5 and η < 1/L_F, once there is no room."""
    x, y, _ = data()
    y = targets(loss, y)
    z = scaled(x)
    lipschitz = np.linalg.eigvalsh(z.T @ z / len(z))[-1]
    twin = reference.OnlineSubstitution(y, 10, 0.7 / lipschitz, loss, c=0.5, lipschitz=lipschitz)
    reference.scan(twin, list(enumerate(z.T))[:10])
    start, before = twin.values[-1], len(twin.moves)
    for _ in range(3):
        reference.scan(twin, enumerate(z.T))
    squares = np.cumsum(twin.moves[before:])
    falls = start - np.array(twin.values[before:])
    eta = twin.eta
    assert (squares / eta**2 <= 2 * falls / (0.5 * (1 - eta * lipschitz) * eta) + 1e-12).all()


def test_centred_is_algorithm_1_on_centred_columns() -> None:
    x, y, _ = data()
    x += np.linspace(-3, 3, x.shape[1]).astype(np.float32)
    wide = x.astype(np.float64)
    centred = (wide - wide.mean(axis=0)) / wide.std(axis=0)
    twin = reference.OnlineSubstitution(y + 5 - (y + 5).mean(), 10, 0.3)
    reference.scan(twin, enumerate(centred.T))
    for by_rows in (False, True):
        method = native("squared", y + 5, 10, eta=0.3, shift=True, by_rows=by_rows)
        assert scan(method, x, 16) == twin.changes
        mine = dict(zip(method.ids.tolist(), method.weights.tolist(), strict=True))
        assert np.allclose([mine[k] for k in twin.w], list(twin.w.values()), rtol=1e-6)


@pytest.mark.parametrize("by_rows", [False, True])
def test_rows_of_weight_two_are_rows_twice(by_rows: bool) -> None:
    x, y, _ = data(n=80)
    twice = np.arange(80) % 3 == 0
    doubled = np.concatenate([x, x[twice]]), np.concatenate([y, y[twice]])
    weights = np.where(twice, 2.0, 1.0) / (80 + twice.sum())
    one = native("squared", y, 6, eta=0.3, weights=weights, shift=True, by_rows=by_rows)
    other = native("squared", doubled[1], 6, eta=0.3, shift=True, by_rows=by_rows)
    assert scan(one, x, 16) == scan(other, doubled[0], 16)
    assert np.allclose(one.weights, other.weights, rtol=1e-9)


def test_several_outputs_share_features_by_their_norm() -> None:
    x, y, _ = data()
    rng = np.random.default_rng(5)
    several = np.stack([y, x[:, :3] @ rng.normal(size=3)])
    grams = native("squared", several, 10, eta=0.3)
    rows = native("squared", several, 10, eta=0.3, by_rows=True)
    assert scan(grams, x, 16) == scan(rows, x, 16)
    assert np.allclose(grams.weights, rows.weights, rtol=1e-8)
    assert {0, 1, 2} <= set(grams.ids.tolist())
