"""Regions of genomes that are held out, so that no fragment to learn from overlaps one to test on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thresher import _native

#: The least length of a region in fragments, and its usual one where the record is long enough. A fragment at the end
#: of a region is on neither side, so longer regions lose fewer; shorter ones are more of them.
_LEAST, _USUAL = 2, 20
#: About the largest number of regions: those of more letters are longer.
_MOST = 1 << 16


class Regions:
    """The held-out regions of genomes.

    Each record is cut into equal stretches, and a region at a random place of each stretch is held out. So every long
    record has regions on both sides. A record that is too short for that is held out whole, or not at all. The places
    follow from the seed, the name of the file and the id of the record.

    Parameters
    ----------
    genomes : Genomes
    files : sequence of str
        The names of their files.
    length : int
        The letters of a fragment.
    fraction : float
        The share of the letters to hold out.
    seed : int
    """

    def __init__(self, genomes: _native.Genomes, files: Sequence[str], length: int, fraction: float, seed: int) -> None:
        records = [genomes.contig(i) for i in range(len(genomes))]
        lengths = np.array([letters for _, _, letters in records], np.int64)
        smaller = min(fraction, 1 - fraction) * lengths
        usual = max(_USUAL * length, smaller.sum() / _MOST)
        self._lengths, self._stretches = lengths, np.maximum(1, smaller // usual).astype(np.int64)
        self._length = length
        #: The number of stretches before each record, and in all.
        self._before = np.concatenate([[0], np.cumsum(self._stretches)])

        record = np.repeat(np.arange(len(records)), self._stretches)
        number = np.arange(len(record)) - self._before[record]
        names = [file.encode(errors="surrogateescape") for file in files]
        hashes = np.array([_native.hash_bytes(names[file] + b"\0" + id, 0) for id, file, _ in records], np.uint64)
        keys = hashes[record] + number.astype(np.uint64)
        draws = _native.row_hashes(np.arange(len(keys) + 1, dtype=np.int64), keys, None, seed) / 2.0**64
        begin, end = (lengths[record] * at // self._stretches[record] for at in (number, number + 1))
        whole = (smaller < _LEAST * length)[record]
        size = np.where(whole, np.where(draws < fraction, end - begin, 0), (fraction * (end - begin)).astype(np.int64))
        room = np.where(whole, 0, end - begin - size)
        #: The begin and the end of each region in its record.
        self._begin = begin + np.minimum((draws * (room + 1)).astype(np.int64), room)
        self._end = self._begin + size

    def sides(self, records: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int8]:
        """1 for each fragment that lies in a region, 0 if it overlaps none, else -1."""
        ends = offsets + self._length
        first = self._region(records, offsets)
        held = (offsets >= self._begin[first]) & (ends <= self._end[first])
        overlaps = np.zeros(len(records), bool)
        for region in (first, self._region(records, ends - 1)):  # a stretch is longer than a fragment
            overlaps |= (offsets < self._end[region]) & (ends > self._begin[region])
        return np.where(held, 1, np.where(overlaps, -1, 0)).astype(np.int8)

    def _region(self, records: NDArray[np.int64], at: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the region of the stretch that holds this letter of a record."""
        count, letters = self._stretches[records], self._lengths[records]
        # Stretch s begins at s * letters // count, so a letter is in that of its next quotient.
        found: NDArray[np.int64] = self._before[records] + ((at + 1) * count - 1) // letters
        return found
