"""The Vowpal Wabbit parser equals its twin, and reads what Vowpal Wabbit itself reads."""

import importlib.util
import math
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.native.solvers.blocks import exactly, parse, pieces, rows_of
from tests.native.sources.texts import damaged, garbled, joined, numbers
from tests.reference.core import hashing
from tests.reference.sources import lines, vw
from thresher import _native

ALPHABET = " \t:|'.-+e0123456789abc^\r\x00\x0bé"
BLANKS = st.sampled_from([b" ", b"\t", b"  "])
SHORT_NAMES = st.text("abc^_é#'/.,=1", min_size=1, max_size=19).map(str.encode)
NAMES = SHORT_NAMES | SHORT_NAMES | st.integers(50, 140).map(lambda n: b"n" * n)
SPACES = st.sampled_from([b"a", b"b", b"user", b"\xc3\xa9", b"namespace", b"namespac", b"namespace_b"])
ENDS = st.sampled_from([b"", b"", b" ", b"\r", b"|", b"\t\r"])


@st.composite
def scaled(draw, names) -> bytes:
    """A name, perhaps with a number behind it."""
    name = draw(names)
    return name + b":" + draw(numbers()) if draw(st.booleans()) else name


@st.composite
def line(draw) -> bytes:
    """A line as it should be, but for numbers that may be too large and labels that may be missing."""
    head = draw(st.lists(numbers(), max_size=3))
    if draw(st.booleans()):
        head.append(b"'" + draw(NAMES))
    out = b" ".join(head) + draw(st.sampled_from([b" ", b" ", b"", b"\t"]))
    for _ in range(draw(st.integers(1, 3))):
        space = draw(st.just(b"") | scaled(SPACES))
        out += draw(BLANKS).join([b"|" + space, *draw(st.lists(scaled(NAMES), max_size=4))])
        out += draw(st.sampled_from([b"", b" "]))
    return out + draw(ENDS)


TEXTS = st.lists(line() | damaged(line(), ALPHABET) | garbled(ALPHABET), max_size=8).map(joined)


@examples(150)
@given(TEXTS, st.booleans(), st.sampled_from([b"7", b"\0", b" ", b":", b"\n"]))
def test_twin(text, labels_optional, filler):
    """Good rows with their names, and the numbers of bad lines, whatever bytes stand behind the text."""
    options = {"labels_optional": labels_optional}
    expected, bad = lines.parse(vw.parse_line, text, **options)
    parsed = parse(_native.parse_vw, text, filler=filler, skip=True, want_names=True, **options)
    assert exactly(rows_of(parsed, text)) == exactly(expected)
    assert [number for _, number, _ in parsed["faults"]] == bad[:8]
    assert (parsed["skipped"], parsed["consumed"], parsed["lines"]) == (len(bad), len(text), text.count(b"\n"))


@examples(60)
@given(TEXTS)
def test_stops_at_the_first_bad_line(text):
    """Unless bad lines are to be skipped, nothing from the first one on is read, and the fault lies within it."""
    _, bad = lines.parse(vw.parse_line, text)
    parsed = parse(_native.parse_vw, text, want_names=True)
    before = text if not bad else b"\n".join([*text.split(b"\n")[: bad[0]], b""])
    assert exactly(rows_of(parsed, text)) == exactly(lines.parse(vw.parse_line, before)[0])
    assert parsed["consumed"] == len(before)
    assert [number for _, number, _ in parsed["faults"]] == bad[:1]
    for at, _, what in parsed["faults"]:
        assert len(before) <= at <= text.index(b"\n", len(before))
        assert what


@examples(60)
@given(TEXTS, st.integers(1, 3))
def test_in_pieces(text, rows):
    """A text read a few rows at a time gives the rows of the whole, names included."""
    options = {"skip": True, "want_names": True, "labels_optional": True}
    whole = parse(_native.parse_vw, text, **options)
    assert exactly(pieces(_native.parse_vw, text, rows, **options)) == exactly(rows_of(whole, text))


