"""The loop over an exact table is iterative hard thresholding, bit for bit, however it is fed."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.native.rows import VALUES, compressed, rows
from tests.reference import losses
from tests.reference.iht import Iht
from tests.reference.losses import LOSSES, REGRESSION
from thresher import _native

PREFIXES = [b"", b"user^", "é^".encode()]


@st.composite
def problems(draw):
    """A model's settings, and rows with targets, importances (or none) and names (or none)."""
    loss = draw(st.sampled_from(LOSSES))
    settings_ = {
        "k": draw(st.integers(1, 6)),
        "name_cap": draw(st.sampled_from([0, 5, 256])),
        "loss": loss,
        "delta": draw(st.sampled_from([0.5, 1.0])),
        "rate": draw(st.sampled_from([0.0, 0.0, 0.05, 0.5])),
        "intercept": draw(st.booleans()),
    }
    some = draw(rows(most=15))
    targets = [-1.0, 1.0] if loss not in REGRESSION else [0.0, 1.0, -1.0, 2.5]
    y = draw(st.lists(st.sampled_from(targets), min_size=len(some), max_size=len(some)))
    weight = draw(st.none() | st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=len(some), max_size=len(some)))
    return settings_, some, y, weight, draw(st.booleans())


class Batch:
    """Rows as the loop takes them; every key has a name of its own, in a prefix of its own."""

    def __init__(self, some, y, weight, named):
        self.indptr, self.keys, self.values = compressed(some)
        self.y = np.array(y, dtype=np.float64)
        self.weight = None if weight is None else np.array(weight, dtype=np.float32)
        self.text = self.words = None
        self.names = [[b""] * len(keys) for keys, _ in some]
        if named:
            self.pack(some)

    def pack(self, some):
        """Names as words: start, length, prefix."""
        text, words = b"", []
        for i, (keys, _) in enumerate(some):
            for j, key in enumerate(keys):
                name, prefix = f"ü{key}".encode(), key % 3
                words.append(len(text) | len(name) << 32 | prefix << 44)
                text += name
                self.names[i][j] = PREFIXES[prefix] + name
        self.text = np.frombuffer(text, dtype=np.uint8)
        self.words = np.array(words, dtype=np.uint64)

    def learn(self, loop, begin, end):
        """Learn rows [begin, end)."""
        part = slice(self.indptr[begin], self.indptr[end])
        return loop.learn(
            self.indptr[begin : end + 1] - self.indptr[begin],
            self.keys[part],
            self.values[part],
            self.y[begin:end],
            None if self.weight is None else self.weight[begin:end],
            None if self.words is None else self.words[part],
            self.text,
            PREFIXES,
        )


def state(loop) -> str:
    """All there is to a loop, to the last bit."""
    keys, weights, counts, names = loop.rows(100)
    kept = keys.tolist(), weights.tolist(), counts.tolist(), names
    return repr((kept, loop.intercept, loop.longest, loop.rows_seen))


@settings(deadline=None, max_examples=200)
@given(problems())
def test_twin(problem):
    """Weights, support, counts, names, intercept and step after every row, and every margin on the way."""
    options, some, y, weight, named = problem
    batch, loop, twin = Batch(some, y, weight, named), _native.ExactLoop(**options), Iht(**options)
    for i, (keys, values) in enumerate(some):
        done, margins = batch.learn(loop, i, i + 1)
        expected = twin.learn(keys, values, y[i], 1.0 if weight is None else weight[i], batch.names[i])
        assert (done, margins.tolist()) == (1, [expected])
        assert state(loop) == repr((twin.table.rows(100), twin.intercept, twin.longest, twin.rows_seen))


@settings(deadline=None, max_examples=100)
@given(problems(), st.lists(st.integers(0, 15), max_size=4))
def test_any_batching(problem, cuts):
    """One batch, or several cut anywhere: the same bits."""
    options, some, y, weight, named = problem
    batch = Batch(some, y, weight, named)
    whole, parts = _native.ExactLoop(**options), _native.ExactLoop(**options)
    _, margins = batch.learn(whole, 0, len(some))
    edges = [0, *sorted(min(cut, len(some)) for cut in cuts), len(some)]
    pieces = [batch.learn(parts, a, b)[1] for a, b in itertools.pairwise(edges)]
    assert state(parts) == state(whole)
    assert np.concatenate(pieces).tobytes() == margins.tobytes()


