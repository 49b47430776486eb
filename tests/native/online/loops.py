"""Online loops with settings of every kind, fed with rows of every kind; shared by the tests of the loop."""

import numpy as np
from hypothesis import strategies as st

from tests.native.base.rows import compressed, rows
from tests.reference.core.losses import LOSSES, REGRESSION
from thresher import _native

PREFIXES = [b"", b"user^", "é^".encode()]

#: The plainest loop there is; tests name what they change.
PLAIN = {
    "store": "forget", "k": 2, "name_cap": 0, "lazy": 0.0, "outputs": "one", "lanes": 1, "split": False,
    "loss": "squared", "delta": 1.0, "rule": "constant", "rate": 0.5, "intercept": True, "minibatch": 1, "gather": 0,
    "l2": 0.0, "fade": 1.0, "rows": 1, "width": 1, "seed": 0, "identity": False,
}  # fmt: skip


@st.composite
def options(draw):
    """Settings of a loop: each of its parts is as likely to be left plain as not."""
    store = draw(st.sampled_from(["forget", "exact", "exact", "estimates", "hashed"]))
    rules = ["constant", "root", "stable"] + ["adaptive"] * 3 * (store != "estimates")
    outputs = draw(st.sampled_from(["one", "one", "softmax", "many"]))
    identity = draw(st.sampled_from([False, False, True]))
    minibatch = draw(st.sampled_from([1, 1, 2, 3, 2**62]))
    return PLAIN | {
        "store": store,
        "k": draw(st.integers(1, 6)),
        "name_cap": draw(st.sampled_from([0, 5, 256])),
        "lazy": draw(st.sampled_from([0.0, 0.0, 0.1, 0.5])),
        "outputs": outputs,
        "lanes": 1 if outputs == "one" else draw(st.integers(1, 4)),
        "split": draw(st.booleans()),
        "loss": draw(st.sampled_from([loss for loss in LOSSES if outputs == "one" or loss not in REGRESSION])),
        "delta": draw(st.sampled_from([0.5, 1.0])),
        "rule": draw(st.sampled_from(rules)),
        "rate": draw(st.sampled_from([0.05, 0.5, 1.0])),
        "intercept": draw(st.booleans()),
        "minibatch": minibatch,
        "gather": draw(st.sampled_from([0, 1, 4])) if minibatch > 1 else 0,
        "l2": draw(st.sampled_from([0.0, 0.0, 0.01, 1.0, 10.0])),
        "fade": draw(st.sampled_from([1.0, 1.0, 0.9, 1e-5])),
        "rows": 1 if identity else draw(st.sampled_from([1, 1, 2, 3, 3, 4])),
        "width": draw(st.integers(1, 12)),
        "seed": draw(st.integers(0, 9) | st.just(2**64 - 1)),
        "identity": identity,
    }


@st.composite
def problems(draw, most: int = 15):
    """A loop's settings, and a batch for it."""
    chosen = draw(options())
    some = draw(rows(most=most))
    if chosen["outputs"] == "softmax":
        targets = st.integers(0, chosen["lanes"] - 1).map(float)
    elif chosen["loss"] in REGRESSION:
        targets = st.sampled_from([0.0, 1.0, -1.0, 2.5])
    else:
        targets = st.sampled_from([-1.0, 1.0])
    each = chosen["lanes"] if chosen["outputs"] == "many" else 1
    y = draw(st.lists(st.lists(targets, min_size=each, max_size=each), min_size=len(some), max_size=len(some)))
    weight = draw(st.none() | st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=len(some), max_size=len(some)))
    return chosen, Batch(some, y, weight, draw(st.booleans()))


class Batch:
    """Rows as the loop takes them; every key has a name of its own, in a prefix of its own."""

    def __init__(self, some, y, weight=None, named=False):
        self.rows = some
        self.indptr, self.keys, self.values = compressed(some)
        self.targets = y
        self.weight = None if weight is None else np.array(weight, dtype=np.float32)
        self.text = self.words = None
        self.names = [[b""] * len(keys) for keys, _ in some]
        if named:
            self.pack(some)

    def __len__(self):
        return len(self.rows)

    def __repr__(self):
        return f"Batch({self.rows}, {self.targets}, {self.weight}, {self.words is not None})"

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
        """Learn rows [begin, end) with a native loop: (rows learned, margins)."""
        part = slice(self.indptr[begin], self.indptr[end])
        done, margins, interrupted = loop.learn(
            self.indptr[begin : end + 1] - self.indptr[begin],
            self.keys[part],
            self.values[part],
            np.array([target for row in self.targets[begin:end] for target in row], dtype=np.float64),
            None if self.weight is None else self.weight[begin:end],
            None if self.words is None else self.words[part],
            self.text,
            PREFIXES,
        )
        assert not interrupted
        return done, margins

    def learn_slowly(self, twin, i):
        """Learn row i with the twin."""
        weight = 1.0 if self.weight is None else float(self.weight[i])
        return twin.learn(*self.rows[i], self.targets[i], weight, self.names[i])


def _plain(part):
    return part if isinstance(part, list) else part.tolist()


def state(loop) -> dict:
    """All there is to a native loop, to the last bit."""
    sketch = loop.count_sketch or loop.evidence_sketch
    rows, slopes, keys, sums, names = loop.gathered()
    return {
        "tables": [tuple(map(_plain, loop.table(t, 99))) for t in range(loop.tables)],
        "step": loop.step,
        "bias": loop.bias,
        "loop": [loop.rows_seen, loop.shrink],
        "gathered": [rows, slopes, keys.tolist(), sums.tolist(), names],
        "sketch": sketch and [sketch.cells.tolist(), sketch.factor],
        "random": loop.evidence_sketch and loop.evidence_sketch.random,
    }  # fmt: skip


def restored(chosen, first):
    """A new loop with everything that another one gave out."""
    second = _native.OnlineLoop(**chosen)
    for t in range(first.tables):
        second.restore_table(t, *first.table(t, 99))
    second.step, second.bias = first.step, first.bias
    second.rows_seen, second.shrink = first.rows_seen, first.shrink
    second.restore_gathered(*first.gathered())
    sketch, saved = second.count_sketch or second.evidence_sketch, first.count_sketch or first.evidence_sketch
    if sketch is not None:
        sketch.cells, sketch.factor = saved.cells, saved.factor
    if first.evidence_sketch is not None:
        second.evidence_sketch.random = first.evidence_sketch.random
    return second
