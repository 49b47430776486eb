"""Vowpal Wabbit's readable model, as its ``--invert_hash`` writes it."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from thresher import _native
from thresher.errors import DataError
from thresher.selection.export.murmur import murmur3

if TYPE_CHECKING:
    from thresher.selection.selection import Selection

log = logging.getLogger(__name__)

#: Where VW keeps the intercept.
CONSTANT = 11650396
#: VW's default, and the most that a 32-bit hash can use.
_FEWEST_BITS, _MOST_BITS = 18, 32
# The version whose layout this is. The checksum is VW's own affair: it never reads this text back.
_HEADER = """\
Version 9.11.9
Id {id}
Min label:{low}
Max label:{high}
bits:{bits}
lda:0
0 ngram:
0 skip:
options:{options}
Checksum: 0
:0
"""
_UNSPEAKABLE = re.compile(r"[\s:|\x00-\x1f]")


def lines(selection: Selection, bits: int | None = None) -> list[str]:
    """The model as lines ``name:index:weight`` after VW's header, by index, each with its newline.

    Parameters
    ----------
    selection : Selection
        Of one output; every feature must have a name that VW text can hold.
    bits : int, optional
        VW's ``-b``. By default 18, as in VW, or the fewest that keep all features apart.
    """
    if selection.weights.ndim != 1:
        raise DataError("a model of several outputs has no readable form in VW: export to tsv, json or parquet.")
    hashes = [_hash_of(name, key) for name, key in zip(selection.names, selection.keys.tolist(), strict=True)]
    weights = selection.weights.tolist()
    names = list(selection.names)
    intercept = float(selection.intercept[0])
    if intercept != 0.0:
        hashes, weights, names = [*hashes, CONSTANT], [*weights, intercept], [*names, "Constant"]
    if bits is None:
        bits = _enough_bits(hashes)
    mask = (1 << bits) - 1
    if (shared := len(hashes) - len({h & mask for h in hashes})) > 0:
        log.warning("%d features share their index with another in VW's table of %d bits", shared, bits)
    reach = 50 if selection.loss.task == "binary" else 0
    header = _HEADER.format(id="", low=-reach, high=reach, bits=bits, options="" if intercept else " --noconstant")
    rows = sorted((h & mask, name, weight) for h, name, weight in zip(hashes, names, weights, strict=True))
    return [*header.splitlines(keepends=True), *(f"{name}:{index}:{weight!r}\n" for index, name, weight in rows)]


def _enough_bits(hashes: list[int]) -> int:
    for bits in range(_FEWEST_BITS, _MOST_BITS):
        mask = (1 << bits) - 1
        if len({h & mask for h in hashes}) == len(hashes):
            return bits
    return _MOST_BITS


def _hash_of(name: str, key: int) -> int:
    """Where VW would put the feature of this name, before it is cut to the size of the table."""
    if name == f"#{key}":
        raise DataError(f"feature {name} has no name, and VW places features by name: export to tsv or json.")
    if not name or _UNSPEAKABLE.search(name):
        raise DataError(
            f"VW text cannot hold the name {name!r}: names there have no blanks, ':' or '|'. Export to tsv or json."
        )
    text = name.encode("utf-8", "surrogateescape")
    space, feature = _parts(text, key)
    return _vw_hash(feature, _vw_hash(space, 0) if space else 0)


def _parts(text: bytes, key: int) -> tuple[bytes, bytes]:
    """The namespace (empty for the default one) and the name in it.

    Both may contain ``^`` themselves; the key, a hash of the two, says where they part. It cannot say so
    for keys that are no hashes (a matrix's columns), which have no namespace, nor for names cut short.
    """
    at = text.find(b"^")
    if at < 0 or _native.hash_bytes(text, 0) == key:
        return b"", text
    first = at
    while at >= 0:
        if _native.hash_bytes(text[at + 1 :], _native.hash_bytes(text[: at + 1], 0)) == key:
            return text[:at], text[at + 1 :]
        at = text.find(b"^", at + 1)
    return text[:first], text[first + 1 :]


def _vw_hash(name: bytes, seed: int) -> int:
    """VW's default: a name of digits is its own number, on top of the seed; any other is hashed."""
    if name.isdigit():
        return (int(name) + seed) & 0xFFFFFFFFFFFFFFFF
    return murmur3(name, seed)
