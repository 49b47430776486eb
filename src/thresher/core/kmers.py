"""How sequences become features: which k-mers, under which keys, with which values."""

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
#: A bit each for A, C, G and T, from the lowest on; a gap stands for none of them.
WILDCARDS = b"-ACMGRSVTWYHKDBN"
_LONGEST = {False: 31, True: 16}


@dataclass(frozen=True, slots=True)
class Kmers:
    """All stretches of some lengths of a sequence, as 64-bit keys that they can be read back from.

    The letters stand in a key first letter highest, two bits each (A C G T as 0 to 3) or four (the
    IUPAC letters, a bit for each base they stand for). With several lengths a one stands above the
    letters, so that AA and AAA differ; with positions, the place of the first letter above all that.

    Parameters
    ----------
    lengths : tuple of int
        The k of the k-mers, ascending: 1 to 31, or 1 to 16 with wildcards (to 15 if several).
    canonical : bool
        A k-mer and its reverse complement are one feature, under the smaller of their keys.
    wildcards : bool
        16 letters: A C G T, the IUPAC letters that stand for several of them, and the gap.
    positional : bool
        A k-mer is another feature at each place of its record (counted from 0), named ``17:ACGT``.
    counts : {"binary", "count", "log"}
        The value of a k-mer in a row: 1, how often it occurs, or 1 + ln of that.
    unit : bool
        Scale rows to length one.
    """

    lengths: tuple[int, ...]
    canonical: bool = False
    wildcards: bool = False
    positional: bool = False
    counts: Counts = "binary"
    unit: bool = False

    def __post_init__(self) -> None:
        most = _LONGEST[self.wildcards]
        kind = "wildcard k-mers have" if self.wildcards else "k-mers have"
        if not self.lengths or not all(isinstance(k, int) and 1 <= k <= most for k in self.lengths):
            raise SettingsError(f"{kind} 1 to {most} letters, not {_listed(self.lengths)}")
        if list(self.lengths) != sorted(set(self.lengths)):
            raise SettingsError(f"the lengths of k-mers ascend, unlike {_listed(self.lengths)}")
        if self.letter_bits > 64:
            raise SettingsError(f"with several lengths {kind} at most 15 letters, not {_listed(self.lengths)}")
        if self.counts not in ("binary", "count", "log"):
            raise SettingsError(f'counts is "binary", "count" or "log", not {self.counts!r}')
        if self.positional and self.canonical:
            raise SettingsError("positional k-mers are those of one strand: leave out canonical")
        if self.positional and self.letter_bits == 64:
            raise SettingsError(f"k-mers of {_listed(self.lengths)} letters leave no bit of a key for a position")

    @property
    def bits(self) -> int:
        """Bits a letter."""
        return 4 if self.wildcards else 2

    @property
    def letter_bits(self) -> int:
        """Bits below the position."""
        return self.bits * max(self.lengths) + (len(self.lengths) > 1)

    @property
    def size(self) -> int | None:
        """How many features there can be, where all keys up to a number are features."""
        if len(self.lengths) > 1 or self.canonical or self.positional:
            return None
        return 1 << (self.bits * self.lengths[0])

    def native(self) -> _native.KmerForm:
        """As the kernels take it."""
        return _native.KmerForm(
            list(self.lengths),
            canonical=self.canonical,
            wildcards=self.wildcards,
            positional=self.positional,
            counts=self.counts,
            unit=self.unit,
        )

    def decode(self, keys: NDArray[np.uint64]) -> list[str]:
        """The names of ``keys``."""
        codes = keys if self.letter_bits == 64 else keys & np.uint64((1 << self.letter_bits) - 1)
        names = np.full(len(keys), "", dtype=object)
        for k in self.lengths:
            above = np.uint64(self.bits * k)
            chosen = codes >> above == 1 if len(self.lengths) > 1 else np.ones(len(keys), bool)
            names[chosen] = self._spelled(codes[chosen], k)
        if self.positional:
            positions = (keys >> np.uint64(self.letter_bits)).tolist()
            return [f"{position}:{name}" for position, name in zip(positions, names.tolist(), strict=True)]
        spelled: list[str] = names.tolist()
        return spelled

    def _spelled(self, codes: NDArray[np.uint64], k: int) -> list[str]:
        alphabet = np.frombuffer(WILDCARDS if self.wildcards else BASES, np.uint8)
        shifts = np.arange(self.bits * (k - 1), -1, -self.bits, dtype=np.uint64)
        letters = alphabet[(codes[:, None] >> shifts) & np.uint64((1 << self.bits) - 1)]
        return [word.decode() for word in letters.view(f"S{k}").ravel().tolist()] if len(codes) else []

    def __str__(self) -> str:
        kind = "canonical " if self.canonical else "positional " if self.positional else ""
        lengths = "- and ".join(map(str, self.lengths))
        over = " over 16 letters" if self.wildcards else ""
        values = {"binary": "", "count": ", counted", "log": ", counted by the logarithm"}[self.counts]
        return f"{kind}{lengths}-mers{over}{values}{', in unit rows' if self.unit else ''}"

    def reading(self) -> dict[str, Any]:
        """The same as the options of `thresher.scan_fasta`."""
        fields = asdict(self)
        return {"kmer": fields.pop("lengths"), **fields}

    def to_dict(self) -> dict[str, Any]:
        """As it is written to files."""
        return {**asdict(self), "lengths": list(self.lengths)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Kmers:
        """The reverse of `to_dict`."""
        return cls(**{**fields, "lengths": tuple(fields["lengths"])})


def kmer_lengths(kmer: int | Iterable[int]) -> tuple[int, ...]:
    """One k or several, as `Kmers` takes them."""
    several = [kmer] if isinstance(kmer, int) else list(kmer)
    if any(isinstance(k, bool) or not isinstance(k, (int, np.integer)) for k in several):
        raise SettingsError(f"kmer is a length or several, such as 12 or (8, 12), not {kmer!r}")
    if len(set(several)) != len(several):
        raise SettingsError(f"the same length of k-mers twice: {_listed(several)}")
    return tuple(sorted(int(k) for k in several))


def _listed(lengths: Iterable[object]) -> str:
    return ", ".join(map(str, lengths)) or "none"
