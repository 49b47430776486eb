"""The online loop agrees with its slow twin to the bit, whatever its parts, however it is fed."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.native.base.rows import VALUES, compressed
from tests.native.online.loops import PLAIN, Batch, problems, restored, state
from tests.reference.core import losses
from tests.reference.core.losses import LOSSES
from tests.reference.online.loop import OnlineLoop
from thresher import _native


def twin_state(twin: OnlineLoop) -> dict:
    """The twin's state as `state` has the loop's."""
    sketch, batch = twin.store.sketch, twin.gathered
    sums = [z for sums in batch.sums.values() for z in sums]
    return {
        "tables": [twin.table(t) for t in range(len(twin.store.tables))],
        "step": twin.step.sums(),
        "bias": [*twin.bias, twin.bias_energy],
        "loop": [twin.rows_seen, twin.shrink],
        "gathered": [batch.rows, batch.slopes, list(batch.sums), sums, list(batch.names.values())],
        "sketch": [sketch.cells.ravel().tolist(), sketch.factor] if hasattr(sketch, "cells") else None,
        "random": getattr(sketch, "random", None),
    }


def same(loop, twin) -> None:
    """Everything is equal."""
    mine, theirs = state(loop), twin_state(twin)
    for name in theirs:
        assert mine[name] == theirs[name], name


@examples(400)
@given(problems())
def test_twin(problem):
    """Tables, sums, steps, intercepts, mini-batch and every cell after every row, and every margin on the way."""
    chosen, batch = problem
    loop, twin = _native.OnlineLoop(**chosen), OnlineLoop(**chosen)
    for i in range(len(batch)):
        done, margins = batch.learn(loop, i, i + 1)
        expected, learned = batch.learn_slowly(twin, i)
        assert (bool(done), margins.tolist()) == (learned, expected)
        same(loop, twin)
        assert (loop.intercepts, loop.prior) == (twin.intercepts(), twin.step.prior())
        assert loop.unit == twin.shrink * twin.step.unit()
        if not learned:
            return
    loop.flush()
    twin.flush()
    same(loop, twin)
    predicted = loop.predict(batch.indptr, batch.keys, batch.values)
    assert predicted.tolist() == [m for row in batch.rows for m in twin.predict(*row)]


@examples(200)
@given(problems(), st.lists(st.integers(0, 15), max_size=4))
def test_any_batching_and_restoring(problem, cuts):
    """In one go, or cut anywhere and rebuilt there from what it gave out: the same bits."""
    chosen, batch = problem
    whole, parts = _native.OnlineLoop(**chosen), _native.OnlineLoop(**chosen)
    done, margins = batch.learn(whole, 0, len(batch))
    edges = [0, *sorted(min(cut, done) for cut in cuts), done]
    pieces = []
    for a, b in itertools.pairwise(edges):
        parts = restored(chosen, parts)
        pieces.append(batch.learn(parts, a, b)[1])
    assert state(parts) | {"tables": 0} == state(whole) | {"tables": 0}
    for mine, theirs in zip(state(parts)["tables"], state(whole)["tables"], strict=True):
        assert mine[:-1] == theirs[:-1]
    assert np.concatenate(pieces).tobytes() == margins[: done * chosen["lanes"]].tobytes()


@examples(100)
@given(
    st.integers(1, 4),
    st.sampled_from(LOSSES),
    st.lists(st.dictionaries(st.integers(0, 9), VALUES), max_size=15),
    st.data(),
)
def test_hard_thresholding(k, loss, some, data):
    """Rows without repeated keys: after each, the weights are H_k of a full gradient step over a dense vector."""
    loop = _native.OnlineLoop(**PLAIN | {"k": k, "loss": loss, "rate": 0.1, "intercept": False})
    w = np.zeros(10)
    for row in some:
        y = data.draw(st.sampled_from([-1.0, 1.0]))
        margin = 0.0
        for key, value in row.items():
            margin += w[key] * value
        for key, value in row.items():
            w[key] -= 0.1 * (losses.derivative(loss, 1.0, margin, y) * value)
        w[np.lexsort((np.arange(10), -np.abs(w)))[k:]] = 0
        Batch([(list(row), list(row.values()))], [[y]]).learn(loop, 0, 1)
        keys, weights, *_ = loop.table(0, k)
        found = np.zeros(10)
        found[keys.astype(np.int64)] = weights
        np.testing.assert_array_equal(found, w)


def test_values_left_out_are_ones():
    """A batch without values is one whose values are all one."""
    some = [([1, 2], [1.0, 1.0]), ([2, 3, 3], [1.0, 1.0, 1.0])]
    for rule in ("stable", "adaptive"):
        with_values, without = (_native.OnlineLoop(**PLAIN | {"rule": rule}) for _ in range(2))
        indptr, keys, values = compressed(some)
        for loop, given_values in ((with_values, values), (without, None)):
            loop.learn(indptr, keys, given_values, np.array([1.0, -2.0]), None, None, None, [])
        assert state(with_values) == state(without)


def test_by_hand():
    """Two rows of squared loss that can be followed on paper; the tie of the first goes to the smaller key."""
    loop = _native.OnlineLoop(**PLAIN | {"k": 1})
    batch = Batch([([8, 4], [1.0, -1.0]), ([8, 4], [1.0, 1.0])], [[2.0], [0.0]])
    done, margins = batch.learn(loop, 0, 2)
    # Margin 0, slope -2: weights (1, -1), of which 4 stays; intercept 1. Then margin 0, slope 0: nothing moves.
    assert (done, margins.tolist()) == (2, [0.0, 0.0])
    assert loop.table(0, 9)[0].tolist() == [4]
    assert (loop.table(0, 9)[1].tolist(), loop.intercepts, loop.rows_seen) == ([-1.0], [1.0], 2)


def test_adaptive_steps_by_hand():
    """One feature of value 2, squared loss, target 3: z = 6, H = 36, prior 100 * 36 / 1, unit 3 * sqrt(1 / 4)."""
    loop = _native.OnlineLoop(**PLAIN | {"rule": "adaptive", "rate": 1.0, "intercept": False})
    Batch([([8], [2.0])], [[3.0]]).learn(loop, 0, 1)
    _, (rank,), _, _, kept = loop.table(0, 9)
    assert kept.tolist() == [1 / np.sqrt(3636), 36.0, 6.0]
    assert (rank, loop.unit, loop.prior) == (6 / np.sqrt(3636), 1.5, 3600.0)


def test_units_do_not_matter_to_adaptive_steps():
    """Features times 4, targets times 8 (powers of two, which round nothing): weights times 2, the same features."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 20)).astype(np.float32), rng.normal(size=300)
    found = []
    for by, of in ((1, 1), (4, 8)):
        loop = _native.OnlineLoop(
            **PLAIN | {"store": "exact", "k": 5, "rule": "adaptive", "rate": 1.0, "rows": 3, "width": 40}
        )
        batch = Batch([(list(range(20)), row.tolist()) for row in by * x], [[of * target] for target in y])
        batch.learn(loop, 0, 300)
        keys, ranks, *_ = loop.table(0, 5)
        found.append((keys.tolist(), (ranks * loop.unit * by / of).tolist(), [b / of for b in loop.intercepts]))
    assert found[0] == found[1]


