"""The k-mers of sequences, of all lengths at once, in groups."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.family_spec import Structure
from thresher.columns.in_memory import StoredColumns
from thresher.columns.types import Family, Ids
from thresher.core.feature_space import FeatureSpace
from thresher.core.kmers import Kmers
from thresher.errors import SettingsError
from thresher.fgm.families.key_groups import BlockedMarks, StoredMarks

BY = ("length", "prefix", "position")


@dataclass(frozen=True)
class Spectrum(Structure):
    """Groups of k-mers, for sequences that are read with several lengths (``kmer=range(1, 7)``).

    The k-mers of one length are the feature map of one spectrum kernel, so groups by ``length`` select among these
    kernels; the other groups select among k-mers, of all lengths together. Only k-mers that occur are in any.

    Parameters
    ----------
    by : {"prefix", "length", "position"}
        What the k-mers of a group have in common: their first letters, how many these are, or, of positional k-mers,
        where they stand.
    letters : int
        How many first letters; shorter k-mers are groups of their own.
    by_size : bool
        Divide a group's score by its number of k-mers.
    kmers : Kmers, optional
        What the keys mean; known from the data.
    """

    by: str = "prefix"
    letters: int = 3
    by_size: bool = False
    kmers: Kmers | None = None

    def __post_init__(self) -> None:
        if self.by not in BY:
            raise SettingsError(f"groups of k-mers are by {', '.join(BY)}, not {self.by!r}")
        if type(self.letters) is not int or self.letters < 1:
            raise SettingsError(f"k-mers begin with one letter at least, not {self.letters!r}")

    def at(self, space: FeatureSpace) -> Spectrum:
        if space.kmers is None or space.products is not None or space.hashing is not None:
            raise SettingsError(f"a spectrum is of k-mers of sequences, not of {space}")
        if self.by == "position" and not space.kmers.positional:
            raise SettingsError("k-mers stand at positions only if they are read with positional=True")
        return replace(self, kmers=space.kmers)

    def check(self, size: int | None, k: int) -> None:
        return

    def over(self, columns: StoredColumns) -> Family:
        return StoredMarks(self, columns)

    def streamed(self, blocks: ColumnBlocks) -> Family:
        return BlockedMarks(self, blocks)

    def marks(self, keys: Ids) -> NDArray[np.uint64]:
        """A number that k-mers of one group share."""
        kmers = self.kmers
        assert kmers is not None
        if self.by == "position":
            return keys >> np.uint64(kmers.letter_bits)
        letters = keys if kmers.letter_bits == 64 else keys & np.uint64((1 << kmers.letter_bits) - 1)
        marks = np.zeros(len(keys), np.uint64)
        for k in kmers.lengths:
            of_length = (
                letters >> np.uint64(kmers.bits * k) == 1 if len(kmers.lengths) > 1 else np.ones(len(keys), bool)
            )
            if self.by == "length":
                marks[of_length] = k
                continue
            begin = min(k, self.letters)
            first = (letters[of_length] >> np.uint64(kmers.bits * (k - begin))) & np.uint64(
                (1 << kmers.bits * begin) - 1
            )
            marks[of_length] = first | np.uint64(1 << kmers.bits * begin)  # a one above, so that AA and AAA differ
        return marks

    def fingerprint(self) -> str:
        return repr(self)