@settings(deadline=None, max_examples=100)
@given(problems(), st.integers(0, 15))
def test_restored_half_way(problem, cut):
    """A loop rebuilt from what another one gave out goes on to the same bits."""
    options, some, y, weight, named = problem
    cut = min(cut, len(some))
    batch = Batch(some, y, weight, named)
    first, second = _native.ExactLoop(**options), _native.ExactLoop(**options)
    batch.learn(first, 0, cut)
    second.restore(*first.rows(100))
    second.intercept, second.longest, second.rows_seen = first.intercept, first.longest, first.rows_seen
    assert state(second) == state(first)
    batch.learn(first, cut, len(some))
    batch.learn(second, cut, len(some))
    assert state(second) == state(first)


@settings(deadline=None, max_examples=100)
@given(
    st.integers(1, 4),
    st.sampled_from(LOSSES),
    st.lists(st.dictionaries(st.integers(0, 9), VALUES), max_size=15),
    st.data(),
)
def test_hard_thresholding(k, loss, some, data):
    """Rows without repeated keys: after each, the weights are H_k of a full gradient step over a dense vector."""
    loop = _native.ExactLoop(k=k, name_cap=0, loss=loss, delta=1.0, rate=0.1, intercept=False)
    w = np.zeros(10)
    for row in some:
        y = data.draw(st.sampled_from([-1.0, 1.0]))
        margin = 0.0
        for key, value in row.items():
            margin += w[key] * value
        for key, value in row.items():
            w[key] += -0.1 * losses.derivative(loss, 1.0, margin, y) * value
        w[np.lexsort((np.arange(10), -np.abs(w)))[k:]] = 0
        loop.learn(*compressed([(list(row), list(row.values()))]), np.array([y]), None, None, None, [])
        keys, weights, _, _ = loop.rows(k)
        found = np.zeros(10)
        found[keys.astype(np.int64)] = weights
        np.testing.assert_array_equal(found, w)


def test_values_left_out_are_ones():
    """A batch without values is one whose values are all one."""
    some = [([1, 2], [1.0, 1.0]), ([2, 3, 3], [1.0, 1.0, 1.0])]
    options = {"k": 2, "name_cap": 0, "loss": "squared", "delta": 1.0, "rate": 0.0, "intercept": True}
    with_values, without = _native.ExactLoop(**options), _native.ExactLoop(**options)
    indptr, keys, values = compressed(some)
    for loop, given_values in ((with_values, values), (without, None)):
        loop.learn(indptr, keys, given_values, np.array([1.0, -2.0]), None, None, None, [])
    assert state(with_values) == state(without)


def test_by_hand():
    """Two rows of squared loss that can be followed on paper; the tie of the first goes to the smaller key."""
    loop = _native.ExactLoop(k=1, name_cap=9, loss="squared", delta=1.0, rate=0.5, intercept=True)
    rows_ = compressed([([8, 4], [1.0, -1.0]), ([8, 4], [1.0, 1.0])])
    done, margins = loop.learn(*rows_, np.array([2.0, 0.0]), None, None, None, [])
    # Margin 0, slope -2: weights (1, -1), of which 4 stays; intercept 1. Then margin 0, slope 0: nothing moves.
    assert (done, margins.tolist()) == (2, [0.0, 0.0])
    assert loop.rows(9)[0].tolist() == [4]
    assert (loop.rows(9)[1].tolist(), loop.intercept, loop.rows_seen) == ([-1.0], 1.0, 2)


