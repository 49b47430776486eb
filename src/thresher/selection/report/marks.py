"""The selected features marked in the text or the sequence that they are made from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.kmers import Kmers
from thresher.display import redact, visible
from thresher.selection.selection import escaped
from thresher.selection.words import reverse_complement
from thresher.sources.documents.ngram_encoder import CHARS, WORDS, NgramEncoder

#: The most characters that are shown of a text, and that are searched for features.
SHOWN, SEARCHED = 600, 50_000
#: The most features that are marked: the strongest.
MARKED = 300

#: A piece of a text, and what its features add: 1, -1, or 0 without any.
Piece = list[Any]


def marked_text(text: str, added: Mapping[str, float], encoder: NgramEncoder) -> list[Piece]:
    """The most telling passage of a text as pieces; ``added`` is what each n-gram of the row adds to the score."""
    text = " ".join(redact(text[:SEARCHED]).split())
    strongest = _strongest(added)
    places = [*_word_places(text, strongest, encoder), *_char_places(text, strongest, encoder)]
    return _pieces(text, places, at_blanks=True)


def marked_sequence(letters: str, added: Mapping[str, float], kmers: Kmers) -> list[Piece]:
    """The most telling part of a sequence as pieces; ``added`` is what each k-mer of the row adds to the score."""
    letters = letters[:SEARCHED]
    places = [
        (at, at + len(word), value)
        for name, value in _strongest(added).items()
        for word, at in _occurrences(letters, name, kmers)
    ]
    return _pieces(letters, places, at_blanks=False)


def _strongest(added: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(added.items(), key=lambda pair: -abs(pair[1]))[:MARKED])


def _occurrences(letters: str, name: str, kmers: Kmers) -> Iterator[tuple[str, int]]:
    """Where a k-mer occurs, on both strands if it is canonical."""
    position, _, word = name.rpartition(":")
    if kmers.positional:
        if position.isdecimal() and letters.startswith(word, int(position)):
            yield word, int(position)
        return
    for one in {word, reverse_complement(word)} if kmers.canonical else {word}:
        at = letters.find(one) if one else -1
        while at >= 0:
            yield one, at
            at = letters.find(one, at + 1)


def _word_places(text: str, added: Mapping[str, float], encoder: NgramEncoder) -> Iterator[tuple[int, int, float]]:
    """The begin and the end of each selected n-gram of words, and what it adds."""
    low, high = encoder.words
    if not high:
        return
    words = []
    for found in re.finditer(encoder.pattern or WORDS, text):
        group = 1 if found.re.groups else 0
        word = found[group] or ""
        word = word.lower() if encoder.lower else word
        if word not in encoder.stop:
            words.append((word, *found.span(group)))
    for n in range(low, high + 1):
        for i in range(len(words) - n + 1):
            value = added.get(" ".join(word for word, _, _ in words[i : i + n]))
            if value is not None:
                yield words[i][1], words[i + n - 1][2], value


def _char_places(text: str, added: Mapping[str, float], encoder: NgramEncoder) -> Iterator[tuple[int, int, float]]:
    """The same for n-grams of characters."""
    if not encoder.chars[1]:
        return
    begins = CHARS if encoder.words[1] else ""
    for name, value in added.items():
        if not name.startswith(begins):
            continue
        chars = name[len(begins) :]
        # The blanks around a word are no characters of the text where it begins or ends.
        inside = chars.strip() if encoder.within_words else chars
        if not inside or not encoder.chars[0] <= len(chars) <= encoder.chars[1]:
            continue
        before = r"(?<!\w)" if encoder.within_words and chars.startswith(" ") else ""
        behind = r"(?!\w)" if encoder.within_words and chars.endswith(" ") else ""
        for found in re.finditer(before + re.escape(inside) + behind, text, re.IGNORECASE if encoder.lower else 0):
            yield *found.span(), value


def _pieces(text: str, places: Iterable[tuple[int, int, float]], *, at_blanks: bool) -> list[Piece]:
    """The passage with the strongest marks, in pieces of one sign each."""
    marks = np.zeros(len(text))
    for begin, end, value in places:
        marks[begin:end] += value
    begin, end = _passage(text, np.abs(marks), at_blanks=at_blanks)
    signs = np.sign(marks[begin:end]).astype(int)
    edges = [0, *(np.flatnonzero(np.diff(signs)) + 1).tolist(), len(signs)] if len(signs) else []
    pieces: list[Piece] = [[visible(escaped(text[begin + a : begin + b])), int(signs[a])] for a, b in pairwise(edges)]
    return [*([["… ", 0]] if begin else []), *pieces, *([[" …", 0]] if end < len(text) else [])]


def _passage(text: str, strength: NDArray[np.float64], *, at_blanks: bool) -> tuple[int, int]:
    """The begin and the end of the passage to show, from a blank to a blank of a text."""
    if len(text) <= SHOWN:
        return 0, len(text)
    sums = np.concatenate([[0.0], np.cumsum(strength)])
    begin = int((sums[SHOWN:] - sums[:-SHOWN]).argmax())
    marked = begin + np.flatnonzero(strength[begin : begin + SHOWN])
    if len(marked):  # in the middle
        begin = int(marked[0] + marked[-1] + 1 - SHOWN) // 2
    begin = max(0, min(begin, len(text) - SHOWN))
    end = min(len(text), begin + SHOWN)
    if at_blanks:
        first, last = text.rfind(" ", max(0, begin - 20), begin + 1), text.find(" ", end - 1, end + 20)
        begin, end = (begin if first < 0 else first + 1), (end if last < 0 else last)
    return begin, end
