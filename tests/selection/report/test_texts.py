"""The texts and sequences of examples, with the selected features marked."""

import pytest

import thresher as th
from tests.selection.report.samples import SEQUENCES, TEXTS, kmers, rows_of, words
from thresher.selection.report.marks import SHOWN, marked_text
from thresher.selection.report.rows import RowViews
from thresher.selection.scoring import evaluate
from thresher.sources.cache.cached import cached
from thresher.sources.documents.ngram_encoder import NgramEncoder
from thresher.sources.transforms.holdout import HeldOut


def marked(pieces):
    """The marked pieces, with signs."""
    return [(text, sign) for text, sign in pieces if sign]


def of_rows(model, source):
    """All texts of the examples, by the labels of their rows."""
    groups = rows_of(model, source)[0][-1]["groups"]
    return {one["origin"]: one["texts"] for group in groups for one in group["examples"]}


def test_words_in_texts_in_memory():
    model, source = words({"free": 1.0, "report": -0.5})
    found = of_rows(model, source)
    assert marked(found["row 0 (counted from 0)"][0]["pieces"]) == [("FREE", 1), ("free", 1)]
    assert "".join(text for text, _ in found["row 0 (counted from 0)"][0]["pieces"]) == TEXTS[0]
    assert marked(found["row 2 (counted from 0)"][0]["pieces"]) == [("report", -1), ("free", 1)]
    assert "\\u202e" in found["row 2 (counted from 0)"][0]["pieces"][-1][0]
    assert found["row 3 (counted from 0)"] == []


def test_words_in_files(tmp_path):
    (tmp_path / "a.csv").write_text(
        "label,n,body,end\n"
        + "".join(f'{("ham", "spam")[i % 2]},{i},"one word{i},\nfree","zebra {i}"\n' for i in range(30))
    )
    model, _ = words({"free": 1.0, "word3": -2.0})
    found = of_rows(model, th.scan_text(tmp_path / "a.csv", text="body", target="label"))
    assert len(found) > 5
    assert all(marked(texts[0]["pieces"])[-1] == ("free", 1) for texts in found.values())
    # With several columns of texts, each has its own; the rows are those that a filter and a cache let through.
    table = th.scan_csv(tmp_path / "a.csv", target="label", texts=["body", "end"])
    selection = th.select(table, k=4, passes=1, refit=False)
    rows = HeldOut(cached(table, tmp_path / "cache"), 0.5, held=True)
    for origin, texts in of_rows(selection, rows).items():
        line = int(origin.rpartition("line ")[2])
        number = (line - 2) // 2
        assert [text["title"] for text in texts] == ["body", "end"], origin
        assert ["".join(piece for piece, _ in text["pieces"]) for text in texts] == [
            f"one word{number}, free",
            f"zebra {number}",
        ]


def test_words_in_folders(tmp_path):
    for i, (label, text) in enumerate(zip(["spam", "ham", "ham", "spam"], TEXTS, strict=True)):
        (tmp_path / label).mkdir(exist_ok=True)
        (tmp_path / label / f"{i}.txt").write_text(text)
    model, _ = words({"free": 1.0})
    found = [texts[0]["pieces"] for texts in of_rows(model, th.scan_text(tmp_path)).values() if texts]
    assert sorted(map(marked, found)) == [[], [("FREE", 1), ("free", 1)], [("free", 1)]]


@pytest.mark.parametrize(
    ("weights", "options", "expected"),
    [
        ({"ACGTT": 1.0}, {"kmer": 5}, [("ACGTT", 1), ("ACGTT", 1)]),
        ({"AACGT": 1.0, "GGGTT": -1.0}, {"kmer": 5, "canonical": True}, [("AACGT", 1), ("ACGTT", 1), ("ACGTT", 1)]),
        ({"1:CGT": 1.0, "9:CGT": -1.0}, {"kmer": 3, "positional": True}, [("CGT", 1), ("CGT", -1), ("CGT", -1)]),
        ({"CGNN": 1.0}, {"kmer": 4, "wildcards": True}, [("CGNN", 1)]),
    ],
)
def test_kmers_in_sequences(weights, options, expected, tmp_path):
    found = of_rows(*kmers(tmp_path, weights, **options))
    shown = {"".join(piece for piece, _ in texts[0]["pieces"]) for texts in found.values()}
    known = {letters.upper() for of_class in SEQUENCES.values() for letters in of_class}
    assert shown == (known if options.get("wildcards") else {letters.replace("N", "?") for letters in known})
    marks = [mark for texts in found.values() for mark in marked(texts[0]["pieces"])]
    assert sorted(mark for mark in marks if mark[0] in ("CGNN", "CGT", "AACGT", "ACGTT")) == sorted(expected)


def test_kmers_in_fragments(tmp_path):
    model, source = kmers(tmp_path, {"ACGTT": 1.0}, kmer=5, fragments=10, coverage=20.0)
    letters = {"".join(piece for piece, _ in texts[0]["pieces"]) for texts in of_rows(model, source).values()}
    known = [one.upper().replace("N", "?") for of_class in SEQUENCES.values() for one in of_class]
    assert letters
    assert all(any(fragment in one for one in known) for fragment in letters)


def test_a_long_text_shows_its_strongest_passage():
    text = "filler " * 3000 + "the Prize is here " + "filler " * 3000
    pieces = marked_text(text, {"prize": 2.0, "absent": 1.0}, NgramEncoder(text="t"))
    assert marked(pieces) == [("Prize", 1)]
    assert len("".join(piece for piece, _ in pieces)) < SHOWN + 50
    assert pieces[0] == ["… ", 0]
    assert pieces[-1] == [" …", 0]


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("chars=e p", {"words": (1, 1), "chars": (3, 3)}, [("E p", 1)]),
        (" fre", {"words": (0, 0), "chars": (4, 4), "within_words": True}, [("FRE", 1), ("fre", 1)]),
        ("FREE", {"lower": False}, [("FREE", 1)]),
        ("claim free", {"words": (2, 2), "stop": ("your",)}, [("Claim your FREE", 1)]),
        ("ree", {"pattern": "(?i)f(ree)"}, [("REE", 1), ("ree", 1)]),
    ],
)
def test_ngrams_are_marked_as_they_were_read(name, options, expected):
    assert marked(marked_text(TEXTS[0], {name: 1.0}, NgramEncoder(text="t", **options))) == expected


def test_rows_that_changed_show_no_text(tmp_path):
    data = tmp_path / "a.csv"
    before = "label,body\n" + "".join(f"{('ham', 'spam')[i % 2]},free word{i}\n" for i in range(9))
    model, _ = words({"free": 1.0})
    source = th.scan_text(tmp_path / "a.csv", text="body", target="label") if data.write_text(before) else None
    for now, shown in ((before, True), (before.replace("free", "other"), False), ("", False)):
        data.write_text(before)
        rows = RowViews(model)
        evaluate(model, source, observer=rows.add)
        data.write_text(now)
        rows.read_again(source)
        groups = list(rows.views())[-1]["groups"]
        assert any(one["texts"] for group in groups for one in group["examples"]) == shown
