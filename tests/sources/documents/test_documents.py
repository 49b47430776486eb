"""Texts as rows of n-grams: scikit-learn's vectorizers, and a slow twin, say what must come out."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

import thresher as th
from tests.examples import examples
from tests.reference.sources import ngrams as twin
from tests.sources.reading import read
from thresher.sources.documents.ngram_encoder import NgramEncoder, characters
from thresher.sources.registry import scan

_TRICKY = "aAbB \t\n.,-_'09éÉßẞΣσςİıǅ\u0307\u0345\u00a0\u2028\u3000́०٣Ⅷ²中文\U00010400\U0001f600\ufb01ſK"
TEXTS = st.text(st.one_of(st.sampled_from(_TRICKY), st.characters(codec="utf-8")), max_size=60)
FORMS = {
    "words": (twin.Form((1, 2), counts="count"), {"ngram_range": (1, 2)}),
    "as written": (twin.Form((1, 1), lower=False, counts="count"), {"lowercase": False}),
    "stop words": (
        twin.Form((2, 3), stop=("the", "éé"), counts="count"),
        {"ngram_range": (2, 3), "stop_words": ["the", "éé"]},
    ),
    "pattern": (
        twin.Form((1, 2), pattern=r"(?u)\w+|[^\w\s]", counts="count"),
        {"ngram_range": (1, 2), "token_pattern": r"(?u)\w+|[^\w\s]"},
    ),
    "characters": (
        twin.Form((0, 0), (1, 4), counts="count"),
        {"analyzer": "char", "ngram_range": (1, 4)},
    ),
    "within words": (
        twin.Form((0, 0), (2, 5), within_words=True, counts="count"),
        {"analyzer": "char_wb", "ngram_range": (2, 5)},
    ),
}


def rows_of(texts: list[str | bytes], form: twin.Form, **options):
    """The rows of texts, by the kernel."""
    made = NgramEncoder(text="text", **form._asdict())
    array = pa.array([text.encode() if isinstance(text, str) else text for text in texts], pa.binary())
    out = made.rows({"text": array}, len(texts), rows=len(texts) + 1, want_names=True, labels_optional=True, **options)
    from thresher.core.batch import Names

    names = Names(out["names"], out["text"], out["prefixes"]).to_bytes()
    values = [1.0] * len(names) if out["values"] is None else out["values"].tolist()
    ends = out["indptr"].tolist()
    keys = out["keys"].tolist()
    return [(keys[a:b], [name.decode() for name in names[a:b]], values[a:b]) for a, b in pairwise(ends)], out


@pytest.mark.parametrize("which", list(FORMS))
@examples(120)
@given(texts=st.lists(TEXTS, max_size=4))
@example(texts=["ΑΣ ΑΣΑ Σ ΑΣ. ΑΣ-Α", "İİ iİ I\u0307x", "", "a b cc", "  ", "ab" * 700, "x" * 5000])
@example(texts=["the the quick éé ÉÉ", "\u2028\u2028a\n\n", "K\u212a ſſ ǅǄ"])
def test_the_same_n_grams_as_scikit_learn(which, texts):
    form, options = FORMS[which]
    got, _ = rows_of(texts, form)
    analyze = CountVectorizer(**options).build_analyzer()
    for text, (keys, names, values) in zip(texts, got, strict=True):
        # Names are cut where their length has no more room, and nothing else is.
        counts: Counter[str] = Counter()
        for name, value in zip(names, values, strict=True):
            counts[name] += int(value)
        wanted: Counter[str] = Counter()
        for gram in analyze(text):
            wanted[gram.encode()[:4095].decode("utf-8", "ignore")] += 1
        assert counts == wanted
        slow_keys, _, slow_values = twin.row(text, form)
        assert (keys, values) == (slow_keys, slow_values)


@examples(100)
@given(
    text=TEXTS,
    words=st.sampled_from([(0, 0), (1, 1), (1, 3), (2, 2)]),
    chars=st.sampled_from([(0, 0), (1, 2), (3, 6)]),
    counts=st.sampled_from(["binary", "count", "log"]),
    unit=st.booleans(),
    lower=st.booleans(),
    within=st.booleans(),
)
def test_the_same_rows_as_the_twin(text, words, chars, counts, unit, lower, within):
    if words == chars == (0, 0):
        words = (1, 1)
    form = twin.Form(words, chars, within and chars != (0, 0), None, lower, ("a_",), counts, unit)
    ((keys, names, values),), _ = rows_of([text], form)
    slow = twin.row(text, form)
    assert keys == slow[0]
    assert names == slow[1]
    assert values == pytest.approx(slow[2], rel=1e-6)


def test_every_character():
    """Each of them between two others: part of a word or not, its lower case, and white space."""
    # All alphabets and the tags of plane 14. Ideographs and Hangul, which are alike for thousands of characters, and
    # what is unassigned or private are sampled, with the first and the last of each block.
    alike = [(0x3400, 0x4DC0), (0x4E00, 0xA000), (0xAC00, 0xD7A4), (0xE000, 0xF900), (0x17000, 0x18D00)]
    alike += [(0x20000, 0x34000), (0x34000, 0xE0000), (0xE0200, 0x110000)]
    sampled = [c for first, end in alike for c in [*range(first, end, 61), end - 1]]
    apart = [*range(0xD800), *range(0xE000, 0x34000), *range(0xE0000, 0xE0200)]
    codes = sorted({*sampled, *(c for c in apart if not any(first <= c < end for first, end in alike))})
    every = [chr(c) for c in codes]
    texts = [" ".join(f"a{c}b" for c in every[at : at + 5000]) for at in range(0, len(every), 5000)]
    for which in ("words", "within words"):
        form, options = FORMS[which]
        analyze = CountVectorizer(**options).build_analyzer()
        got, _ = rows_of(texts, form)
        for text, (_, names, values) in zip(texts, got, strict=True):
            assert dict(zip(names, map(int, values), strict=True)) == Counter(analyze(text))


@examples(200)
@given(text=st.binary(max_size=30))
@example(text=b"caf\xe9")
@example(text=b"\xed\xa0\x80")
@example(text=b"\xf4\x90\x80\x80")
@example(text=b"\xc0\x80")
@example(text=b"ok \xe2\x82")
def test_bytes_that_are_not_utf8_are_told(text):
    try:
        text.decode()
        valid = True
    except UnicodeDecodeError:
        valid = False
    for form in (twin.Form(), twin.Form((0, 0), (2, 2)), twin.Form((1, 1), (1, 2), True)):
        got, out = rows_of([b"good words", text, b"more"], form, skip=True)
        assert out["skipped"] == int(not valid)
        assert [what for _, _, what in out["faults"]] == [] if valid else ["the text is not UTF-8"]
        assert len(got) == 2 + valid


def test_the_table_of_characters_is_made_once():
    assert characters() is characters()


def test_texts_select_their_words(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(200)])
    lines = []
    for _ in range(1500):
        stars = int(rng.integers(0, 2))
        body = " ".join(rng.choice(words, 12)) + (" Truly WONDERFUL!" if stars else " truly awful.")
        lines.append({"stars": stars, "body": body})
    (tmp_path / "reviews.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    selection = th.select(tmp_path / "reviews.jsonl", text="body", target="stars", words="1-2", k=4, holdout=0.2)
    assert {"wonderful", "awful", "truly wonderful", "truly awful"} == set(selection.names)
    assert selection.provenance["test"]["accuracy"] > 0.99
    selection.save(tmp_path / "reviews.thr")
    (tmp_path / "new.csv").write_text("id,body\n1,simply wonderful\n2,truly  AWFUL\n")
    assert th.load(tmp_path / "reviews.thr").predict(tmp_path / "new.csv").tolist() == [1, 0]


def test_folders_of_classes(tmp_path):
    for i in range(120):
        kind = "spam" if i % 3 == 0 else "ham"
        (tmp_path / "mail" / kind).mkdir(parents=True, exist_ok=True)
        word = "prize" if kind == "spam" else "lunch"
        (tmp_path / "mail" / kind / f"{i}.txt").write_text(f"some words {i % 7} and {word}")
    source = scan(tmp_path / "mail")
    assert source.total_rows == 120
    assert source.held_bytes > 0
    assert {row.y for row in read(source)} == {"ham", "spam"}
    selection = th.select(tmp_path / "mail", k=2, passes=3)
    assert set(selection.names) == {"prize", "lunch"}
    (tmp_path / "new" / "any").mkdir(parents=True)
    (tmp_path / "new" / "any" / "1.txt").write_text("a prize")
    assert selection.predict(tmp_path / "new").tolist() == ["spam"]


def test_stop_words_from_a_file(tmp_path):
    (tmp_path / "stop.txt").write_text("the\n\nof\n")
    (tmp_path / "t.csv").write_text("y,text\n1,The end of the line\n")
    source = th.scan_text(tmp_path / "t.csv", text="text", target="y", words=2, stop=tmp_path / "stop.txt")
    assert [row.names for row in read(source, want_names=True)] == [("end line",)]


def test_positions_without_header(tmp_path):
    (tmp_path / "t.tsv").write_text('ham\tSay "hi"\nspam\tWin "now\n')
    source = th.scan_text(tmp_path / "t.tsv", text=1, target=0, header=False, quote="")
    rows = read(source, want_names=True)
    assert [(row.y, row.names) for row in rows] == [("ham", ("say", "hi")), ("spam", ("win", "now"))]
