"""Random files read back; scikit-learn's reader, and plain Python, as oracles."""

from __future__ import annotations

import gzip
import io
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from tests.examples import examples
from tests.sources.reading import exactly, read, rows_of
from thresher.core.batch import Batch, Names
from thresher.core.memory import ReadLimits
from thresher.sources.base import Prefetched
from thresher.sources.registry import as_source
from thresher.sources.text.line_formats import scan_libsvm, scan_vw
from thresher.sources.transforms.holdout import hold_out
from thresher.sources.transforms.label_scan import label_counts
from thresher.sources.transforms.weights import Weighted

SINGLE = st.floats(allow_nan=False, allow_infinity=False, width=32)
LABEL = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-3, 3).map(float)
BLANKS = st.sampled_from([" ", "  ", "\t", " \t "])
ENDS = st.sampled_from(["\n", "\r\n"])
# Everything that is no blank, no control character, and no part of the format.
NAME = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"], exclude_characters="|:"), min_size=1)
OFTEN = examples(60, HealthCheck.function_scoped_fixture)


def single(x: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(x))


ANY_INDEX = st.integers(0, 2**64 - 1)


@st.composite
def libsvm_files(draw, keys=ANY_INDEX, ascending: bool = False):
    """A text, and the rows (label, qid, keys, values) that stand in it."""
    rows, lines = [], []
    for _ in range(draw(st.integers(0, 12))):
        label = draw(LABEL)
        qid = draw(st.sampled_from([-1, -1, -1, 7, 2**63 - 1]))
        these = draw(st.lists(keys, max_size=6, unique=ascending))
        these = sorted(these) if ascending else these
        values = [draw(SINGLE) for _ in these]
        blank = draw(BLANKS)
        words = [repr(label), *([f"qid:{qid}"] if qid >= 0 else [])]
        words += [f"{key}:{value!r}" for key, value in zip(these, values, strict=True)]
        remark = draw(st.sampled_from(["", " # remark 1:2", " #", "\t"]))
        lines.append(draw(st.sampled_from(["", " "])) + blank.join(words) + remark)
        rows.append((label, qid, these, values))
        lines += draw(st.sampled_from([[], [], [""], ["# only a remark"], ["", "  "]]))
    end = draw(ENDS)
    text = end.join(lines)
    return (text + end * draw(st.booleans()) or end).encode(), rows


@OFTEN
@given(file=libsvm_files(), rows=st.integers(1, 20), block=st.integers(1, 200))
def test_libsvm_files_read_back(tmp_path, file, rows, block):
    text, expected = file
    path = tmp_path / "rows"
    path.write_bytes(text)
    got = read(scan_libsvm(path).limited(ReadLimits(block=block)), rows)
    assert exactly((r.y, r.qid, list(r.keys), list(r.values)) for r in got) == exactly(expected)


@OFTEN
@given(file=libsvm_files(keys=st.integers(1, 10**6), ascending=True))
def test_libsvm_files_as_scikit_learn_reads_them(tmp_path, file):
    text, expected = file
    if not expected:
        return
    path = tmp_path / "rows"
    path.write_bytes(text)
    got = read(scan_libsvm(path))
    x, y, qid = load_svmlight_file(io.BytesIO(text.replace(b"\r\n", b"\n")), query_id=True, zero_based=True)
    has_qid = all(r.qid >= 0 for r in got)  # scikit-learn keeps them only where every row has one
    assert [r.y for r in got] == y.tolist()
    assert x.shape[0] == len(got)
    for i, row in enumerate(got):
        a, b = x.indptr[i], x.indptr[i + 1]
        assert list(row.keys) == x.indices[a:b].tolist()
        assert list(row.values) == [single(value) for value in x.data[a:b]]
        assert not has_qid or row.qid == qid[i]


@OFTEN
@given(labels=st.lists(st.lists(st.integers(0, 99), max_size=3), min_size=1, max_size=8))
def test_several_labels_a_row(tmp_path, labels):
    path = tmp_path / "rows"
    lines = [",".join(map(str, some)) + f" {i}:1" for i, some in enumerate(labels)]
    path.write_text("\n".join(lines) + "\n")
    source = scan_libsvm(path, multilabel=True)
    expected = [tuple(map(float, some)) for some in labels]
    for rows in (1, 3, 100):
        assert [row.y for row in read(source, rows)] == expected
    shuffled = read(source.shuffled(0, rows=5, features=100), 2)
    assert [row.y for row in sorted(shuffled, key=lambda row: row.keys)] == expected


