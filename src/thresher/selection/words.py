"""Words: selected k-mers that overlap by all letters but one and occur together, as the longer text they are parts of.

k-mers are the nodes of a de Bruijn graph, with an edge where the last letters of one are the first of another and the
two occur together. A word is a path whose edges are the only ones that leave and enter their ends, so that nothing is
guessed where two continuations exist. A canonical k-mer is also its reverse complement, and so is a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.core.kmers import Kmers

#: The complement of each letter, as a set of bases: that of R (A or G) is Y (T or C).
_COMPLEMENTS = str.maketrans("ACGTMKRYWSVBHDN-", "TGCAKMYRWSBVDHN-")


class Part(NamedTuple):
    """A k-mer in a word: its number, and whether the word has its reverse complement instead."""

    number: int
    reversed: bool = False


@dataclass(frozen=True, eq=False)
class Word:
    """A word of several selected k-mers.

    Attributes
    ----------
    word : str
        Its letters; of canonical k-mers the smaller of the word and its reverse complement; of positional ones the
        position of the first letter before them, as ``17:ACGT``.
    kmers : list of str
        The names of its k-mers, in the order of the word.
    keys : array of uint64
        Their keys.
    reversed : list of bool
        The k-mers whose reverse complement the word has.
    weight : float or array of float
        The sum of their weights; for several outputs one for each. k-mers that were collapsed have none.
    """

    word: str
    kmers: list[str]
    keys: NDArray[np.uint64]
    reversed: list[bool]
    weight: float | NDArray[np.float64]

    @property
    def mean(self) -> float | NDArray[np.float64]:
        """The mean weight of its k-mers."""
        return self.weight / len(self.kmers)

    def __str__(self) -> str:
        return self.word


def reverse_complement(word: str) -> str:
    """The other strand of a word of nucleotides."""
    return word[::-1].translate(_COMPLEMENTS)


def assembled(
    kmers: Kmers, names: Sequence[str], together: Callable[[int, int], bool]
) -> Iterator[tuple[str, list[Part]]]:
    """Words of two k-mers or more, by their strongest k-mer.

    Parameters
    ----------
    kmers : Kmers
        The form of the k-mers.
    names : sequence of str
        The k-mers, strongest first.
    together : callable
        Whether the k-mers with these numbers occur together.
    """
    graph = _Graph(kmers, names, together)
    used: set[int] = set()
    for number in range(len(names)):
        if number in used:
            continue
        path = graph.path(Part(number), used)
        used.update(part.number for part in path)
        if len(path) > 1:
            yield graph.spelled(path)


def overlapping(kmers: Kmers, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of all pairs of different k-mers that overlap by all letters but one, each pair once."""
    graph = _Graph(kmers, names, lambda a, b: True)
    pairs = set()
    for number in range(len(names)):
        for turned in (False, True)[: 1 + kmers.canonical]:
            for next in graph.after(Part(number, turned)):
                pairs.add((min(number, next.number), max(number, next.number)))
    found = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


class _Graph:
    """The graph of overlaps; a canonical k-mer is a node for each strand."""

    def __init__(self, kmers: Kmers, names: Sequence[str], together: Callable[[int, int], bool]) -> None:
        self._kmers, self._together = kmers, together
        self._texts: dict[Part, tuple[int, str]] = {}  # the position, 0 without one, and the letters
        self._by_head: dict[tuple[int, str], list[Part]] = {}
        self._by_tail: dict[tuple[int, str], list[Part]] = {}
        for number, name in enumerate(names):
            position, _, letters = name.rpartition(":")
            self._add(Part(number), int(position or 0), letters)
            if kmers.canonical and (other := reverse_complement(letters)) != letters:
                self._add(Part(number, True), 0, other)

    def _add(self, part: Part, position: int, letters: str) -> None:
        self._texts[part] = position, letters
        self._by_head.setdefault((position, letters[:-1]), []).append(part)
        self._by_tail.setdefault((position + self._kmers.positional, letters[1:]), []).append(part)

    def _same(self, part: Part) -> Part:
        """The node of a part: a k-mer that is its own reverse complement has one."""
        return part if part in self._texts else Part(part.number)

    def after(self, part: Part) -> list[Part]:
        """What may follow: other k-mers that begin with all letters but the first."""
        position, letters = self._texts[self._same(part)]
        found = self._by_head.get((position + self._kmers.positional, letters[1:]), [])
        return [next for next in found if self._joined(part, next)]

    def before(self, part: Part) -> list[Part]:
        """What may precede: other k-mers that end with all letters but the last."""
        position, letters = self._texts[self._same(part)]
        return [last for last in self._by_tail.get((position, letters[:-1]), []) if self._joined(last, part)]

    def _joined(self, a: Part, b: Part) -> bool:
        return a.number != b.number and self._together(a.number, b.number)

    def path(self, part: Part, used: set[int]) -> list[Part]:
        """The longest path through a k-mer whose edges are the only ones that leave and enter their ends."""
        first = self._walk(part, used, self.before, self.after)[-1]
        return self._walk(first, used, self.after, self.before)

    def _walk(
        self, part: Part, used: set[int], ahead: Callable[[Part], list[Part]], back: Callable[[Part], list[Part]]
    ) -> list[Part]:
        path, seen = [part], {part.number}
        while True:
            next = ahead(path[-1])
            if len(next) != 1 or len(back(next[0])) != 1 or next[0].number in seen | used:
                return path
            path.append(next[0])
            seen.add(next[0].number)

    def spelled(self, path: list[Part]) -> tuple[str, list[Part]]:
        """The word of a path, on the strand on which it is smaller."""
        position, letters = self._texts[path[0]]
        word = letters + "".join(self._texts[part][1][-1] for part in path[1:])
        if self._kmers.canonical and (other := reverse_complement(word)) < word:
            return other, [self._same(Part(part.number, not part.reversed)) for part in reversed(path)]
        return (f"{position}:{word}" if self._kmers.positional else word), path


def words_of(
    kmers: Kmers,
    names: Sequence[str],
    keys: NDArray[np.uint64],
    weights: NDArray[np.float64],
    together: Callable[[int, int], bool],
) -> list[Word]:
    """The words of weighted k-mers, those with the largest weights first; ``weights`` are (k,) or (outputs, k)."""
    found = []
    for text, parts in assembled(kmers, names, together):
        numbers = [part.number for part in parts]
        total = weights[..., numbers].sum(axis=-1)
        found.append(
            Word(
                text,
                [names[number] for number in numbers],
                keys[numbers],
                [part.reversed for part in parts],
                float(total) if total.ndim == 0 else total,
            )
        )
    return sorted(found, key=lambda word: (-float(np.linalg.norm(word.weight)), word.word))