@examples(40)
@given(TEXTS)
def test_names_change_nothing_else(text):
    """Without names the rows are the same."""
    with_names = rows_of(parse(_native.parse_vw, text, skip=True, want_names=True), text)
    without = rows_of(parse(_native.parse_vw, text, skip=True), text)
    assert exactly(without) == exactly([row._replace(names=[]) for row in with_names])


@examples(40)
@given(TEXTS, st.integers(0, 2))
def test_only_some_keys(text, remainder):
    """Reading just some keys is reading all and dropping the rest, names with them."""
    rows, bad = lines.parse(vw.parse_line, text)
    wanted = {key for row in rows for key in row.keys if key % 3 == remainder}
    index = _native.KeyIndex(np.array(sorted(wanted), dtype=np.uint64))
    parsed = parse(_native.parse_vw, text, skip=True, want_names=True, only=index)
    expected = []
    for row in rows:
        kept = [i for i, key in enumerate(row.keys) if key in wanted]
        expected.append(
            row._replace(
                keys=[row.keys[i] for i in kept],
                values=[row.values[i] for i in kept],
                names=[row.names[i] for i in kept],
            )
        )
    assert exactly(rows_of(parsed, text)) == exactly(expected)
    assert parsed["skipped"] == len(bad)


def test_by_hand():
    """A small file with everything in it; a namespace met again keeps its keys."""
    text = b"1 2.5 0.1 'tag|user:2 age:3 m |x:0.5 b:1e2\r\n\n-1 word|user age| age\n"
    user = hashing.hash_bytes(b"user^")
    age, m = hashing.hash_bytes(b"age", user), hashing.hash_bytes(b"m", user)
    b = hashing.hash_bytes(b"b", hashing.hash_bytes(b"x^"))
    assert rows_of(parse(_native.parse_vw, text, want_names=True), text) == [
        lines.Row([age, m, b], [6.0, 2.0, 50.0], 1.0, 2.5, -1, [b"user^age", b"user^m", b"x^b"]),
        lines.Row([age, hashing.hash_bytes(b"age")], [1.0, 1.0], -1.0, 1.0, -1, [b"user^age", b"age"]),
    ]


@pytest.mark.parametrize(
    "bad",
    [
        b"1 a b", b"x | a", b"1|a b", b"| a", b"'t | a", b"'t 1 | a", b"1 'a 'b| c", b"1 2 3 4 | a", b"1 -1 | a",
        b"1 x | a", b"1 | a:0x1", b"nan | a", b"inf | a", b"1 | a:", b"1 | :1", b"1 | a:nan", b"1 | a:1:2", b"1 | a:1x",
        b"1 | a:1e39", b"1 |a:1e30 b:1e30", b"1 |:2 a", b"1 |a: b", b"1 |a:x b", b"1 |a:1:1 b", b"1 |a:1e999 b",
        b"1 | a\x01b", b"1 | a\rb", b"1 |a\x00 b", b"1 'a\x02 | b", b"1:2 | a", b"1 | a:1\r\r", b"1e999 | a",
        b"1 1e999 | a",
    ],
)  # fmt: skip
def test_bad_lines(bad):
    """Each is refused, alone; its neighbours are read."""
    text = b"1 | a\n" + bad + b"\n2 | b\n"
    parsed = parse(_native.parse_vw, text, skip=True)
    assert [row.y for row in rows_of(parsed, text)] == [1.0, 2.0]
    assert [number for _, number, _ in parsed["faults"]] == [1]


def test_an_importance_too_large_for_its_column_is_refused():
    """Weights are kept in single precision: an importance that would become infinite there is a bad line."""
    parsed = parse(_native.parse_vw, b"1 3e38 | a\n1 1e39 | a\n", skip=True)
    assert parsed["skipped"] == 1
    assert np.isfinite(parsed["weight"]).all()