@st.composite
def vw_files(draw):
    """A text, and the rows (label, weight, names, values) that stand in it."""
    rows, lines = [], []
    for _ in range(draw(st.integers(0, 8))):
        label, weight = draw(LABEL), draw(st.sampled_from([1.0, 1.0, 0.5, 3.25]))
        tag = draw(st.sampled_from(["", " 'tag", " 'it's"]))
        line = repr(label) + (f" {weight!r}" if weight != 1 or draw(st.booleans()) else "") + (tag or " ")
        names, values = [], []
        for _ in range(draw(st.integers(1, 3))):
            space = draw(st.just("") | st.sampled_from(["user", "Ω"]) | NAME)
            scale = draw(st.sampled_from([1.0, 1.0, 2.0, 0.5])) if space else 1.0
            line += f"|{space}" + (f":{scale!r}" if scale != 1 else "")
            for _ in range(draw(st.integers(0, 4))):
                name = draw(NAME)
                value = draw(st.floats(-1e6, 1e6, width=32) | st.just(1.0))
                line += draw(BLANKS) + name + (f":{value!r}" if value != 1 or draw(st.booleans()) else "")
                names.append(f"{space}^{name}" if space else name)
                values.append(single(value * scale))
            line += draw(st.sampled_from(["", " "]))
        lines.append(line)
        rows.append((label, weight, names, values))
        lines += draw(st.sampled_from([[], [], [""], [" \t"]]))
    end = draw(ENDS)
    return (end.join(lines) + end * draw(st.booleans()) or end).encode(), rows


@OFTEN
@given(file=vw_files(), rows=st.integers(1, 10), block=st.integers(1, 300))
def test_vw_files_read_back(tmp_path, file, rows, block):
    text, expected = file
    path = tmp_path / "rows"
    path.write_bytes(text)
    source = scan_vw(path).limited(ReadLimits(block=block))
    got = read(source, rows, want_names=True)
    assert exactly((r.y, r.weight, list(r.names), list(r.values)) for r in got) == exactly(expected)
    keys = {}
    for row in got:
        for key, name in zip(row.keys, row.names, strict=True):
            assert keys.setdefault(name, key) == key  # the same name, the same key
    shuffled = read(source.shuffled(1, rows=4, features=20), rows, want_names=True)
    assert sorted(exactly(shuffled)) == sorted(exactly(got))


# Names


@OFTEN
@given(
    parts=st.lists(
        st.lists(st.tuples(st.sampled_from(["", "user^", "città=", "x^"]), NAME), max_size=5), min_size=1, max_size=5
    )
)
def test_names_of_several_batches(parts):
    batches, expected = [], []
    for part in parts:
        prefixes = [b"", *sorted({prefix.encode() for prefix, _ in part if prefix})]
        words = [name.encode() for _, name in part]
        start = np.cumsum([0, *map(len, words)])[:-1]
        which = np.array([prefixes.index(prefix.encode()) for prefix, _ in part], np.int64)
        packed = Names.pack(start, np.array([len(word) for word in words], np.int64), which)
        batches.append(Names(packed, np.frombuffer(b"".join(words), np.uint8), prefixes))
        expected += [prefix + name for prefix, name in part]
    together = Names.concat(batches)
    assert together.decode() == expected
    assert [together[i].decode() for i in range(len(expected))] == expected
    assert len(together.prefixes) == len(set(together.prefixes))  # so they never outgrow their 20 bits


def test_long_names_are_cut_short(tmp_path):
    path = tmp_path / "rows"
    path.write_text("1 |a " + "n" * 5000 + ":2\n")
    (row,) = read(scan_vw(path), want_names=True)
    assert row.names == ("a^" + "n" * 4095,)


# Holding out


def numbered(tmp_path, n: int):
    path = tmp_path / "numbered"
    path.write_bytes(b"".join(b"%d %d:1 %d:0.5\n" % (i % 2, i % 5000, 5000 + i % 7) for i in range(n)))
    return scan_libsvm(path)


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_the_held_out_fraction(tmp_path, fraction):
    path = tmp_path / "rows"
    path.write_bytes(b"".join(b"1 %d:1\n" % i for i in range(20_000)))
    training, test = hold_out(scan_libsvm(path), fraction)
    held, others = read(test, 1000), read(training, 1000)
    spread = math.sqrt(20_000 * fraction * (1 - fraction))
    assert abs(len(held) - 20_000 * fraction) < 4 * spread
    assert sorted(row.keys[0] for row in held + others) == list(range(20_000))


