"""Ways to damage a file: flipped bits, other numbers, and missing, repeated or foreign pieces."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

#: Numbers at the borders of their types.
EDGES = (
    0,
    1,
    2,
    7,
    8,
    127,
    128,
    255,
    256,
    32767,
    65535,
    1 << 31,
    (1 << 31) - 1,
    1 << 32,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
)
#: Pieces of text that parsers treat in a special way.
TOKENS = (
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\0",
    b'"',
    b'""',
    b",",
    b"\t",
    b";",
    b":",
    b"|",
    b"\n",
    b"\r\n",
    b"\r",
    b"\\",
    b"\\ud800",
    b"nan",
    b"inf",
    b"-1e999",
    b"1e-999",
    b"99999999999999999999",
    b"1e308",
    b"-",
    b"+",
    b"{",
    b"}",
    b"[" * 40,
    b"null",
    b">",
    b"@",
    b"#",
    b" ",
    b"'",
    b"\xef\xbb\xbf",
    b"=",
    "é".encode(),
    "\U0001f33e".encode(),
)


def _flip(rng: random.Random, data: bytearray, pieces: Sequence[bytes]) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _byte(rng: random.Random, data: bytearray, pieces: Sequence[bytes]) -> None:
    data[rng.randrange(len(data))] = rng.randrange(256)


def _number(rng: random.Random, data: bytearray, pieces: Sequence[bytes]) -> None:
    """Another whole number or float, at any place."""
    edge = rng.choice(EDGES) * rng.choice((1, -1)) & (2**64 - 1)
    text = edge.to_bytes(8, "little")
    if rng.random() < 0.2:
        text = struct.pack("<d", rng.choice((float("nan"), float("inf"), -float("inf"), 1e308, 5e-324)))
    text = text[: rng.choice((1, 2, 4, 8))]
    at = rng.randrange(len(data))
    data[at : at + len(text)] = text[: len(data) - at]


def _truncate(rng: random.Random, data: bytearray, pieces: Sequence[bytes]) -> None:
    del data[rng.randrange(len(data)) :]


def _remove(rng: random.Random, data: bytearray, pieces: Sequence[bytes]) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 2, 3, 8, 64, 512))]


def _repeat(rng: random.Random, data: bytearray, pieces: Sequence[bytes]) -> None:
    at = rng.randrange(len(data))
    data[at:at] = data[at : at + rng.choice((1, 2, 8, 64, 512))] * rng.choice((1, 1, 2, 20))


def _splice(rng: random.Random, data: bytearray, pieces: Sequence[bytes]) -> None:
    """A stretch of another file of the kind, in place of a stretch of this one or between two."""
    other = rng.choice(pieces)
    size = rng.choice((1, 4, 16, 100, 1000))
    begin, at = rng.randrange(len(other)), rng.randrange(len(data))
    data[at : at + rng.choice((0, size))] = other[begin : begin + size]


def _clear(rng: random.Random, data: bytearray, pieces: Sequence[bytes]) -> None:
    at = rng.randrange(len(data))
    size = min(rng.choice((1, 4, 16, 100)), len(data) - at)
    data[at : at + size] = rng.choice((b"\0", b"\xff")) * size


def _token(rng: random.Random, data: bytearray, pieces: Sequence[bytes]) -> None:
    at = rng.randrange(len(data))
    data[at : at + rng.choice((0, 1, 4))] = rng.choice(TOKENS)


_ALL = (_flip, _flip, _byte, _number, _truncate, _remove, _repeat, _splice, _clear, _token)


def damaged(rng: random.Random, files: Sequence[bytes]) -> bytes:
    """One of the files with up to four kinds of damage, most often one."""
    data = bytearray(rng.choice(files))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if data:
            rng.choice(_ALL)(rng, data, files)
    return bytes(data)


def damaged_in_place(rng: random.Random, data: bytes) -> bytes:
    """Damage that leaves the size as it is."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2))):
        rng.choice((_flip, _byte, _number, _clear))(rng, changed, ())
    return bytes(changed)
