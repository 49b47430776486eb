"""The LIBSVM parser equals its twin and scikit-learn's reader, and finds the same lines bad."""

import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from tests.examples import examples
from tests.native.solvers.blocks import block, exactly, parse, pieces, rows_of
from tests.native.sources.texts import damaged, garbled, joined, numbers, small_numbers
from tests.reference.sources import libsvm, lines
from thresher import _native

ALPHABET = " \t:#,.-+e0123456789qidnaf\r\x00é"
BLANKS = st.sampled_from([b" ", b"\t", b"  ", b" \t "])
INDICES = st.integers(0, 30) | st.integers(0, 2**64 - 1) | st.sampled_from([2**64, 10**20, 10**30])
ENDS = st.sampled_from([b"", b"", b" ", b"\r", b"#", b" # a comment: 1:2", b"\t#\r"])


@st.composite
def line(draw) -> bytes:
    """A line as it should be, but for numbers that may be too large, and sometimes several labels or none."""
    words = [draw(st.sampled_from([b"1", b"-1", b"+1", b"1,2", b"0,1,7"]) | numbers())]
    if draw(st.integers(0, 9)) == 0:
        words.clear()
    if draw(st.booleans()):
        words.append(b"qid:%d" % draw(st.integers(0, 5) | st.sampled_from([2**63 - 1, 2**63])))
    words += [b"%d:%s" % pair for pair in draw(st.lists(st.tuples(INDICES, numbers()), max_size=6))]
    return draw(st.sampled_from([b"", b" "])) + draw(BLANKS).join(words) + draw(ENDS)


TEXTS = st.lists(line() | damaged(line(), ALPHABET) | garbled(ALPHABET), max_size=8).map(joined)
OPTIONS = st.fixed_dictionaries({"labels_optional": st.booleans(), "multilabel": st.booleans()})


@examples(200)
@given(TEXTS, OPTIONS, st.sampled_from([b"7", b"\0", b" ", b":", b"\n"]))
def test_twin(text, options, filler):
    """Good rows and the numbers of bad lines, whatever bytes stand behind the text."""
    expected, bad = lines.parse(libsvm.parse_line, text, **options)
    parsed = parse(_native.parse_libsvm, text, filler=filler, skip=True, **options)
    assert exactly(rows_of(parsed, text)) == exactly(expected)
    assert [number for _, number, _ in parsed["faults"]] == bad[:8]
    assert (parsed["skipped"], parsed["consumed"], parsed["lines"]) == (len(bad), len(text), text.count(b"\n"))


@examples(60)
@given(TEXTS, OPTIONS)
def test_stops_at_the_first_bad_line(text, options):
    """Unless bad lines are to be skipped, nothing from the first one on is read, and the fault lies within it."""
    _, bad = lines.parse(libsvm.parse_line, text, **options)
    parsed = parse(_native.parse_libsvm, text, **options)
    before = text if not bad else b"\n".join([*text.split(b"\n")[: bad[0]], b""])
    assert exactly(rows_of(parsed, text)) == exactly(lines.parse(libsvm.parse_line, before, **options)[0])
    assert parsed["consumed"] == len(before)
    assert parsed["skipped"] == 0
    assert [number for _, number, _ in parsed["faults"]] == bad[:1]
    for at, _, what in parsed["faults"]:
        assert len(before) <= at <= text.index(b"\n", len(before))
        assert what


@examples(60)
@given(TEXTS, OPTIONS, st.integers(1, 3))
def test_in_pieces(text, options, rows):
    """A text read a few rows at a time gives the rows of the whole."""
    whole = parse(_native.parse_libsvm, text, skip=True, **options)
    found = pieces(_native.parse_libsvm, text, rows, skip=True, **options)
    assert exactly(found) == exactly(rows_of(whole, text))


