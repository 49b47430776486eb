"""The loop over a sketched table is MISSION, bit for bit, in both its forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.native.rows import compressed
from tests.native.test_exact_loop import Batch, problems, state
from tests.reference.mission import Mission
from thresher import _native

SHAPES = st.fixed_dictionaries(
    {"rows": st.integers(1, 4), "width": st.integers(1, 12), "seed": st.integers(0, 9), "exact": st.booleans()}
)


@settings(deadline=None, max_examples=200)
@given(problems(), SHAPES)
def test_twin(problem, shape):
    """Table, intercept, step and every cell of the sketch after every row, and every margin on the way."""
    options, some, y, weight, named = problem
    batch = Batch(some, y, weight, named)
    loop, twin = _native.SketchLoop(**options, **shape), Mission(**options, **shape)
    for i, (keys, values) in enumerate(some):
        done, margins = batch.learn(loop, i, i + 1)
        expected = twin.learn(keys, values, y[i], 1.0 if weight is None else weight[i], batch.names[i])
        assert (done, margins.tolist()) == (1, [expected])
        assert state(loop) == repr((twin.table.rows(100), twin.intercept, twin.longest, twin.rows_seen))
        np.testing.assert_array_equal(loop.sketch.cells, twin.sketch.cells.ravel())


@settings(deadline=None, max_examples=60)
@given(problems(), SHAPES, st.integers(0, 15))
def test_batching_and_restoring(problem, shape, cut):
    """Cut anywhere and rebuilt there from what it gave out: the same bits as in one go."""
    options, some, y, weight, named = problem
    cut = min(cut, len(some))
    batch = Batch(some, y, weight, named)
    whole, first, second = (_native.SketchLoop(**options, **shape) for _ in range(3))
    batch.learn(whole, 0, len(some))
    batch.learn(first, 0, cut)
    second.restore(*first.rows(100))
    second.intercept, second.longest, second.rows_seen = first.intercept, first.longest, first.rows_seen
    second.sketch.cells, second.sketch.factor = first.sketch.cells, first.sketch.factor
    batch.learn(second, cut, len(some))
    assert state(second) == state(whole)
    np.testing.assert_array_equal(second.sketch.cells, whole.sketch.cells)


def test_with_room_for_all_it_is_plain_gradient_descent():
    """A table as large as the data never needs its sketch."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 30)).astype(np.float32), rng.choice([-1.0, 1.0], 200)
    loop = _native.SketchLoop(
        k=30, name_cap=0, loss="logistic", delta=1.0, rate=0.1, intercept=False, rows=3, width=100, seed=0, exact=True
    )
    loop.learn(*compressed([(list(range(30)), row.tolist()) for row in x]), y, None, None, None, [])
    w = np.zeros(30)
    for row, target in zip(x.astype(np.float64), y, strict=True):
        w += 0.1 * target / (1 + np.exp(target * (w @ row))) * row
    keys, weights, _, _ = loop.rows(30)
    np.testing.assert_allclose(weights, w[keys.astype(int)], rtol=1e-9)
    assert not loop.sketch.cells.any()


def weak_signal(rows: int = 4000):
    """Rare features that decide the label among many that do not; one step never shows them."""
    rng = np.random.default_rng(1)
    out, labels = [], []
    for _ in range(rows):
        label = rng.choice([-1.0, 1.0])
        sign = rng.random() < 0.9
        signal = int(rng.integers(0, 5)) + (0 if (label > 0) == sign else 5)
        noise = rng.integers(100, 3000, size=20)
        out.append(([signal, *noise.tolist()], [1.0] * 21))
        labels.append(label)
    return compressed(out), np.array(labels)


@pytest.mark.parametrize("exact", [True, False])
def test_what_iht_forgets_is_found(exact):
    """Ten features among 2,910: the sketch adds their gradients up, a bare table of ten loses them."""
    data, y = weak_signal()
    common = {"k": 10, "name_cap": 0, "loss": "logistic", "delta": 1.0, "rate": 0.05, "intercept": False}
    sketched = _native.SketchLoop(**common, rows=3, width=2000, seed=0, exact=exact)
    bare = _native.ExactLoop(**common)
    found = {}
    for name, loop in (("sketched", sketched), ("bare", bare)):
        loop.learn(*data, y, None, None, None, [])
        found[name] = len(set(loop.rows(10)[0].tolist()) & set(range(10)))
    assert found["sketched"] == 10
    assert found["bare"] <= found["sketched"]
