"""The budgeted stores against their dense twins: support and weights, after every single step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.native.online.loops import PLAIN
from tests.reference.core import losses
from tests.reference.core.hashing import bucket_sign
from tests.reference.online.budgeted import FACTORS, TWINS, SketchedBARDA
from thresher import _native

METHODS = list(TWINS)
TABLED = ["b-arda", "b-amd", "ofs", "sofs", "b-arda-sketch"]


def make_loop(method: str, *, lanes: int = 1, **changed):
    plain = PLAIN | {
        "store": method, "k": 5, "rule": "own", "rate": 1.0, "loss": "squared_hinge", "intercept": False,
        "outputs": "one" if lanes == 1 else "many", "lanes": lanes, "eta": 0.5, "lam": 0.0, "smoothing": 1e-2,
        "naive": False, "factor": FACTORS.get(method, 2.0),
    }  # fmt: skip
    return _native.OnlineLoop(**(plain | changed))


def learn_row(loop, x, y):
    keys = np.flatnonzero(x)
    return loop.learn(
        np.array([0, len(keys)]), (keys * 7919 + 13).astype(np.uint64), x[keys].astype(np.float32),
        np.atleast_1d(y).astype(float), None, None, None, [],
    )[1]  # fmt: skip


def weights_of(loop, d, lanes, method):
    """Weights, lanes x d."""
    w = np.zeros((lanes, d))
    if method in TABLED:
        for t in range(loop.tables):
            keys, _, _, _, kept = loop.table(t, 10**6)
            kept = kept.reshape(len(keys), loop.kept_size)
            at = ((keys - np.uint64(13)) // np.uint64(7919)).astype(int)
            lane = slice(None) if loop.tables == 1 else slice(t, t + 1)
            w[lane, at] = (kept[:, 2:] * kept[:, :1]).T
    else:
        keys, _, flat = _native.dual_weights(loop)
        w[:, ((keys - np.uint64(13)) // np.uint64(7919)).astype(int)] = flat.reshape(-1, lanes).T
    return w


def stream(seed, rows, d, lanes, density=0.3):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(lanes, d)) * (rng.random((lanes, d)) < 0.3)
    for _ in range(rows):
        x = (rng.normal(size=d) * (rng.random(d) < density * rng.random())).astype(np.float32).astype(float)
        yield x, np.where(truth @ x + 0.1 * rng.normal(size=lanes) > 0, 1.0, -1.0)


def compare(method, *, seed, rows, d, k, lanes=1, split=False, eta=0.5, lam=0.0, naive=False):
    loop = make_loop(method, lanes=lanes, k=k, split=split, eta=eta, lam=lam, naive=naive)
    twin = TWINS[method](d, k, lanes=lanes, eta=eta, lam=lam, split=split, naive=naive)
    compare_steps(method, loop, twin, stream(seed, rows, d, lanes), d=d, k=k, lanes=lanes, split=split)


def compare_steps(method, loop, twin, examples, *, d, k, lanes, split=False):
    factor = FACTORS.get(method, 2.0)
    for x, y in examples:
        margins = twin.w @ x
        np.testing.assert_allclose(learn_row(loop, x, y), margins, rtol=1e-6, atol=1e-9)
        slopes = [factor * losses.derivative("squared_hinge", 1.0, m, t) for m, t in zip(margins, y, strict=True)]
        twin.step(x, np.array(slopes))
        w = weights_of(loop, d, lanes, method)
        np.testing.assert_array_equal(w != 0, twin.w != 0)
        np.testing.assert_allclose(w, twin.w, rtol=1e-6, atol=1e-12)
        if method in TABLED:
            assert np.all((w != 0).sum(axis=1) <= k)
            assert split or (w != 0).any(axis=0).sum() <= k


@pytest.mark.parametrize("lam", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize("method", METHODS)
def test_support_and_weights_of_every_step_are_those_of_the_twin(method, lam):
    compare(method, seed=1, rows=400, d=40, k=6, lam=lam, eta=0.2)


@examples(60)
@given(
    method=st.sampled_from(METHODS),
    seed=st.integers(0, 10**6),
    d=st.integers(1, 30),
    k=st.integers(1, 12),
    lanes=st.sampled_from([1, 1, 3]),
    split=st.booleans(),
    eta=st.sampled_from([0.05, 0.5, 1.0]),
    lam=st.sampled_from([0.0, 1e-3, 0.05, 0.5]),
    naive=st.booleans(),
)
def test_they_agree_on_problems_of_every_shape(method, seed, d, k, lanes, split, eta, lam, naive):
    split = split and lanes > 1
    compare(method, seed=seed, rows=40, d=d, k=k, lanes=lanes, split=split, eta=eta, lam=lam, naive=naive)


@pytest.mark.parametrize("lam", [0.0, 0.01])
def test_a_feature_that_is_not_in_the_row_comes_in_when_a_kept_one_falls(lam):
    compare("b-arda", seed=3, rows=1500, d=300, k=4, lam=lam, eta=0.3)


@pytest.mark.parametrize("lam", [0.0, 0.02])
def test_the_bench_is_sorted_out_and_filled_again(lam):
    # More outsiders than a bench holds, and a budget of one: what is kept falls often.
    compare("b-arda", seed=4, rows=250, d=4000, k=1, lam=lam, eta=0.3)


def test_equal_ranks_go_to_the_smaller_key():
    loop = make_loop("b-arda", k=2)
    x = np.ones(6)
    learn_row(loop, x, 1.0)
    assert loop.table(0, 9)[0].tolist() == [13, 13 + 7919]


@pytest.mark.parametrize("width", [3, 40, 1000])
@pytest.mark.parametrize(("lam", "lanes"), [(0.0, 1), (0.02, 1), (0.01, 3)])
def test_outsiders_that_share_cells_are_those_of_the_twin(width, lam, lanes):
    d, k, eta = 60, 6, 0.3
    places = [bucket_sign(j * 7919 + 13, 5, width) for j in range(d)]
    cells, signs = zip(*places, strict=True)
    twin = SketchedBARDA(d, k, lanes=lanes, eta=eta, lam=lam, cells=cells, signs=signs, width=width)
    loop = make_loop("b-arda-sketch", lanes=lanes, k=k, eta=eta, lam=lam, width=width, seed=5)
    compare_steps("b-arda-sketch", loop, twin, stream(2, 150, d, lanes), d=d, k=k, lanes=lanes)


# ── whole groups ─────────────────────────────────────────────────────────────────────────────────


@examples(50)
@given(
    method=st.sampled_from(["b-arda", "b-amd"]),
    seed=st.integers(0, 10**6),
    groups=st.integers(1, 12),
    k=st.integers(1, 6),
    lanes=st.sampled_from([1, 1, 3]),
    eta=st.sampled_from([0.05, 0.5]),
    lam=st.sampled_from([0.0, 1e-3, 0.1]),
    naive=st.booleans(),
    by_size=st.booleans(),
)
def test_whole_groups_are_kept_as_the_twin_keeps_them(method, seed, groups, k, lanes, eta, lam, naive, by_size):
    d = 30
    rng = np.random.default_rng(seed)
    numbers = np.concatenate([np.arange(groups), rng.integers(-1, groups, d - groups)])  # some are in none
    rng.shuffle(numbers)
    listed = np.flatnonzero(numbers >= 0)
    shares = 1.0 / np.bincount(numbers[listed]) if by_size else np.ones(groups)
    told = ((listed * 7919 + 13).astype(np.uint64), numbers[listed].astype(np.uint32), shares.tolist())
    loop = make_loop(method, lanes=lanes, k=k, eta=eta, lam=lam, naive=naive, groups=told)
    twin = TWINS[method](d, k, lanes=lanes, eta=eta, lam=lam, naive=naive, groups=numbers, by_size=by_size)
    compare_steps("groups", loop, twin, stream(seed, 60, d, lanes), d=d, k=k, lanes=lanes)
    kept = {numbers[j] for j in np.flatnonzero((twin.w != 0).any(axis=0))}
    assert kept <= set(loop.table(0, 99)[0].tolist())
    assert len(loop.table(0, 99)[0]) <= k


def test_groups_wait_and_come_in_when_a_kept_one_falls():
    numbers = np.arange(600) // 2
    told = ((np.arange(600) * 7919 + 13).astype(np.uint64), numbers.astype(np.uint32), [1.0] * 300)
    loop = make_loop("b-arda", k=3, lam=0.02, eta=0.3, groups=told)
    twin = TWINS["b-arda"](600, 3, eta=0.3, lam=0.02, groups=numbers)
    compare_steps("groups", loop, twin, stream(3, 400, 600, 1), d=600, k=3, lanes=1)
