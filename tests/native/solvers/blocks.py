"""Text as the parsers take it, and what they give back as rows."""

import itertools

import numpy as np

from tests.reference.sources.lines import Row
from thresher import _native

ALL = 2**62


def block(text: bytes, filler: bytes = b"7") -> np.ndarray:
    """The bytes of a text that ends in a newline, and the readable ones that must follow it."""
    return np.frombuffer(text + filler * _native.padding, dtype=np.uint8)


def parse(kernel, text: bytes, *, begin: int = 0, rows: int = ALL, filler: bytes = b"7", **options) -> dict:
    """Run a parser over text[begin:]."""
    return kernel(block(text, filler), begin, len(text), rows=rows, **options)


def rows_of(parsed: dict, text: bytes, begin: int = 0) -> list[Row]:
    """What a parser found, row by row, with every column it left out filled in."""
    indptr, keys = parsed["indptr"], parsed["keys"].tolist()
    n = len(indptr) - 1
    values = [1.0] * len(keys) if parsed["values"] is None else parsed["values"].tolist()
    weight = [1.0] * n if parsed["weight"] is None else parsed["weight"].tolist()
    qid = [-1] * n if parsed["qid"] is None else parsed["qid"].tolist()
    y = parsed["y"].tolist()
    if parsed["y_indptr"] is not None:
        y = [tuple(y[a:b]) for a, b in itertools.pairwise(parsed["y_indptr"])]
    names = [] if parsed["names"] is None else [unpack(int(word), parsed, text, begin) for word in parsed["names"]]
    return [
        Row(keys[a:b], values[a:b], y[i], weight[i], qid[i], names[a:b])
        for i, (a, b) in enumerate(itertools.pairwise(indptr))
    ]


def unpack(word: int, parsed: dict, text: bytes, begin: int = 0) -> bytes:
    """A packed name: 32 bits of start, 12 bits of length, 20 bits of prefix."""
    start, length, prefix = begin + word % 2**32, (word >> 32) % 2**12, word >> 44
    return parsed["prefixes"][prefix] + text[start : start + length]


def pieces(kernel, text: bytes, rows: int, **options) -> list[Row]:
    """The rows of a text parsed so many at a time, each piece from where the one before came to."""
    out, begin = [], 0
    while begin < len(text):
        parsed = parse(kernel, text, begin=begin, rows=rows, **options)
        assert parsed["consumed"] > 0
        assert len(parsed["indptr"]) <= rows + 1
        out += rows_of(parsed, text, begin)
        begin += parsed["consumed"]
    return out


def exactly(rows: list[Row]) -> str:
    """Rows as text that tells -0.0 from 0.0 and takes one NaN for another."""
    return repr(rows)