def test_stops_where_no_finite_step_leads_on():
    """A step far too long: the loop stops at the row from which it cannot go on, which changes nothing."""
    loop = _native.ExactLoop(k=1, name_cap=0, loss="squared", delta=1.0, rate=1e150, intercept=False)
    n = 10
    indptr, keys, values = compressed([([1], [1.0])] * n)
    done, margins = loop.learn(indptr, keys, values, np.ones(n), None, None, None, [])
    assert 0 < done < n
    assert len(margins) == done + 1
    assert np.isfinite(margins[:-1]).all()
    assert abs(float(margins[-1]) - 1.0) > 1e158  # times the rate that is over the range of a double
    assert loop.rows_seen == done
    assert np.isfinite(loop.rows(9)[1]).all()


NOT_FINITE = """
import sys
import numpy as np
from thresher import _native
y, weight = float(sys.argv[1]), float(sys.argv[2])
loop = _native.ExactLoop(k=2, name_cap=0, loss="squared", delta=1.0, rate=0.0, intercept=True)
try:
    loop.learn(
        np.array([0, 2, 4, 7]), np.arange(7, dtype=np.uint64), None, np.array([1.0, y, 1.0]),
        np.array([1.0, weight, 1.0], dtype=np.float32), None, None, [],
    )
except ValueError:
    pass
assert np.isfinite(loop.rows(2)[1]).all() and np.isfinite(loop.intercept)
"""


@pytest.mark.parametrize(("y", "weight"), [("nan", "1"), ("inf", "1"), ("1", "nan"), ("1", "inf")])
def test_targets_and_weights_that_are_not_finite(y, weight):
    """They are refused or the loop stops there: no such number enters the table, which would never sort it again.

    In a process of its own, since the failure to be feared is one that does not end.
    """
    subprocess.run([sys.executable, "-c", NOT_FINITE, y, weight], check=True, timeout=5)


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
    loop = _native.ExactLoop(k=2, name_cap=0, loss="squared", delta=1.0, rate=0.1, intercept=True)
    batch = {
        "indptr": np.array([0, 2, 3]), "keys": np.arange(3, dtype=np.uint64), "values": None, "y": np.ones(2),
        "weight": None, "names": None, "text": np.zeros(4, dtype=np.uint8), "prefixes": [b""],
    }  # fmt: skip
    with pytest.raises(ValueError, match=why):
        loop.learn(**batch | change)
    assert loop.rows_seen == 0
    loop.learn(**batch)
    assert loop.rows_seen == 2


def test_saved_tables_that_do_not_fit():
    """Too many features, or one of them twice, or a table that is not empty."""
    options = {"name_cap": 0, "loss": "squared", "delta": 1.0, "rate": 0.1, "intercept": True}
    keys, weights, counts = np.array([1, 2], dtype=np.uint64), np.ones(2), np.ones(2, dtype=np.uint64)
    names = [b"", b""]
    with pytest.raises(ValueError, match="does not fit"):
        _native.ExactLoop(k=1, **options).restore(keys, weights, counts, names)
    loop = _native.ExactLoop(k=2, **options)
    loop.restore(keys, weights, counts, names)
    with pytest.raises(ValueError, match="does not fit"):
        loop.restore(keys, weights, counts, names)
    with pytest.raises(ValueError, match="twice"):
        _native.ExactLoop(k=2, **options).restore(np.ones(2, dtype=np.uint64), weights, counts, names)


def test_names_of_the_longest_length_end_with_a_whole_character():
    """A name cut by its packed word, not by the cap, is cut between characters too."""
    name = ("é" * 3000).encode()
    loop = _native.ExactLoop(k=1, name_cap=8000, loss="squared", delta=1.0, rate=0.1, intercept=True)
    text = b"1 | " + name + b"\n"
    block = np.frombuffer(text + bytes(_native.padding), dtype=np.uint8)
    parsed = _native.parse_vw(block, 0, len(text), rows=1, want_names=True)
    loop.learn(
        parsed["indptr"],
        parsed["keys"],
        parsed["values"],
        parsed["y"],
        None,
        parsed["names"],
        block,
        parsed["prefixes"],
    )
    (found,) = loop.rows(1)[3]
    assert name.startswith(found)
    assert len(found) > 4000
    assert found.decode() == "é" * (len(found) // 2)
