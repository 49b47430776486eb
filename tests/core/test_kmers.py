"""Keys of k-mers and back, and what is no form of k-mers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.sources import kmers as twin
from thresher.core.feature_space import FeatureSpace
from thresher.core.kmers import Kmers, kmer_lengths
from thresher.errors import SettingsError, SpaceError


@st.composite
def forms_and_words(draw) -> tuple[Kmers, list[tuple[int, str]]]:
    """A form, and some of its k-mers with their positions."""
    wildcards = draw(st.booleans())
    most = 16 if wildcards else 31
    lengths = sorted(draw(st.sets(st.integers(1, most), min_size=1, max_size=3)))
    if len(lengths) > 1:
        lengths = sorted({min(k, most - 1) for k in lengths})
    positional = draw(st.booleans()) and max(lengths) <= (12 if wildcards else 25)
    form = Kmers(tuple(lengths), wildcards=wildcards, positional=positional)
    words = st.sampled_from(lengths).flatmap(lambda k: st.text(twin.ALPHABETS[wildcards], min_size=k, max_size=k))
    return form, draw(st.lists(st.tuples(st.integers(0, 1000 if positional else 0), words), max_size=8))


@given(forms_and_words())
def test_keys_are_read_back(case):
    form, words = case
    old = twin.Form(form.lengths, False, form.wildcards, form.positional)
    keys = []
    for position, word in words:
        key = twin.key_of(word, old) + (
            len(twin.ALPHABETS[form.wildcards]) ** len(word) if len(form.lengths) > 1 else 0
        )
        keys.append(key + (position << form.letter_bits))
    names = [f"{position}:{word}" if form.positional else word for position, word in words]
    assert form.decode(np.array(keys, np.uint64)) == names
    space = FeatureSpace("kmer", form.size, kmers=form)
    assert space.invertible
    assert space.decode(np.array(keys, np.uint64)) == names
    assert FeatureSpace.from_dict(space.to_dict()) == space
    assert form.native().letter_bits == form.letter_bits


def test_the_size_of_a_space():
    assert Kmers((12,)).size == 4**12
    assert Kmers((16,), wildcards=True).size == 16**16
    assert Kmers((31,), canonical=True).size is None
    assert Kmers((8, 12)).size is None
    assert Kmers((8,), positional=True).size is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lengths": ()}, "1 to 31"),
        ({"lengths": (0,)}, "1 to 31"),
        ({"lengths": (32,)}, "1 to 31"),
        ({"lengths": (17,), "wildcards": True}, "1 to 16"),
        ({"lengths": (3, 16), "wildcards": True}, "at most 15"),
        ({"lengths": (12, 8)}, "ascend"),
        ({"lengths": (4,), "counts": "some"}, "counts must be"),
        ({"lengths": (4,), "canonical": True, "positional": True}, "one strand"),
        ({"lengths": (16,), "wildcards": True, "positional": True}, "no bit"),
    ],
)
def test_what_is_no_form(options, message):
    with pytest.raises(SettingsError, match=message):
        Kmers(**options)


def test_lengths_as_people_give_them():
    assert kmer_lengths(12) == kmer_lengths([12]) == kmer_lengths(np.array([12])) == (12,)
    assert kmer_lengths((12, 8)) == (8, 12)
    for wrong in ("12", [8, 8], [8.5], True, 8.0):
        with pytest.raises((SettingsError, TypeError)):
            kmer_lengths(wrong)


def test_forms_are_distinct():
    forms = [
        Kmers((8,)), Kmers((12,)), Kmers((8, 12)), Kmers((12,), canonical=True), Kmers((12,), wildcards=True),
        Kmers((12,), positional=True), Kmers((12,), counts="count"), Kmers((12,), counts="log", unit=True),
    ]  # fmt: skip
    assert len({str(form) for form in forms}) == len(forms)
    spaces = [FeatureSpace("kmer", form.size, kmers=form) for form in forms]
    for space in spaces:
        space.check_same(space)
        for other in (*spaces, FeatureSpace("index"), FeatureSpace("token")):
            if other is not space:
                with pytest.raises(SpaceError, match="another feature"):
                    space.check_same(other)
        assert Kmers(kmer_lengths(space.kmers.reading().pop("kmer"))).lengths == space.kmers.lengths
