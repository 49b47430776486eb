"""Export of the positions of selected k-mers in sequences, as BED."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from thresher import _native
from thresher.core.batch import Cursor
from thresher.core.memory import ReadLimits
from thresher.errors import SpaceError
from thresher.selection.selection import Selection
from thresher.sources.base import OnError, check_on_error
from thresher.sources.files.paths import PathLike, find_parts
from thresher.sources.sequences.records import feed

_STRANDS = {1: "+", -1: "-", 0: "."}


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
    check_on_error(on_error)
    kmers = selection.space.kmers
    if kmers is None:
        raise SpaceError(
            f"the model's features are {selection.space}, which do not occur in sequences. Select k-mers of FASTA or "
            "FASTQ files first."
        )
    finder = _native.KmerFinder(kmers.native(), _native.KeyIndex(np.ascontiguousarray(selection.keys)))
    strength = np.abs(selection.weights) if selection.weights.ndim == 1 else np.linalg.norm(selection.weights, axis=0)
    scores = np.round(1000 * strength / max(strength.max(initial=0.0), np.finfo(float).tiny)).astype(int).tolist()
    strands = dict.fromkeys(_STRANDS, ".") if kmers.protein else _STRANDS
    ids, first = [], 0  # names of the records that may have further hits, and the number of the first
    for part in find_parts(paths):
        for _ in feed(part, finder, Cursor(), form=kmers.native(), on_error=on_error, limits=ReadLimits()):
            ids += [id.decode("utf-8", "surrogateescape") or "." for id in finder.take_ids()]
            record, position, key, length, strand = (column.tolist() for column in finder.take())
            for r, at, i, k, s in zip(record, position, key, length, strand, strict=True):
                yield f"{ids[r - first]}\t{at}\t{at + k}\t{selection.names[i]}\t{scores[i]}\t{strands[s]}\n"
            first += max(0, len(ids) - 1)
            ids = ids[-1:]
