"""The scanner of FASTA and FASTQ and the k-mers of its records equal their twins, however the text is cut."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.reference.core.hashing import hash_bytes
from tests.reference.sources import kmers as twin
from thresher import _native

LETTERS = st.text("ACGTacgtNnRYKUu-.*", max_size=30).map(str.encode)
ENDS = st.sampled_from([b"\n", b"\n", b"\r\n", b" \n"])
NAMES = st.sampled_from([b"a", b"chr1 human", b"", b" b", b"@x", b">y", b"\xc3\xa9\tt"])
#: Whatever may stand where it should not.
STRAY = st.sampled_from([b"", b"\n", b" ", b"@", b">", b"+", b"@h\n", b">h\n", b"+\n", b"I", b"\0", b"\x7f", b"12\n"])


@st.composite
def fasta_record(draw) -> bytes:
    end = draw(ENDS)
    lines = draw(st.lists(LETTERS, max_size=4))
    return b">" + draw(NAMES) + end + b"".join(line + end for line in lines)


@st.composite
def fastq_record(draw) -> bytes:
    end = draw(ENDS)
    lines = draw(st.lists(LETTERS, min_size=1, max_size=3))
    length = sum(map(len, lines)) + draw(st.sampled_from([0, 0, 0, 0, 1, -1]))
    quality = draw(st.text("@+>I#5", min_size=max(0, length), max_size=max(0, length))).encode()
    cut = len(lines[0]) if len(lines) > 1 else len(quality)
    rows = [quality[:cut], quality[cut:]] if len(lines) > 1 else [quality]
    head = draw(NAMES)
    return (
        b"@" + head + end + b"".join(line + end for line in [*lines, b"+" + draw(st.sampled_from([b"", head])), *rows])
    )


@st.composite
def texts(draw) -> bytes:
    """A file of either kind, perhaps with something in it that should not be there, and perhaps cut short."""
    kind = draw(st.sampled_from([fasta_record(), fastq_record()]))
    text = b"".join(draw(st.lists(kind, max_size=5)))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(STRAY) + text[at + draw(st.integers(0, 3)) :]
    return text.rstrip(b"\r\n") if draw(st.booleans()) else text


@st.composite
def protein_forms(draw) -> twin.Form:
    lengths = sorted(draw(st.sets(st.integers(1, 12), min_size=1, max_size=3)))
    at = draw(st.booleans()) and max(lengths) <= 10
    counts = draw(st.sampled_from(["binary", "count", "log"]))
    return twin.Form(tuple(lengths), False, False, at, counts, draw(st.booleans()), "protein")


@st.composite
def forms(draw) -> twin.Form:
    if draw(st.integers(0, 3)) == 0:
        return draw(protein_forms())
    wildcards = draw(st.booleans())
    any_length = st.integers(1, 4) | st.integers(1, 16 if wildcards else 31)
    lengths = draw(st.lists(any_length, min_size=1, max_size=3, unique=True))
    lengths = sorted(min(k, 15) for k in lengths) if wildcards and len(lengths) > 1 else sorted(lengths)
    lengths = sorted(set(lengths))
    at = draw(st.booleans()) and max(lengths) <= (13 if wildcards else 26)
    canonical = draw(st.booleans()) and not at
    return twin.Form(
        tuple(lengths), canonical, wildcards, at, draw(st.sampled_from(["binary", "count", "log"])), draw(st.booleans())
    )


def native(form: twin.Form) -> _native.KmerForm:
    rest = form._asdict()
    return _native.KmerForm(list(rest.pop("lengths")), protein=rest.pop("alphabet") == "protein", **rest)


def scan(text: bytes, form: twin.Form, *, cuts=(), skip=True, only=None, labels=None, seeking=False, **options):
    """The rows of a text given in pieces, what was wrong, and the scanner."""
    sink = _native.KmerRecords(native(form), labels, only, rows=options.pop("rows", 10**9), **options)
    scanner = _native.RecordScanner(
        sink, form=native(form), skip=skip, fastq=False if seeking else None, seeking=seeking
    )
    block = np.frombuffer(text + b"?", np.uint8)
    rows, left_out, stop = [], 0, "more"

    def take() -> None:
        nonlocal left_out
        taken = sink.take()
        left_out += taken["left_out"]
        values = np.ones(len(taken["keys"])) if taken["values"] is None else taken["values"]
        labels = [None] * len(taken["line"]) if taken["label"] is None else taken["label"].tolist()
        for i, (a, b) in enumerate(zip(taken["indptr"], taken["indptr"][1:], strict=False)):
            rows.append((int(taken["line"][i]), taken["keys"][a:b].tolist(), values[a:b].tolist(), labels[i]))

    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    for begin, end in itertools.pairwise(bounds):
        at = begin
        while at < end and stop not in ("bad", "past"):
            stop, used = scanner.feed(block, at, end)
            at += used
            take()
    if stop not in ("bad", "past"):
        stop = scanner.finish()
        take()
    return rows, left_out, scanner.take_faults(), scanner


def expected(text: bytes, form: twin.Form):
    """What the twin makes of a text: rows, k-mers left out, and how many records were bad."""
    good, bad = twin.records(text)
    rows, left_out, count = [], 0, len(bad)
    for record in good:
        if len(record.letters) < min(form.lengths):
            count += 1
            continue
        keys, values, out = twin.row(record.letters, form)
        rows.append((record.line, keys, values, None))
        left_out += out
    return rows, left_out, count


def same(rows, others) -> bool:
    """Values are made of logarithms and roots, which two libraries may round differently."""
    assert [(line, keys, label) for line, keys, _, label in rows] == [(n, keys, label) for n, keys, _, label in others]
    for (_, _, values, _), (_, _, wanted, _) in zip(rows, others, strict=True):
        np.testing.assert_allclose(values, wanted, rtol=1e-6)
    return True


@examples(300)
@given(texts(), forms(), st.lists(st.integers(0, 200), max_size=6))
def test_twin(text, form, cuts):
    """Rows, k-mers left out and bad records, whatever the text and wherever it is cut."""
    rows, left_out, count = expected(text, form)
    got, got_left_out, faults, scanner = scan(text, form, cuts=cuts)
    assert same(got, rows)
    assert got_left_out == left_out
    assert scanner.reached == (len(text), text.count(b"\n"), count)
    assert len(faults) == min(count, 8)


@examples(100)
@given(texts(), forms(), st.integers(1, 3))
def test_batches_and_cursors(text, form, rows):
    """So many rows at a time, each batch by a scanner that starts where the last one ended."""
    whole, _, _, scanner = scan(text, form)
    sink = _native.KmerRecords(native(form), None, None, rows=rows)
    block = np.frombuffer(text + b"?", np.uint8)
    fastq = text.lstrip(b"\n" + twin.BLANKS).startswith(b"@")
    offset, lines, skipped, got, batch = 0, 0, 0, [], True
    while batch:
        fresh = _native.RecordScanner(
            sink, form=native(form), fastq=fastq, skip=True, offset=offset, lines=lines, skipped=skipped
        )
        if fresh.feed(block, offset, len(text))[0] == "more":
            fresh.finish()
        batch = sink.take()["line"].tolist()
        offset, lines, skipped = fresh.place
        got += batch
        assert len(batch) <= rows
    assert got == [line for line, *_ in whole]
    assert (offset, lines, skipped) == scanner.reached


@examples(100)
@given(texts(), forms())
def test_stops_at_the_first_bad_record(text, form):
    """Unless they are passed over: the rows before it, and what is wrong with it."""
    every, _, faults, _ = scan(text, form)
    got, _, told, _ = scan(text, form, skip=False)
    assert told == faults[:1]
    assert same(got, every[: len(got)])
    if faults:
        assert all(line < faults[0][0] for line, *_ in got)
    else:
        assert len(got) == len(every)


@examples(60)
@given(texts(), forms(), st.integers(0, 2))
def test_only_some_keys(text, form, remainder):
    """Reading just some keys is reading all and dropping the rest: values do not change."""
    every, left_out, _, _ = scan(text, form)
    wanted = sorted({key for _, keys, _, _ in every for key in keys if key % 3 == remainder})
    got, got_left_out, _, _ = scan(text, form, only=_native.KeyIndex(np.array(wanted, np.uint64)))
    assert got_left_out == left_out
    kept = [
        (line, [k for k in keys if k in wanted], [v for k, v in zip(keys, values, strict=True) if k in wanted], label)
        for line, keys, values, label in every
    ]
    assert got == kept


@examples(100)
@given(texts().filter(lambda text: not text.lstrip(b"\n" + twin.BLANKS).startswith(b"@")), st.integers(1, 120))
def test_the_second_part_of_a_file(text, begin):
    """From a byte on: just the records that start there or later, with lines counted from the first whole one."""
    if begin > len(text):
        return
    form = twin.Form((3,))
    every, _, _, _ = scan(text, form)
    starts = [0, *(i + 1 for i, c in enumerate(text) if c == 10)]
    before = sum(start < begin for start in starts)
    got, _, _, _ = scan(text[begin - 1 :], form, seeking=True)
    assert got == [(line - before, *rest) for line, *rest in every if starts[line] >= begin]


def test_labels_by_id():
    """Where each record's name stands in a table of hashes; without one, a record is bad or has none."""
    ids = [b"a", b"c"]
    index = _native.KeyIndex(np.array([hash_bytes(id) for id in ids], np.uint64))
    text = b">a one\nACGT\n>b\nACGT\n> c\nACGT\n"
    rows, _, faults, _ = scan(text, twin.Form((2,)), labels=index)
    assert [label for *_, label in rows] == [0, 1]
    assert [(line, "no label" in what) for line, _, what in faults] == [(2, True)]
    rows, _, faults, _ = scan(text, twin.Form((2,)), labels=index, labels_optional=True)
    assert [label for *_, label in rows] == [0, -1, 1]
    assert faults == []


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        (b"ACGT\n>a\nACGT\n", 0, 0, "starts with '>'"),
        (b"\n  x\n", 1, 2, "starts with '>'"),
        (b"\0\n", 0, 0, "not with byte 0x00"),
        (b">a\nAC\n>b\n>c\nAC\n", 2, 0, "record 'b' is empty"),
        (b">a\n", 0, 0, "record 'a' is empty"),
        (b">a", 0, 0, "record 'a' is empty"),
        (b">a\nAC\n>b\nA\n", 2, 0, "record 'b' has 1 letters, fewer than a k-mer of 2"),
        (b">a\nAC\nAC1GT\n", 2, 2, "unexpected '1' in the sequence of record 'a'"),
        (b">a\nAC\n >b\nAC\n", 2, 1, "unexpected '>'"),
        (b">a\nAC\xff\n", 1, 2, "unexpected byte 0xff"),
        (b"@a\nACGT\n+\nIII\n", 3, 0, "the quality of record 'a' has 3 letters, its sequence 4"),
        (b"@a\nACGT\n+\nIIIII\n", 3, 0, "the quality of record 'a' has 5 letters, its sequence 4"),
        (b"@a\nAC\nGT\n+\nIII\nIII\n", 5, 0, "has 6 letters or more, its sequence 4"),
        (b"@a\nACGT\n+\n", 0, 0, "the file ends within record 'a'"),
        (b"@a\nACGT\n", 0, 0, "the file ends within record 'a'"),
        (b"@a\n+\nIIII\n", 0, 0, "record 'a' is empty"),
        (b"@a\nACGT\n+\nIIII\noops\n", 4, 0, "starts with '@'"),
        (b"@a\nACGT\n@b\nACGT\n+\nIIII\n", 2, 0, "unexpected '@' in the sequence of record 'a'"),
    ],
)
def test_what_is_wrong(text, line, column, what):
    """File formats are mistaken, cut and edited by hand: the message says which record, and where."""
    for cuts in ((), range(len(text))):
        _, _, faults, _ = scan(text, twin.Form((2,)), skip=False, cuts=cuts)
        assert [(fault[0], fault[1]) for fault in faults] == [(line, column)]
        assert what in faults[0][2]