def test_long_names_keep_their_keys():
    """A name longer than a packed name may be is cut, but its key is the hash of all of it."""
    long = b"n" * 5000
    text = b"1 |space " + long + b":2\n"
    (row,) = rows_of(parse(_native.parse_vw, text, want_names=True), text)
    assert row.names == [b"space^" + long[:4095]]
    assert row.keys == [hashing.hash_bytes(long, hashing.hash_bytes(b"space^"))]


def test_many_namespaces():
    """Hundreds of namespaces in one block, each met twice, keep apart."""
    text = joined(b"1 |n%d x |n%d y" % (i, i // 2) for i in range(600))
    found = rows_of(parse(_native.parse_vw, text, want_names=True), text)
    assert exactly(found) == exactly(lines.parse(vw.parse_line, text)[0])
    assert len({row.keys[0] for row in found}) == 600


def test_missing_labels():
    """A row without a label gets NaN where that is allowed."""
    text = b"| a\n'tag| b\n3 | c\n"
    found = rows_of(parse(_native.parse_vw, text, labels_optional=True), text)
    assert [math.isnan(row.y) for row in found] == [True, True, False]


def written_file(rng: random.Random, n: int) -> bytes:
    """Lines with everything that Vowpal Wabbit and we read alike, in numbers that six digits hold."""

    def scaled(name: str, values) -> str:
        return f"{name}:{rng.choice(values)}" if rng.random() < 0.6 else name

    def features() -> str:
        letters = [rng.choice("abcxyzé_0123456789") for _ in range(rng.randint(1, 12))]
        return scaled("".join(letters), [0, 1, 2.5, -3, 1e-3, "+4", "1E2", ".5", "-0", 17.25])

    out = []
    for _ in range(n):
        head = [str(rng.choice([1, -1, 0.5, 3]))]
        if rng.random() < 0.5:
            head.append(str(rng.choice([1, 1.5, 2, 3.5])))
        tag = rng.choice(["", "", "'t7", "tag"])
        spaces = [""] if tag == "" else []
        for name in rng.choices(["", "user", "item", "u", "x"], k=rng.randint(1, 4)):
            space = scaled(name, [2, 0.5, -1, 0]) if name else ""
            spaces.append(" ".join(["|" + space, *(features() for _ in range(rng.randint(0, 5)))]) + " ")
        out.append(" ".join([*head, tag + "".join(spaces)] if tag else [*head, "".join(spaces)]))
    return joined(line.encode() for line in out)


@pytest.mark.skipif(importlib.util.find_spec("vowpalwabbit") is None, reason="vowpalwabbit is not installed")
def test_vowpal_wabbit(tmp_path):
    """Names and values are those of its audit; labels and importances those of its progress report.

    It drops features whose value is zero and adds a constant.
    """
    text = written_file(random.Random(5), 400)
    path = tmp_path / "some.vw"
    path.write_bytes(text)
    command = [sys.executable, "-m", "vowpalwabbit", "--audit", "--testonly", "--progress", "1", "--data", str(path)]
    ran = subprocess.run(command, capture_output=True, check=True)
    audit = [line[1:].split(b"\t") for line in ran.stdout.splitlines() if line.startswith(b"\t")]
    report = [line.split() for line in ran.stderr.splitlines() if line.count(b".") >= 4 and len(line.split()) == 7]
    parsed = parse(_native.parse_vw, text, want_names=True)
    assert parsed["faults"] == []
    found = rows_of(parsed, text)
    assert len(audit) == len(report) == len(found) == 400
    total = 0.0
    for row, features, (_, _, _, weight, label, _, _) in zip(found, audit, report, strict=True):
        named = [feature.rsplit(b":", 3) for feature in features]
        theirs = sorted((name, float(value)) for name, _, value, _ in named if name != b"Constant")
        ours = sorted((n, v) for n, v in zip(row.names, row.values, strict=True) if v != 0)
        assert [name for name, _ in ours] == [name for name, _ in theirs]
        np.testing.assert_allclose([v for _, v in ours], [v for _, v in theirs], rtol=1e-5)
        total += row.weight
        assert (row.y, round(total, 1)) == (float(label), float(weight))