def test_l2_shrinks_by_its_formula():
    """Weights are those of the textbook's (1 - step * l2) w - step * g, also past the factor's folding."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 6)), rng.normal(size=400)
    loop = _native.OnlineLoop(**PLAIN | {"k": 6, "rate": 0.1, "l2": 1.0, "intercept": False})
    Batch([(list(range(6)), row) for row in x.tolist()], [[target] for target in y]).learn(loop, 0, 400)
    w = np.zeros(6)
    for row, target in zip(x.astype(np.float32).astype(float), y, strict=True):
        w = 0.9 * w - 0.1 * (w @ row - target) * row
    keys, ranks, *_ = loop.table(0, 6)
    np.testing.assert_allclose(ranks * loop.unit, w[keys.astype(int)], rtol=1e-9)
    assert loop.shrink > 2.0**-21


def test_stops_where_no_finite_step_leads_on():
    """A step far too long: the loop stops at the row from which it cannot go on, which changes nothing."""
    loop = _native.OnlineLoop(**PLAIN | {"k": 1, "rate": 1e150, "intercept": False})
    n = 10
    done, margins = Batch([([1], [1.0])] * n, [[1.0]] * n).learn(loop, 0, n)
    assert 0 < done < n
    assert len(margins) == done + 1
    assert np.isfinite(margins[:-1]).all()
    assert abs(float(margins[-1])) > 1e149  # its square times the rate is over the range of a double
    assert (loop.rows_seen, loop.step[2]) == (done, done)
    assert np.isfinite(loop.table(0, 9)[1]).all()


NOT_FINITE = """
import itertools
import numpy as np
from thresher import _native
from tests.native.online.loops import PLAIN
pairs = [(np.nan, 1), (np.inf, 1), (1, np.nan), (1, np.inf)]
for (y, weight), rule in itertools.product(pairs, ["stable", "adaptive"]):
    loop = _native.OnlineLoop(**PLAIN | {"store": "exact", "rule": rule})
    try:
        loop.learn(
            np.array([0, 2, 4, 7]), np.arange(7, dtype=np.uint64), None, np.array([1.0, y, 1.0]),
            np.array([1.0, weight, 1.0], dtype=np.float32), None, None, [],
        )
    except ValueError:
        pass
    assert np.isfinite(loop.table(0, 2)[1]).all() and np.isfinite(loop.intercepts).all(), (y, weight, rule)