@examples(40)
@given(TEXTS, st.sets(st.integers(0, 30), max_size=10))
def test_only_some_keys(text, wanted):
    """Reading just some keys is reading all and dropping the rest; bad lines stay bad."""
    index = _native.KeyIndex(np.array(sorted(wanted), dtype=np.uint64))
    parsed = parse(_native.parse_libsvm, text, skip=True, only=index)
    expected, bad = lines.parse(libsvm.parse_line, text)
    for i, row in enumerate(expected):
        pairs = [pair for pair in zip(row.keys, row.values, strict=True) if pair[0] in wanted]
        expected[i] = row._replace(keys=[key for key, _ in pairs], values=[value for _, value in pairs])
    assert exactly(rows_of(parsed, text)) == exactly(expected)
    assert parsed["skipped"] == len(bad)


@st.composite
def sklearn_line(draw, qid: bool) -> bytes:
    """A line that scikit-learn reads too: indices rising, of 31 bits."""
    indices = sorted(draw(st.sets(st.integers(0, 40) | st.integers(0, 2**31 - 2), max_size=6)))
    words = [draw(small_numbers())]
    if qid:
        words.append(b"qid:%d" % draw(st.integers(0, 9)))
    words += [b"%d:%s" % (index, draw(small_numbers())) for index in indices]
    return draw(BLANKS).join(words) + draw(ENDS)


@pytest.mark.parametrize("qid", [False, True])
@examples(50)
@given(data=st.data())
def test_scikit_learn(qid, data):
    """What scikit-learn reads, rounded to single precision."""
    some = data.draw(st.lists(sklearn_line(qid) | st.sampled_from([b"", b"# nothing", b"\t"]), min_size=1, max_size=8))
    text = joined([*some, data.draw(sklearn_line(qid))])
    x, y, *rest = load_svmlight_file(io.BytesIO(text), zero_based=True, query_id=qid)
    parsed = parse(_native.parse_libsvm, text)
    found = rows_of(parsed, text)
    assert parsed["indptr"].tolist() == x.indptr.tolist()
    assert parsed["keys"].tolist() == x.indices.tolist()
    with np.errstate(under="ignore"):
        assert [v for row in found for v in row.values] == x.data.astype(np.float32).tolist()
    assert [row.y for row in found] == y.tolist()
    if qid:
        assert [row.qid for row in found] == rest[0].tolist()


def test_by_hand():
    """A small file with everything in it."""
    text = b"+1 qid:3 1:0.5 18446744073709551615:-2e1 # x\r\n\n# only a comment\n-1\n0.25 7:1 7:1 3:1#end\n"
    assert rows_of(parse(_native.parse_libsvm, text), text) == [
        lines.Row([1, 2**64 - 1], [0.5, -20.0], 1.0, 1.0, 3, []),
        lines.Row([], [], -1.0, 1.0, -1, []),
        lines.Row([7, 7, 3], [1.0, 1.0, 1.0], 0.25, 1.0, -1, []),
    ]


def test_columns_that_say_nothing_are_left_out():
    """Values that are all one, weights that are all one and absent qids cost no memory."""
    parsed = parse(_native.parse_libsvm, b"1 1:1 5:1.0\n0 2:1e0\n")
    assert parsed["values"] is parsed["weight"] is parsed["qid"] is parsed["y_indptr"] is parsed["names"] is None


@pytest.mark.parametrize(
    "bad",
    [
        b"x 1:2", b"1 1", b"1 1:", b"1 :2", b"1 1:nan", b"1 1:inf", b"nan 1:2", b"1 1:2x", b"1 -1:2", b"1 +1:2",
        b"1 1.5:2", b"1 1:2:3", b"1 1:0x10", b"1 1:1e", b"1 1:1e+", b"1 1:.", b"1 1:--1", b"1 1:1_0", b"1e999 1:2",
        b"1 1:1e39", b"1 18446744073709551616:1", b"1 1:2 qid:3", b"1 qid:", b"1 qid:-1", b"1 qid:9223372036854775808",
        b"1 1: 2", b"1,2 1:2", b"1:2", b"qid:1 1:2", b"1\r 1:2", b"1 1:2\r\r", b"1\x001:2", b"1\xa01:2", b"1;1:2",
        b"\xef\xbb\xbf1 1:2",
    ],
)  # fmt: skip
def test_bad_lines(bad):
    """Each is refused, alone; its neighbours are read."""
    text = b"1 1:2\n" + bad + b"\n2 3:4\n"
    parsed = parse(_native.parse_libsvm, text, skip=True)
    assert [row.y for row in rows_of(parsed, text)] == [1.0, 2.0]
    assert [number for _, number, _ in parsed["faults"]] == [1]


