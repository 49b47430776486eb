"""Words of selected k-mers: their assembly against a naive twin, and their places in sequences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thresher as th
from tests.reference.selection import words as slow
from thresher.core.kmers import Kmers
from thresher.selection.export.bed import word_lines
from thresher.selection.selection import Selection
from thresher.selection.words import assembled, overlapping, reverse_complement

DNA = st.text("ACGT", min_size=1, max_size=40)


def kmers_of(text: str, k: int, canonical: bool) -> list[str]:
    found = [text[at : at + k] for at in range(len(text) - k + 1)]
    return sorted({min(kmer, slow.other_strand(kmer)) if canonical else kmer for kmer in found})


@given(text=DNA, k=st.integers(2, 6), canonical=st.booleans(), lost=st.integers(0, 7))
def test_assembly_is_that_of_the_naive_twin(text: str, k: int, canonical: bool, lost: int) -> None:
    names = [kmer for at, kmer in enumerate(kmers_of(text, k, canonical)) if at % 8 != lost]
    found = list(assembled(Kmers((k,), canonical=canonical), names, lambda a, b: True))
    want = slow.assembled(names, canonical)
    straight = {word for word, circle in want.items() if not circle}
    assert straight <= {word for word, _ in found}
    assert sorted(len(word) for word, _ in found) == sorted(map(len, want))
    for word, parts in found:
        for at, part in enumerate(parts):  # each part is a window of the word, on the strand it says
            kmer = names[part.number]
            assert word[at : at + k] == (reverse_complement(kmer) if part.reversed else kmer)
    used = [part.number for _, parts in found for part in parts]
    assert len(used) == len(set(used))


@settings(max_examples=30)
@given(text=DNA, k=st.integers(2, 5), canonical=st.booleans())
def test_overlapping_pairs_are_all_pairs(text: str, k: int, canonical: bool) -> None:
    names = kmers_of(text, k, canonical)
    a, b = overlapping(Kmers((k,), canonical=canonical), names)

    def overlap(one: str, other: str) -> bool:
        strands = [one, slow.other_strand(one)] if canonical else [one]
        others = [other, slow.other_strand(other)] if canonical else [other]
        return any(u[1:] == v[:-1] or v[1:] == u[:-1] for u in strands for v in others)

    want = {(i, j) for i in range(len(names)) for j in range(i + 1, len(names)) if overlap(names[i], names[j])}
    assert set(zip(a.tolist(), b.tolist(), strict=True)) == want


def test_positions_follow_each_other_and_proteins_have_one_strand() -> None:
    positional = assembled(Kmers((3,), positional=True), ["7:ACG", "8:CGT", "9:CGT"], lambda a, b: True)
    assert [word for word, _ in positional] == ["7:ACGT"]
    protein = assembled(Kmers((3,), alphabet="protein"), ["KVL", "MKV"], lambda a, b: True)
    assert [word for word, _ in protein] == ["MKVL"]


@pytest.fixture
def make(tmp_path: Path):
    """A selection of some k-mers, from a fit of two small genomes whose features are replaced."""

    def build(k: int, canonical: bool, names: list[str], weights: list[float]) -> Selection:
        rng = np.random.default_rng(0)
        paths = []
        for name in "ab":
            paths.append(tmp_path / f"{name}.fa")
            records = [f">{name}{i}\n{''.join(rng.choice(list('ACGT'), 40))}\n" for i in range(20)]
            paths[-1].write_text("".join(records))
        fitted = th.select([str(path) for path in paths], k=1, kmer=k, canonical=canonical, passes=1)
        keys = [sum("ACGT".index(letter) << 2 * at for at, letter in enumerate(reversed(name))) for name in names]
        zeros = np.zeros(len(names))
        return replace(
            fitted,
            names=names,
            keys=np.array(keys, np.uint64),
            weights=np.array(weights),
            bounds=zeros,
            counts=zeros.astype(np.uint64),
        )

    return build


@pytest.mark.parametrize("canonical", [False, True])
def test_the_places_of_words_are_where_their_letters_are(make, canonical: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    word = "GATTACAGGC"
    records = ["".join(rng.choice(list("ACGT"), 30)) + word + "AC" + word + "T", word, slow.other_strand(word) + word]
    (tmp_path / "g.fa").write_text("".join(f">r{i} x\n{text}\n" for i, text in enumerate([*records, word[:-1]])))
    names = kmers_of(word, 5, canonical)
    selection = make(5, canonical, names, [0.5] * len(names))
    (found,) = selection.words
    forward = found.word == word
    assert forward or found.word == slow.other_strand(word)
    assert found.weight == pytest.approx(0.5 * len(names))
    assert found.mean == pytest.approx(0.5)
    strands = [(found.word, "+"), (slow.other_strand(found.word), "-")][: 1 + canonical]
    want = {
        f"r{i}\t{at}\t{at + len(word)}\t{found.word}\t1000\t{strand}\n"
        for i, text in enumerate(records)
        for letters, strand in strands
        for at in range(len(text))
        if text.startswith(letters, at)
    }
    assert len(want) == (5 if canonical else 4)
    assert set(word_lines(selection, tmp_path / "g.fa")) == want


def test_without_stand_ins_words_need_equal_signs_and_with_them_common_rows(make) -> None:
    names = ["ACGTT", "CGTTG", "GTTGA"]
    selection = make(5, False, names, [1.0, 1.0, -1.0])
    assert [str(word) for word in selection.words] == ["ACGTTG"]
    facts = {"found": {}, "more": {}, "together": [["CGTTG", "GTTGA", 0.95]]}
    assert [str(word) for word in replace(selection, provenance={"stand_ins": facts}).words] == ["CGTTGA"]
    collapsed = {"names": ["TTGAC"], "keys": [0b1111100001], "into": ["GTTGA"]}
    facts = {**facts, "collapsed": collapsed, "together": [["GTTGA", "TTGAC", 0.95]]}
    (word,) = replace(selection, provenance={"stand_ins": facts}).words
    assert (str(word), word.weight) == ("GTTGAC", -1.0)
