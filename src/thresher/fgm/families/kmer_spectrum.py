"""Groups of the k-mers of sequences, with several lengths of k-mers at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thresher.columns.column_blocks import ColumnBlocks
from thresher.columns.in_memory import InMemoryColumns
from thresher.columns.types import Family, Ids
from thresher.core.feature_space import FeatureSpace
from thresher.core.kmers import Kmers
from thresher.errors import SettingsError
from thresher.fgm.families.key_groups import BlockedKeyGroups, InMemoryKeyGroups
from thresher.fgm.families.spec import FamilySpec

BY = ("length", "prefix", "position")


@dataclass(frozen=True)
class Spectrum(FamilySpec):
    """Groups of k-mers, for sequences read with several lengths of k-mers (``kmer=range(1, 7)``).

    The k-mers of one length are the feature map of one spectrum kernel, so groups by ``length`` select among these
    kernels. The other groups contain k-mers of all lengths. Only k-mers that occur in the data belong to a group.

    Parameters
    ----------
    by : {"prefix", "length", "position"}
        What the k-mers of a group have in common: their first letters, their length, or (for positional k-mers) their
        position.
    letters : int
        The length of the prefix; each shorter k-mer is a group of its own.
    by_size : bool
        Divide a group's score by its number of k-mers.
    kmers : Kmers, optional
        The encoding of k-mers in keys; set from the data.
    """

    by: str = "prefix"
    letters: int = 3
    by_size: bool = False
    kmers: Kmers | None = None

    no_workers = (
        "the k-mers of a group are in the shares of all workers, and its score is their sum in one order, so that each "
        "worker would have to send the score of every k-mer"
    )

    def __post_init__(self) -> None:
        if self.by not in BY:
            raise SettingsError(f"k-mers can be grouped by {', '.join(BY)}, not {self.by!r}")
        if type(self.letters) is not int or self.letters < 1:
            raise SettingsError(f"letters must be at least 1, not {self.letters!r}")

    def resolve(self, space: FeatureSpace) -> Spectrum:
        if space.kmers is None or space.products is not None or space.hashing is not None:
            raise SettingsError(f"a spectrum needs k-mers of sequences, but the data has {space}")
        if self.by == "position" and not space.kmers.positional:
            raise SettingsError(
                "grouping k-mers by position needs positional k-mers; read the sequences with `positional=True`"
            )
        return replace(self, kmers=space.kmers)

    def check(self, size: int | None, k: int) -> None:
        return

    def build(self, columns: InMemoryColumns) -> Family:
        return InMemoryKeyGroups(self, columns)

    def build_blocked(self, blocks: ColumnBlocks) -> Family:
        return BlockedKeyGroups(self, blocks)

    def group_ids(self, keys: Ids) -> NDArray[np.uint64]:
        """The id of each k-mer's group."""
        kmers = self.kmers
        assert kmers is not None
        if self.by == "position":
            return keys >> np.uint64(kmers.letter_bits)
        letters = keys if kmers.letter_bits == 64 else keys & np.uint64((1 << kmers.letter_bits) - 1)
        ids = np.zeros(len(keys), np.uint64)
        for k in kmers.lengths:
            of_length = (
                letters >> np.uint64(kmers.bits * k) == 1 if len(kmers.lengths) > 1 else np.ones(len(keys), bool)
            )
            if self.by == "length":
                ids[of_length] = k
                continue
            begin = min(k, self.letters)
            first = (letters[of_length] >> np.uint64(kmers.bits * (k - begin))) & np.uint64(
                (1 << kmers.bits * begin) - 1
            )
            ids[of_length] = first | np.uint64(1 << kmers.bits * begin)  # the leading one separates AA from AAA
        return ids

    def fingerprint(self) -> str:
        return repr(self)