def test_labels_optional_and_multilabel():
    """Rows without a label, and rows with several."""
    text = b"1:2\nqid:4 1:2\n3 1:2\n"
    found = rows_of(parse(_native.parse_libsvm, text, labels_optional=True), text)
    assert [math.isnan(row.y) for row in found] == [True, True, False]
    assert [row.qid for row in found] == [-1, 4, -1]
    text = b"1:2\n1,2,3 1:2\n4 1:2\n"
    assert [row.y for row in rows_of(parse(_native.parse_libsvm, text, multilabel=True), text)] == [(), (1, 2, 3), (4,)]


@pytest.mark.parametrize("bad", [b"1,2:3 4:5", b"1,qid:3 4:5", b"1, 2:3", b"1,", b",1 2:3", b"1,,2 3:4"])
def test_lists_of_labels_that_do_not_end_well(bad):
    """A comma is followed by another label: a feature that stands there instead is a slip, not a row."""
    parsed = parse(_native.parse_libsvm, bad + b"\n", skip=True, multilabel=True)
    assert parsed["skipped"] == 1


def test_the_first_faults_are_kept_and_all_are_counted():
    """A file of nothing but bad lines does not fill the memory with complaints."""
    parsed = parse(_native.parse_libsvm, b"x\n" * 100, skip=True)
    assert parsed["skipped"] == 100
    assert [(at, number) for at, number, _ in parsed["faults"]] == [(2 * i, i) for i in range(8)]


def test_every_row_knows_its_line():
    """Lines are counted from the start of the block, with those that are empty or bad."""
    parsed = parse(_native.parse_libsvm, b"1 1:1\n\n# x\nbad\n2 1:1\n", skip=True)
    assert parsed["line"].tolist() == [0, 4]


@examples(60)
@given(TEXTS, st.integers(1, 5))
def test_a_batch_ends_with_the_row_that_fills_it(text, features):
    """The piece ends with the first row that reaches so many features, never before."""
    parsed = parse(_native.parse_libsvm, text, skip=True, features=features)
    indptr = parsed["indptr"].tolist()
    assert all(a < features for a in indptr[:-1])
    assert parsed["consumed"] == len(text) or indptr[-1] >= features
    begin = parsed["consumed"]
    rest = parse(_native.parse_libsvm, text, begin=begin, skip=True)
    whole = parse(_native.parse_libsvm, text, skip=True)
    assert exactly(rows_of(parsed, text) + rows_of(rest, text, begin)) == exactly(rows_of(whole, text))


@pytest.mark.parametrize(("begin", "end", "why"), [(0, 5, "newline"), (7, 6, "padding"), (0, 7, "padding")])
def test_blocks_that_are_none(begin, end, why):
    """A block lacks its newline, ends before it begins, or has too little behind it."""
    with pytest.raises(ValueError, match=why):
        _native.parse_libsvm(block(b"1 1:2\n"), begin, end, rows=1)


def test_a_block_may_begin_anywhere_and_be_empty():
    """Nothing to read is no fault."""
    assert parse(_native.parse_libsvm, b"")["indptr"].tolist() == [0]
    text = b"1 1:2\n2 3:4\n"
    assert rows_of(parse(_native.parse_libsvm, text, begin=6), text, 6)[0].keys == [3]
    assert parse(_native.parse_libsvm, text, rows=0)["consumed"] == 0


@examples(500)
@given(numbers())
def test_numbers_are_rounded_once(text):
    """A label is the double nearest to what is written, to the last bit."""
    parsed = parse(_native.parse_libsvm, text + b"\n", skip=True)
    expected = float(text)
    if math.isinf(expected):
        assert parsed["skipped"] == 1
    else:
        assert parsed["y"].tobytes() == np.float64(expected).tobytes()
