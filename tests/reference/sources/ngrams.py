"""n-grams of a text, as slowly and plainly as can be, after scikit-learn's description of them."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from tests.reference.core.hashing import hash_bytes


class Form(NamedTuple):
    words: tuple[int, int] = (1, 1)
    chars: tuple[int, int] = (0, 0)
    within_words: bool = False
    pattern: str | None = None
    lower: bool = True
    stop: tuple[str, ...] = ()
    counts: str = "binary"
    unit: bool = False


def word_ngrams(text: str, form: Form) -> list[str]:
    """In the order in which they end, shorter ones first."""
    if form.words == (0, 0):
        return []
    words = [word for word in re.findall(form.pattern or r"(?u)\b\w\w+\b", text) if word not in form.stop]
    low, high = form.words
    return [" ".join(words[i + 1 - n : i + 1]) for i in range(len(words)) for n in range(low, high + 1) if n <= i + 1]


def char_ngrams(text: str, form: Form) -> list[str]:
    """All of one length, then all of the next; within words, word by word."""
    if form.chars == (0, 0):
        return []
    text = re.sub(r"\s\s+", " ", text)
    low, high = form.chars
    if not form.within_words:
        return [text[i : i + n] for n in range(low, high + 1) for i in range(len(text) - n + 1)]
    out = []
    for word in text.split():
        padded = f" {word} "
        for n in range(low, high + 1):
            if n >= len(padded):
                out.append(padded)
                break
            out += [padded[i : i + n] for i in range(len(padded) - n + 1)]
    return out


def row(text: str, form: Form) -> tuple[list[int], list[str], list[float]]:
    """Keys, names and values; an n-gram stands where it stood first."""
    if form.lower:
        text = text.lower()
    both = form.words != (0, 0) and form.chars != (0, 0)
    prefix = "chars=" if both else ""
    seed = hash_bytes(b"chars=", 0) if both else 0
    found: dict[int, tuple[str, int]] = {}
    for gram, name, start in [
        *((gram, gram, 0) for gram in word_ngrams(text, form)),
        *((gram, prefix + gram, seed) for gram in char_ngrams(text, form)),
    ]:
        key = hash_bytes(gram.encode(), start)
        found[key] = (name, found.get(key, (name, 0))[1] + 1)
    values = [1.0 if form.counts == "binary" else float(count) for _, count in found.values()]
    if form.counts == "log":
        values = [float(np.float32(1 + math.log(value))) for value in values]
    if form.unit:
        norm = math.sqrt(sum(value * value for value in values))
        values = [float(np.float32(value / norm)) for value in values]
    return list(found), [name for name, _ in found.values()], values
