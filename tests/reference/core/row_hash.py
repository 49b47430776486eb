"""The hash of what a row holds, whatever the order."""

import struct

from tests.reference.core.hashing import WORD, hash_key


def row_hash(keys: list[int], values: list[float], seed: int) -> int:
    """The sum of the hashes of (key, bits of the value) over the values that are not zero, hashed once more."""
    total = 0
    for key, value in zip(keys, values, strict=True):
        if value != 0:
            total += hash_key(key, int.from_bytes(struct.pack("<f", value), "little"))
    return hash_key(total & WORD, seed)
