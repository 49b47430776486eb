"""Where selected k-mers occur in sequences, as BED."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from thresher import _native
from thresher.core.batch import Cursor
from thresher.core.memory import ReadLimits
from thresher.errors import SpaceError
from thresher.sources.files.paths import PathLike, find_parts
from thresher.sources.sequences.records import feed

if TYPE_CHECKING:
    from thresher.selection.selection import Selection

_STRANDS = {1: "+", -1: "-", 0: "."}


def bed_lines(selection: Selection, paths: PathLike | Iterable[PathLike]) -> Iterator[str]:
    """A line for each place where a selected k-mer stands, in one reading of FASTA or FASTQ files.

    The columns are those of BED6: record, first place (from 0) and the one behind the last, k-mer,
    |weight| on a scale up to 1000, and strand. A canonical k-mer is found on both strands: ``-`` means
    that its reverse complement stands there, and ``.`` that it is its own. Other k-mers are looked for
    as written only.
    """
    kmers = selection.space.kmers
    if kmers is None:
        raise SpaceError(
            f"the model's features are {selection.space}, which do not stand in sequences. Select k-mers of FASTA or "
            "FASTQ files first."
        )
    finder = _native.KmerFinder(kmers.native(), _native.KeyIndex(np.ascontiguousarray(selection.keys)))
    strength = np.abs(selection.weights) if selection.weights.ndim == 1 else np.linalg.norm(selection.weights, axis=0)
    scores = np.round(1000 * strength / max(strength.max(initial=0.0), np.finfo(float).tiny)).astype(int).tolist()
    ids, first = [], 0  # names of the records that hits may still come from, and the number of the first
    for part in find_parts(paths):
        for _ in feed(part, finder, Cursor(), wildcards=kmers.wildcards, on_error="stop", limits=ReadLimits()):
            ids += [id.decode("utf-8", "surrogateescape") or "." for id in finder.take_ids()]
            record, position, key, length, strand = (column.tolist() for column in finder.take())
            for r, at, i, k, s in zip(record, position, key, length, strand, strict=True):
                yield f"{ids[r - first]}\t{at}\t{at + k}\t{selection.names[i]}\t{scores[i]}\t{_STRANDS[s]}\n"
            first += max(0, len(ids) - 1)
            ids = ids[-1:]
