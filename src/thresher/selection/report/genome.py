"""Where the selected k-mers are in sequences, against the size of their weights."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from thresher.selection.export.bed import find_hits, kmers_of
from thresher.selection.report.json_values import View, name_of, short
from thresher.selection.selection import Selection
from thresher.sources.base import OnError
from thresher.sources.files.paths import PathLike

#: The most places, those of one k-mer, and the most sequences with a colour of their own.
MOST, OF_ONE, COLOURS = 2000, 200, 7

_OTHERS = "other sequences"


def positions_in_keys(selection: Selection) -> Iterator[View]:
    """The view of positional k-mers, whose keys have their positions."""
    kmers = selection.space.kmers
    if kmers is None or not kmers.positional or not selection.space.invertible or not len(selection):
        return
    at = (selection.keys >> np.uint64(kmers.letter_bits)).astype(np.int64)
    order = np.argsort(-_strengths(selection), kind="stable")[:MOST].tolist()
    places = [(int(at[i]), i, "") for i in order]
    yield _view(selection, places, f"The position of {_share(len(order), len(selection), 'k-mers')} in their records.")


def located(selection: Selection, paths: PathLike | Iterable[PathLike], on_error: OnError = "stop") -> Iterator[View]:
    """The view of the occurrences in files of sequences: the strongest, of each k-mer the first.

    One pass; what is held does not grow with the sequences.
    """
    kmers = kmers_of(selection)
    strengths = _strengths(selection)
    found = np.zeros(len(selection), np.int64)
    total = 0
    strongest: list[tuple[float, int, int, int, str]] = []
    for hit in find_hits(kmers, selection.keys, paths, on_error):
        total += 1
        found[hit.kmer] += 1
        if found[hit.kmer] > OF_ONE:
            continue
        place = (float(strengths[hit.kmer]), -total, hit.at, hit.kmer, name_of(hit.id, 28))
        if len(strongest) < MOST:
            heapq.heappush(strongest, place)
        elif place > strongest[0]:
            heapq.heapreplace(strongest, place)
    if not strongest:
        return
    places = [(at, kmer, id) for _, _, at, kmer, id in sorted(strongest, reverse=True)]
    absent = int((found == 0).sum())
    note = f"{_share(len(places), total, 'occurrences')} of {len(found) - absent:,} k-mers"
    if absent:
        note += f"; {absent:,} {'does' if absent == 1 else 'do'} not occur"
    yield _view(selection, places, f"{note}.")


def _strengths(selection: Selection) -> NDArray[np.float64]:
    weights = selection.weights
    sizes: NDArray[np.float64] = np.abs(weights) if weights.ndim == 1 else np.linalg.norm(weights, axis=0)
    return sizes


def _share(shown: int, total: int, what: str) -> str:
    return f"{total:,} {what}" if shown == total else f"The strongest {shown:,} of {total:,} {what}"


def _view(selection: Selection, places: list[tuple[int, int, str]], note: str) -> View:
    strengths = _strengths(selection)
    names = list(dict.fromkeys(id for _, _, id in places))
    if len(names) > COLOURS + 1:
        many = dict.fromkeys(names[:COLOURS])
        places = [(at, kmer, id if id in many else _OTHERS) for at, kmer, id in places]
    return {
        "kind": "genome",
        "title": "Where the k-mers are",
        "question": "Which places of the sequences matter?",
        "note": note,
        "position": [at for at, _, _ in places],
        "weight": [short(strengths[kmer], 4) for _, kmer, _ in places],
        "name": [name_of(selection.names[kmer]) for _, kmer, _ in places],
        "sequence": [id for _, _, id in places],
    }
