"""Export of the positions of selected k-mers, and of the words they form, in sequences, as BED."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Cursor
from thresher.core.kmers import Kmers
from thresher.core.memory import ReadLimits
from thresher.errors import SpaceError
from thresher.selection.selection import Selection
from thresher.selection.words import reverse_complement
from thresher.sources.base import OnError, check_on_error
from thresher.sources.files.paths import PathLike, find_parts
from thresher.sources.sequences.records import feed

_STRANDS = {1: "+", -1: "-", 0: "."}


class Hit(NamedTuple):
    """An occurrence of a k-mer: its record, with its name, start, number, length and strand."""

    record: int
    id: str
    at: int
    kmer: int
    length: int
    strand: int


def bed_lines(
    selection: Selection, paths: PathLike | Iterable[PathLike], *, on_error: OnError = "stop"
) -> Iterator[str]:
    r"""A line for each occurrence of a selected k-mer, in one pass over FASTA or FASTQ files.

    The columns are those of BED6: record, start (from 0), end (exclusive), k-mer, \|weight\| scaled to at most 1000,
    and strand. Canonical k-mers are searched on both strands: ``-`` means that the reverse complement occurs, and
    ``.`` that the k-mer is its own reverse complement. Other k-mers are searched as written; those of proteins have no
    strand, ``.``. With ``on_error="skip"`` a malformed record is counted and logged; it keeps the occurrences before
    the error.
    """
    kmers = kmers_of(selection)
    scores = _scores(selection.weights)
    for hit in find_hits(kmers, selection.keys, paths, on_error):
        place = f"{hit.id}\t{hit.at}\t{hit.at + hit.length}"
        yield f"{place}\t{selection.names[hit.kmer]}\t{scores[hit.kmer]}\t{_strand(kmers, hit.strand)}\n"


def word_lines(
    selection: Selection, paths: PathLike | Iterable[PathLike], *, on_error: OnError = "stop"
) -> Iterator[str]:
    """A line for each occurrence of a whole word (`Selection.words`), with the columns of `bed_lines`."""
    kmers = kmers_of(selection)
    words = selection.words
    scores = _scores(np.array([word.weight for word in words]).T)
    parts = [(number, at) for number, word in enumerate(words) for at in range(len(word.kmers))]
    keys = np.concatenate([np.empty(0, np.uint64), *(word.keys for word in words)])
    # For each word and direction the hit that continues it, as record, start and number in the word; and its own start.
    awaited: dict[tuple[int, int], tuple[tuple[int, int, int], int]] = {}
    for hit in find_hits(kmers, keys, paths, on_error):
        number, at = parts[hit.kmer]
        word, last = words[number], len(words[number].kmers) - 1
        turned = -1 if word.reversed[at] else 1
        for direction in (turned * hit.strand,) if hit.strand else (1, -1):
            next, start = awaited.pop((number, direction), (None, 0))
            if at == (0 if direction > 0 else last):
                start = hit.at
            elif next != (hit.record, hit.at, at):
                continue
            if at != (last if direction > 0 else 0):
                awaited[number, direction] = (hit.record, hit.at + 1, at + direction), start
                continue
            strand = 0 if kmers.canonical and word.word == reverse_complement(word.word) else direction
            place = f"{hit.id}\t{start}\t{hit.at + hit.length}"
            yield f"{place}\t{word.word}\t{scores[number]}\t{_strand(kmers, strand)}\n"


def kmers_of(selection: Selection) -> Kmers:
    """The k-mers of a selection; `SpaceError` if its features are others."""
    if selection.space.kmers is None:
        raise SpaceError(
            f"the model's features are {selection.space}, which do not occur in sequences. Select k-mers of FASTA or "
            "FASTQ files first."
        )
    return selection.space.kmers


def _scores(weights: NDArray[np.float64]) -> list[int]:
    """The lengths of weights, on a scale up to 1000."""
    strength = np.abs(weights) if weights.ndim == 1 else np.linalg.norm(weights, axis=0)
    scores: list[int] = (
        np.round(1000 * strength / max(strength.max(initial=0.0), np.finfo(float).tiny)).astype(int).tolist()
    )
    return scores


def _strand(kmers: Kmers, strand: int) -> str:
    return "." if kmers.protein else _STRANDS[strand]


def find_hits(
    kmers: Kmers, keys: NDArray[np.uint64], paths: PathLike | Iterable[PathLike], on_error: OnError
) -> Iterator[Hit]:
    """The occurrences of k-mers, record by record, in the order of their starts."""
    check_on_error(on_error)
    finder = _native.KmerFinder(kmers.native(), _native.KeyIndex(np.ascontiguousarray(keys)))
    ids, first = [], 0  # names of the records that may have further hits, and the number of the first
    for part in find_parts(paths):
        for _ in feed(part, finder, Cursor(), form=kmers.native(), on_error=on_error, limits=ReadLimits()):
            ids += [id.decode("utf-8", "surrogateescape") or "." for id in finder.take_ids()]
            for record, at, kmer, length, strand in zip(*(found.tolist() for found in finder.take()), strict=True):
                yield Hit(record, ids[record - first], at, kmer, length, strand)
            first += max(0, len(ids) - 1)
            ids = ids[-1:]
