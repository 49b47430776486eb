"""Export to the text that Vowpal Wabbit writes with ``--invert_hash``: for people, since ``vw -i`` does not load it."""

from __future__ import annotations

import logging
import re

from thresher import _native
from thresher.display import cut, quoted
from thresher.errors import DataError
from thresher.selection.export.murmur import murmur3
from thresher.selection.selection import Selection

log = logging.getLogger(__name__)

#: The index of the intercept in VW.
CONSTANT = 11650396
#: The default of VW, and the number of bits of its hash.
_MIN_BITS, _MAX_BITS = 18, 32
# The layout of this version. The checksum may be anything: VW does not read this text back.
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
_FORBIDDEN = re.compile(r"[\s:|\x00-\x1f]")


def lines(selection: Selection, bits: int | None = None) -> list[str]:
    """The header of VW, then lines ``name:index:weight`` sorted by index, with their newlines.

    Parameters
    ----------
    selection : Selection
        A selection with one output, whose features all have names that are valid in VW.
    bits : int, optional
        The ``-b`` of VW. By default 18, as in VW, or the smallest number that gives every feature its own index.
    """
    if selection.weights.ndim != 1:
        raise DataError("VW export does not support several outputs: export to tsv, json or parquet.")
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
        log.warning("%d features share an index with another feature in VW's table of %d bits", shared, bits)
    limit = 50 if selection.loss.task == "binary" else 0
    header = _HEADER.format(id="", low=-limit, high=limit, bits=bits, options="" if intercept else " --noconstant")
    rows = sorted((h & mask, name, weight) for h, name, weight in zip(hashes, names, weights, strict=True))
    return [*header.splitlines(keepends=True), *(f"{name}:{index}:{weight!r}\n" for index, name, weight in rows)]


def vw_bytes(selection: Selection) -> bytes:
    """The readable model of VW."""
    return "".join(lines(selection)).encode("utf-8", "surrogateescape")


def _enough_bits(hashes: list[int]) -> int:
    for bits in range(_MIN_BITS, _MAX_BITS):
        mask = (1 << bits) - 1
        if len({h & mask for h in hashes}) == len(hashes):
            return bits
    return _MAX_BITS


def _hash_of(name: str, key: int) -> int:
    """The hash of the feature in VW, not yet reduced to the bits of the table."""
    if name == f"#{key}":
        raise DataError(f"feature {cut(name)} has no name, and VW hashes names: export to tsv or json.")
    if not name or _FORBIDDEN.search(name):
        raise DataError(
            f"the name {quoted(name)} is invalid in VW, which allows no blanks, ':' or '|'. Export to tsv or json."
        )
    text = name.encode("utf-8", "surrogateescape")
    space, feature = _split_name(text, key)
    return _vw_hash(feature, _vw_hash(space, 0) if space else 0)


def _split_name(text: bytes, key: int) -> tuple[bytes, bytes]:
    """The namespace (empty for the default one) and the name in it.

    Both may contain ``^``. The key is a hash of the two, so it shows which ``^`` separates them, unless the name was
    cut short or the key is no hash (a column of a matrix).
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
    """The default hash of VW: a name of digits is that number plus the seed, any other name is hashed."""
    if name.isdigit():
        return (int(name) + seed) & 0xFFFFFFFFFFFFFFFF
    return murmur3(name, seed)
