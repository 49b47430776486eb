"""The k-mers of sequences as features: their lengths, keys and values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.errors import SettingsError

Counts = Literal["binary", "count", "log"]

BASES = b"ACGT"
#: Letter i has a bit for each base it includes (A, C, G, T from the lowest bit); the gap includes none.
WILDCARDS = b"-ACMGRSVTWYHKDBN"
_COMPLEMENT = str.maketrans("ACGTMRWSYKVHDBN-", "TGCAKYWSRMBDHVN-")
AMINO_ACIDS = b"ACDEFGHIKLMNPQRSTVWY"
#: The letters of sequences: nucleotides, or amino acids.
Alphabet = Literal["dna", "protein"]


@dataclass(frozen=True, slots=True)
class Kmers:
    """The k-mers of a sequence, as invertible 64-bit keys.

    A key holds the letters, the first one highest, with two bits each (A C G T as 0 to 3), four (IUPAC letters, a bit
    for each base) or five (amino acids, as 0 to 19 in alphabetical order). With several lengths, a one above the
    letters distinguishes AA from AAA. With positions, the position of the first letter is in the bits above.

    Parameters
    ----------
    lengths : tuple of int
        The lengths of the k-mers, ascending: 1 to 31, or 1 to 16 with wildcards (15 if there are several), or 1 to 12
        amino acids.
    canonical : bool
        Treat a k-mer and its reverse complement as one feature, with the smaller of their keys.
    wildcards : bool
        Use 16 letters: A C G T, the IUPAC letters for several bases, and the gap.
    positional : bool
        Make a k-mer another feature at each position (from 0) of its record, named ``17:ACGT``.
    counts : {"binary", "count", "log"}
        The value of a k-mer in a row: 1, the number of its occurrences, or 1 + ln of that number.
    unit : bool
        Scale rows to unit length.
    alphabet : {"dna", "protein"}
        Nucleotides, or the 20 amino acids. No k-mer contains another letter (X, B, Z, J, U, O or *).
    """

    lengths: tuple[int, ...]
    canonical: bool = False
    wildcards: bool = False
    positional: bool = False
    counts: Counts = "binary"
    unit: bool = False
    alphabet: Alphabet = "dna"

    def __post_init__(self) -> None:
        if self.alphabet not in ("dna", "protein"):
            raise SettingsError(f'alphabet must be "dna" or "protein", got {self.alphabet!r}')
        if self.protein and self.canonical:
            raise SettingsError("amino acids have no reverse complement: leave out canonical")
        if self.protein and self.wildcards:
            raise SettingsError("wildcards are codes for several nucleotides, not for amino acids: leave them out")
        most = 12 if self.protein else 16 if self.wildcards else 31
        what = "wildcard k-mers" if self.wildcards else "k-mers of proteins" if self.protein else "k-mers"
        kind = f"{what} must have"
        if not self.lengths or not all(isinstance(k, int) and 1 <= k <= most for k in self.lengths):
            raise SettingsError(f"{kind} 1 to {most} letters, got {_listed(self.lengths)}")
        if list(self.lengths) != sorted(set(self.lengths)):
            raise SettingsError(f"the lengths of k-mers must ascend, got {_listed(self.lengths)}")
        if self.letter_bits > 64:
            raise SettingsError(f"with several lengths {kind} at most 15 letters, got {_listed(self.lengths)}")
        if self.counts not in ("binary", "count", "log"):
            raise SettingsError(f'counts must be "binary", "count" or "log", got {self.counts!r}')
        if self.positional and self.canonical:
            raise SettingsError("positional k-mers belong to one strand: leave out `canonical`")
        if self.positional and self.letter_bits == 64:
            raise SettingsError(
                f"k-mers of {_listed(self.lengths)} letters leave no bits for the position: choose shorter ones"
            )

    @property
    def bits(self) -> int:
        """The number of bits per letter."""
        return 5 if self.protein else 4 if self.wildcards else 2

    @property
    def protein(self) -> bool:
        """Whether the letters are amino acids."""
        return self.alphabet == "protein"

    @property
    def letters(self) -> bytes:
        """The letters, in the order of their numbers."""
        return AMINO_ACIDS if self.protein else WILDCARDS if self.wildcards else BASES

    @property
    def letter_bits(self) -> int:
        """The number of bits below the position."""
        return self.bits * max(self.lengths) + (len(self.lengths) > 1)

    @property
    def size(self) -> int | None:
        """The number of possible features, if all keys below it are features."""
        if len(self.lengths) > 1 or self.canonical or self.positional or self.protein:
            return None
        return 1 << (self.bits * self.lengths[0])

    def native(self) -> _native.KmerForm:
        """The settings for the native code."""
        return _native.KmerForm(
            list(self.lengths),
            canonical=self.canonical,
            wildcards=self.wildcards,
            positional=self.positional,
            counts=self.counts,
            unit=self.unit,
            protein=self.protein,
        )

    def decode(self, keys: NDArray[np.uint64]) -> list[str]:
        """The names of ``keys``."""
        codes = keys if self.letter_bits == 64 else keys & np.uint64((1 << self.letter_bits) - 1)
        names = np.full(len(keys), "", dtype=object)
        for k in self.lengths:
            above = np.uint64(self.bits * k)
            chosen = codes >> above == 1 if len(self.lengths) > 1 else np.ones(len(keys), bool)
            names[chosen] = self._letters(codes[chosen], k)
        if self.positional:
            positions = (keys >> np.uint64(self.letter_bits)).tolist()
            return [f"{position}:{name}" for position, name in zip(positions, names.tolist(), strict=True)]
        spelled: list[str] = names.tolist()
        return spelled

    def keys_of(self, name: str) -> list[int]:
        """The keys that a k-mer of this name may have, with ``canonical`` those of both strands."""
        position, _, word = name.rpartition(":")
        if (
            len(word) not in self.lengths
            or (bool(position) != self.positional)
            or set(word.encode()) - set(self.letters)
        ):
            return []
        if position and not (
            position.isascii() and position.isdecimal() and int(position) < 1 << 64 - self.letter_bits
        ):
            return []
        words = [word, word[::-1].translate(_COMPLEMENT)] if self.canonical else [word]
        return list(dict.fromkeys(self._key(one) | int(position or 0) << self.letter_bits for one in words))

    def _key(self, word: str) -> int:
        """The inverse of `_letters`, with the bit of the length."""
        key = int(len(self.lengths) > 1)
        for letter in word.encode():
            key = key << self.bits | self.letters.index(letter)
        return key

    def _letters(self, codes: NDArray[np.uint64], k: int) -> list[str]:
        # Padded, since five bits may hold a number above 19 in a key that no sequence has.
        alphabet = np.frombuffer(self.letters.ljust(1 << self.bits, b"?"), np.uint8)
        shifts = np.arange(self.bits * (k - 1), -1, -self.bits, dtype=np.uint64)
        letters = alphabet[(codes[:, None] >> shifts) & np.uint64((1 << self.bits) - 1)]
        return [word.decode() for word in letters.view(f"S{k}").ravel().tolist()] if len(codes) else []

    def __str__(self) -> str:
        kind = "canonical " if self.canonical else "positional " if self.positional else ""
        lengths = "- and ".join(map(str, self.lengths))
        over = " over 16 letters" if self.wildcards else " of amino acids" if self.protein else ""
        values = {"binary": "", "count": ", counted", "log": ", counted by the logarithm"}[self.counts]
        return f"{kind}{lengths}-mers{over}{values}{', in unit rows' if self.unit else ''}"

    def reading(self) -> dict[str, Any]:
        """The options of `thresher.scan_fasta` that give these k-mers."""
        fields = asdict(self)
        return {"kmer": fields.pop("lengths"), **fields}

    def to_dict(self) -> dict[str, Any]:
        """The fields, as files store them."""
        fields = {**asdict(self), "lengths": list(self.lengths)}
        if not self.protein:
            del fields["alphabet"]  # so that earlier versions read it
        return fields

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Kmers:
        """The inverse of `to_dict`."""
        return cls(**{**fields, "lengths": tuple(fields["lengths"])})


def kmer_lengths(kmer: int | Iterable[int]) -> tuple[int, ...]:
    """One or several lengths, as `Kmers` takes them."""
    several = [kmer] if isinstance(kmer, int) else list(kmer)
    if any(isinstance(k, bool) or not isinstance(k, (int, np.integer)) for k in several):
        raise SettingsError(f"kmer must be a length or several, for example 12 or (8, 12), got {kmer!r}")
    if len(set(several)) != len(several):
        raise SettingsError(f"`kmer` has the same length twice: {_listed(several)}")
    return tuple(sorted(int(k) for k in several))


def _listed(lengths: Iterable[object]) -> str:
    return ", ".join(map(str, lengths)) or "none"