def test_copies_of_a_row_are_on_one_side(tmp_path):
    training, test = hold_out(numbered(tmp_path, 20_000), 0.3)
    one, other = ({(row.keys, row.values) for row in read(side)} for side in (training, test))
    assert one
    assert other
    assert not one & other


def test_the_same_row_is_on_the_same_side_in_any_file(tmp_path):
    (tmp_path / "one").write_bytes(b"".join(b"1 %d:2 %d:1\n" % (i, i + 1000) for i in range(500)))
    (tmp_path / "two").write_bytes(
        gzip.compress(b"".join(b"0 %d:1.0 %d:2\n" % (i + 1000, i) for i in range(499, -1, -1)))
    )
    sides = [hold_out(scan_libsvm(tmp_path / name), 0.5)[1] for name in ("one", "two")]
    first, second = ({min(row.keys) for row in read(side)} for side in sides)
    assert first == second


def test_another_seed_holds_out_other_rows(tmp_path):
    source = numbered(tmp_path, 2000)
    chosen = [exactly(read(hold_out(source, 0.5, seed=seed)[1])) for seed in (0, 1)]
    assert chosen[0] != chosen[1]


# Shuffling


@pytest.mark.parametrize("rows", [10, 100, 10_000])
def test_shuffled_rows_stay_within_their_buffer(tmp_path, rows):
    path = tmp_path / "rows"
    path.write_bytes(b"".join(b"1 %d:1\n" % i for i in range(1000)))
    source = scan_libsvm(path)
    got = {seed: [row.keys[0] for row in read(source.shuffled(seed, rows=rows, features=10**6))] for seed in (1, 2)}
    for order in got.values():
        for at in range(0, 1000, rows):
            assert sorted(order[at : at + rows]) == list(range(at, min(at + rows, 1000)))
        assert order != sorted(order)
    assert got[1] != got[2]
    for size in (1, 7, 10**6):
        limited = source.shuffled(1, rows=rows, features=10**6).limited(ReadLimits(block=100 + size % 1000))
        assert [row.keys[0] for row in read(limited, size)] == got[1]


def test_a_buffer_ends_with_the_row_that_fills_it(tmp_path):
    path = tmp_path / "rows"
    lengths = [3, 1, 4, 1, 5, 9, 2, 6]
    path.write_text("".join(f"{i} " + " ".join(f"{j}:1" for j in range(n)) + "\n" for i, n in enumerate(lengths)))
    labels = [row.y for row in read(scan_libsvm(path).shuffled(0, rows=100, features=8))]
    assert [sorted(labels[a:b]) for a, b in ((0, 3), (3, 6), (6, 8))] == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_all_permutations_come_up():
    source = as_source(np.eye(3), [0, 1, 2])
    for shuffle in (source.shuffled, Prefetched(source).shuffled):  # all rows at hand, and through a buffer
        seen = Counter(tuple(row.y for row in read(shuffle(seed, rows=3, features=9))) for seed in range(300))
        assert len(seen) == 6
        assert min(seen.values()) > 25


# Weights


def test_balanced_weights(tmp_path):
    path = tmp_path / "rows"
    path.write_text("1 1:1\n" * 6 + "2 1:1\n" * 3 + "0 1:1\n")
    assert label_counts(scan_libsvm(path)) == {1.0: 6, 2.0: 3, 0.0: 1}
    weighted = read(Weighted(scan_libsvm(path), "balanced"))
    assert sum(row.weight for row in weighted) == pytest.approx(10)
    strings = as_source(np.ones((4, 1)), ["a", "b", "a", "a"])
    assert Weighted(strings, "balanced").class_weight == {"a": 4 / 6, "b": 2.0}
    assert [row.weight for row in read(Weighted(strings, {"b": 2.0}))] == [1, 2, 1, 1]


def test_batches_with_and_without_columns_join(tmp_path):
    """A column that is left out of one batch is filled in where another has it."""
    path = tmp_path / "rows"
    path.write_text("1 qid:3 1:1\n1 1:1\n2 qid:4 2:0.5\n")
    batches = [batch for batch, _ in scan_libsvm(path).batches(1)]
    rows = rows_of(Batch.concat(batches))
    assert [row.qid for row in rows] == [3, -1, 4]
    assert [row.values for row in rows] == [(1.0,), (1.0,), (0.5,)]