def test_records_after_a_bad_one_are_found():
    """Also where the quality starts with '@', or a line is missing."""
    good = b"@good\nACGTA\n+\n@@III\n"
    for bad in (
        b"@b\nACGTA\n+\n@I\n",  # quality too short
        b"@b\nACGTA\n+\n",  # no quality
        b"@b\nACGTA\n@IIII\n",  # no line with '+'
        b"@b\n+\n@IIII\n",  # no letters
        b"ACGTA\n+\nIIIII\n",  # no header
        b"@b\nAC?TA\n+\n@IIII\n",
        b"@b\nAC\n+\n@I\n",  # shorter than a k-mer
        b"oops\n@\noops\n",
    ):
        rows, _, faults, scanner = scan(good + bad + good + good, twin.Form((3,)))
        assert len(rows) == 3, bad
        assert scanner.reached[2] == len(faults) == 1, bad


def test_the_most_letters():
    """A longer record is bad, and the next one is read."""
    text = b">a\n" + b"ACGT" * 5 + b"\n>b\n" + b"ACGT" * 4 + b"\n"
    rows, _, faults, _ = scan(text, twin.Form((2,)), letters=16)
    assert [line for line, *_ in rows] == [2]
    assert "more than 16 letters" in faults[0][2]
    # Positions over four letters of wildcards and a k-mer of 15: 2^4 - 1 of them.
    rows, _, faults, _ = scan(text, twin.Form((15,), wildcards=True, positional=True))
    assert rows == []
    assert "more than the 15 letters whose positions" in faults[0][2]


@pytest.mark.parametrize(
    ("n", "k"), [*itertools.product([1, 2, 255, 256, 1023, 1024, 1025, 5000], [2, 6, 31]), (140_000, 6)]
)
def test_long_rows(n, k):
    """Repeats are merged in rows of every length."""
    letters = bytes(np.random.default_rng(n).choice(list(b"ACGT"), n + k).tolist())
    form = twin.Form((k,), counts="count")
    rows, _, _, _ = scan(b">a\n" + letters + b"\n", form)
    keys, values, _ = twin.row(letters, form)
    assert same(rows, [(0, keys, values, None)])


@pytest.mark.parametrize(
    "wrong",
    [{"lengths": []}, {"lengths": [0]}, {"lengths": [32]}, {"lengths": [3, 3]}, {"lengths": [4, 3]},
     {"lengths": [17], "wildcards": True}, {"lengths": [3, 16], "wildcards": True},
     {"lengths": [16], "wildcards": True, "positional": True}, {"lengths": [3], "positional": True, "canonical": True},
     {"lengths": [3], "counts": "some"}],
)  # fmt: skip
def test_forms_without_room_are_refused(wrong):
    with pytest.raises(ValueError):
        _native.KmerForm(**wrong)