"""


def test_targets_and_weights_that_are_not_finite():
    """They are refused or the loop stops there: no such number enters the table, which would never sort it again.

    In a process of its own, since the failure to be feared is one that does not end.
    """
    subprocess.run([sys.executable, "-c", NOT_FINITE], check=True, timeout=60)


BATCH = {
    "indptr": np.array([0, 2, 3]), "keys": np.arange(3, dtype=np.uint64), "values": None, "y": np.ones(2),
    "weight": None, "names": None, "text": np.zeros(4, dtype=np.uint8), "prefixes": [b""],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"y": np.ones(1)}, "one target a row"),
        ({"weight": np.ones(3, dtype=np.float32)}, "one weight a row"),
        ({"names": np.zeros(1, dtype=np.uint64)}, "one name a key"),
        ({"names": np.array([0, 9 << 32, 0], dtype=np.uint64)}, "outside its text"),
        ({"names": np.array([0, 0, 1 << 44], dtype=np.uint64)}, "outside its text"),
    ],
)
def test_batches_that_are_none(change, why):
    """Arrays that do not fit together are refused before anything is learned."""
    loop = _native.OnlineLoop(**PLAIN)
    with pytest.raises(ValueError, match=why):
        loop.learn(**BATCH | change)
    assert loop.rows_seen == 0
    loop.learn(**BATCH)
    assert loop.rows_seen == 2


@pytest.mark.parametrize("y", [[0.0, 3.0], [-1.0, 0.0], [0.0, np.nan]])
def test_targets_that_are_no_class(y):
    loop = _native.OnlineLoop(**PLAIN | {"outputs": "softmax", "lanes": 3})
    with pytest.raises(ValueError, match="number of a class"):
        loop.learn(**BATCH | {"y": np.array(y)})
    many = _native.OnlineLoop(**PLAIN | {"outputs": "many", "lanes": 3, "loss": "logistic"})
    with pytest.raises(ValueError, match="one target a row"):
        many.learn(**BATCH)


@pytest.mark.parametrize(
    "change",
    [
        {"store": "heap"},
        {"rule": "newton"},
        {"outputs": "two"},
        {"loss": "none"},
        {"lanes": 0},
        {"lanes": 2},
        {"k": 0},
        {"store": "exact", "rows": 17},
        {"store": "exact", "rows": 2, "identity": True},
    ],
)
def test_loops_that_are_none(change):
    with pytest.raises((ValueError, RuntimeError)):
        _native.OnlineLoop(**PLAIN | change)


def test_saved_minibatches_that_do_not_fit():
    """A row that waits for a mini-batch of one ended the process in stores that learn row by row."""
    keys, sums, names = np.array([3], np.uint64), np.ones(1), [b""]
    loop = _native.OnlineLoop(**PLAIN | {"minibatch": 3})
    loop.restore_gathered(2, [0.5], keys, sums, names)
    loop.restore_gathered(0, [0.0], keys[:0], sums[:0], [])
    for rows, minibatch in ((1, 1), (3, 3), (7, 3), (0, 3)):
        with pytest.raises(ValueError, match="does not fit"):
            _native.OnlineLoop(**PLAIN | {"minibatch": minibatch}).restore_gathered(rows, [0.5], keys, sums, names)


def test_saved_tables_that_do_not_fit():
    """Too many features, or one of them twice, or a table that is not empty, or no such table."""
    saved = (
        np.array([1, 2], dtype=np.uint64),
        np.ones(2),
        np.ones(2, dtype=np.uint64),
        [b"", b""],
        np.ones(6),
    )
    with pytest.raises(ValueError, match="does not fit"):
        _native.OnlineLoop(**PLAIN | {"k": 1}).restore_table(0, *saved)
    loop = _native.OnlineLoop(**PLAIN)
    with pytest.raises(ValueError, match="does not fit"):
        loop.restore_table(0, *saved[:4], np.ones(5))
    loop.restore_table(0, *saved)
    with pytest.raises(ValueError, match="does not fit"):
        loop.restore_table(0, *saved)
    with pytest.raises(ValueError, match="twice"):
        _native.OnlineLoop(**PLAIN).restore_table(0, np.ones(2, dtype=np.uint64), *saved[1:])
    with pytest.raises(IndexError):
        loop.table(1, 5)
    for name, wrong in (("step", [1.0]), ("bias", [1.0])):
        with pytest.raises(ValueError, match=r"needed|does not fit"):
            setattr(loop, name, wrong)
    with pytest.raises(ValueError, match="does not fit"):
        loop.restore_gathered(1, [0.0], np.ones(1, np.uint64), np.ones(2), [b""])


@pytest.mark.parametrize("minibatch", [1, 2])
def test_names_of_the_longest_length_end_with_a_whole_character(minibatch):
    """A name cut by its packed word, not by the cap, is cut between characters too."""
    name = ("é" * 3000).encode()
    loop = _native.OnlineLoop(**PLAIN | {"k": 1, "name_cap": 8000, "rate": 0.1, "minibatch": minibatch})
    text = b"1 | " + name + b"\n"
    block = np.frombuffer(text + bytes(_native.padding), dtype=np.uint8)
    parsed = _native.parse_vw(block, 0, len(text), rows=1, want_names=True)
    loop.learn(
        parsed["indptr"], parsed["keys"], parsed["values"], parsed["y"], None, parsed["names"], block,
        parsed["prefixes"],
    )  # fmt: skip
    loop.flush()
    (found,) = loop.table(0, 1)[3]
    assert name.startswith(found)
    assert len(found) > 4000
    assert found.decode() == "é" * (len(found) // 2)


@pytest.mark.parametrize("store", ["exact", "estimates", "forget"])
def test_with_room_for_all_it_is_plain_gradient_descent(store):
    """A table as large as the data never needs its sketch; an identity sketch is as good for the paper's table."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 30)).astype(np.float32), rng.choice([-1.0, 1.0], 200)
    loop = _native.OnlineLoop(
        **PLAIN
        | {"store": store, "k": 30, "loss": "logistic", "rate": 0.1, "intercept": False, "width": 30, "identity": True}
    )
    Batch([(list(range(30)), row.tolist()) for row in x], [[target] for target in y]).learn(loop, 0, 200)
    w = np.zeros(30)
    for row, target in zip(x.astype(np.float64), y, strict=True):
        w += 0.1 * target / (1 + np.exp(target * (w @ row))) * row
    keys, weights, *_ = loop.table(0, 30)
    np.testing.assert_allclose(weights, w[keys.astype(int)], rtol=1e-9 if store != "estimates" else 1e-4)
    if store == "exact":
        assert not loop.count_sketch.cells.any()


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
        labels.append([label])
    return Batch(out, labels)


@pytest.mark.parametrize(
    ("store", "rule", "rate", "width"),
    [("exact", "constant", 0.05, 2000), ("estimates", "constant", 0.05, 2000), ("exact", "adaptive", 1.0, 500)],
)
def test_what_iht_forgets_is_found(store, rule, rate, width):
    """Ten features among 2,910: the sketch adds their gradients up, a bare table of ten loses them."""
    batch = weak_signal()
    common = PLAIN | {"k": 10, "loss": "logistic", "rate": rate, "rule": rule, "intercept": False}
    sketched = _native.OnlineLoop(**common | {"store": store, "rows": 3, "width": width})
    bare = _native.OnlineLoop(**common)
    found = {}
    for name, loop in (("sketched", sketched), ("bare", bare)):
        batch.learn(loop, 0, len(batch))
        found[name] = len(set(loop.table(0, 10)[0].tolist()) & set(range(10)))
    assert found["sketched"] == 10
    assert found["bare"] <= found["sketched"]
