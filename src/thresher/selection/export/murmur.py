"""The 32-bit MurmurHash3, with which Vowpal Wabbit hashes features."""

from __future__ import annotations

_WORD = 0xFFFFFFFF


def murmur3(data: bytes, seed: int = 0) -> int:
    """The 32-bit MurmurHash3 of ``data``.

    Examples
    --------
    >>> hex(murmur3(b""))
    '0x0'
    >>> hex(murmur3(b"", 1))
    '0x514e28b7'
    """
    whole = len(data) & ~3
    h = seed & _WORD
    for at in range(0, whole, 4):
        h ^= _scramble(int.from_bytes(data[at : at + 4], "little"))
        h = (_rotate(h, 13) * 5 + 0xE6546B64) & _WORD
    h ^= _scramble(int.from_bytes(data[whole:], "little"))
    h ^= len(data)
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & _WORD
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & _WORD
    return h ^ (h >> 16)


def _scramble(word: int) -> int:
    return _rotate(word * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD


def _rotate(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & _WORD
