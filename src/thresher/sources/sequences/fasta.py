"""FASTA and FASTQ: a row of k-mers for each record."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.kmers import Counts, Kmers, kmer_lengths
from thresher.core.memory import ReadLimits
from thresher.errors import DataError, SettingsError
from thresher.sources.base import Source
from thresher.sources.files import paths as opening
from thresher.sources.files.paths import Part, PathLike, find_parts
from thresher.sources.sequences.label_table import LabelTable
from thresher.sources.sequences.records import class_of, feed, is_fastq
from thresher.sources.text.line_source import divided, grouped
from thresher.sources.text.parse_errors import OnError, Skips, lines_before

log = logging.getLogger("thresher.sources")

#: What `scan_fasta` takes besides paths and ``on_error``.
OPTIONS = (
    "kmer",
    "canonical",
    "wildcards",
    "positional",
    "counts",
    "unit",
    "fragments",
    "coverage",
    "seed",
    "labels",
)


@dataclass
class Tally:
    """k-mers left out since a source was made, for the letters they hold; told once."""

    left_out: int = 0
    told: bool = False

    def tell(self, what: str, kmers: Kmers) -> None:
        """Log the count, if there is one."""
        if self.left_out and not self.told:
            letters = "that are not IUPAC's" if kmers.wildcards else "other than A, C, G and T"
            log.info("%s: %d k-mers with letters %s were left out", what, self.left_out, letters)
            self.told = True


@dataclass(frozen=True, kw_only=True)
class SequenceSource(Source):
    """What sources of k-mers have in common: files, which k-mers, and where labels come from."""

    parts: tuple[Part, ...]
    kmers: Kmers
    labels: LabelTable | None = None
    on_error: OnError = "stop"
    limits: ReadLimits = field(default_factory=ReadLimits)
    tally: Tally = field(default_factory=Tally, compare=False, repr=False)
    skips: Skips = field(default_factory=Skips, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise SettingsError(f'on_error is "stop" or "skip", not {self.on_error!r}')

    @property
    def format(self) -> str:
        """The format's name, as options and messages use it."""
        return "fasta"

    @property
    def space(self) -> FeatureSpace:  # type: ignore[override]
        return FeatureSpace("kmer", self.kmers.size, kmers=self.kmers)

    @property
    def total_bytes(self) -> int | None:  # type: ignore[override]
        return opening.stored_size(self.parts)

    def limited(self, limits: ReadLimits) -> Source:
        return self if limits == self.limits else replace(self, limits=limits)

    def fingerprint(self) -> str:
        return opening.fingerprint(self.parts, **self._identity())

    def _identity(self) -> dict[str, object]:
        """What counts besides the contents of the files."""
        # A file's name is the label of its rows, unless a table says them.
        labels = [class_of(part) for part in self.parts] if self.labels is None else self.labels.fingerprint()
        return {"format": "fasta", "kmers": self.kmers.to_dict(), "labels": labels, "on_error": self.on_error}

    def _check_labels(self, want_labels: bool) -> None:
        if want_labels and self.labels is None and any(class_of(part) is None for part in self.parts):
            raise DataError(
                "standard input has no name to take the label from: pass a table of labels (labels=, --labels)."
            )

    def files(self) -> list[str]:
        return [part.name for part in self.parts]

    def skipped_files(self) -> dict[str, int]:
        return self.skips.files()

    def describe(self) -> str:
        first = self.parts[0].name
        return first if len(self.parts) == 1 else f"{first} and {len(self.parts) - 1} more"


@dataclass(frozen=True, kw_only=True)
class FastaSource(SequenceSource):
    """Records of FASTA and FASTQ files, plain or compressed, one row each."""

    @property
    def rewindable(self) -> bool:  # type: ignore[override]
        return not any(part.once for part in self.parts)

    @property
    def longest(self) -> int:
        """The most letters that a record may have, by what its row takes while it is made."""
        # Keys in arrays that double (16 bytes a letter), half as much again in the table of repeats, and values.
        lengths = len(self.kmers.lengths)
        valued = self.kmers.counts != "binary" or self.kmers.unit
        each = lengths * (32 + 8 * valued + (16 if lengths > 1 else 0))
        return max(1 << 16, self.limits.window // each)

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        part = self.parts[min(cursor.part, len(self.parts) - 1)]
        return part.name if batch.line is None else f"{part.name}, line {batch.line[row] + lines_before(part)}"

    def shards(self, n: int) -> list[Source]:
        """Whole files where there are enough, else byte ranges of plain FASTA; others stay whole."""
        super().shards(n)
        per_file = -(-n // len(self.parts))
        pieces: list[Part] = []
        for part in self.parts:
            # No byte of FASTQ shows where a record starts: a quality may be any letter.
            whole = per_file == 1 or part.once or is_fastq(part, self.limits)
            pieces += [part] if whole else divided(part, per_file, self.limits)
        return [replace(self, parts=some) for some in grouped(pieces, n)]

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        self._check_labels(want_labels)
        cursor = start
        for number in range(start.part, len(self.parts)):
            if number != start.part:
                cursor = replace(cursor, part=number, offset=0, line=0, here=0)
            reading = self._read_part(self.parts[number], cursor, rows, only, want_labels)
            for batch, cursor in reading:
                yield batch, cursor
        self.tally.tell(self.describe(), self.kmers)

    def _read_part(
        self, part: Part, start: Cursor, rows: int, only: _native.KeyIndex | None, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        sink = _native.KmerRecords(
            self.kmers.native(),
            None if self.labels is None else self.labels.index,
            only,
            rows=rows,
            features=max(1, self.limits.block // 9),  # what a block of usual text holds, as for other files
            letters=self.longest,
            labels_optional=not want_labels,
        )
        reading = feed(
            part,
            sink,
            start,
            wildcards=self.kmers.wildcards,
            on_error=self.on_error,
            limits=self.limits,
            read_before=opening.stored_size(self.parts[: start.part]) or 0,
        )
        row, skipped = start.row, start.skipped
        place = start
        for place in reading:
            taken = sink.take()
            n = len(taken["line"])
            if n:
                self.tally.left_out += taken["left_out"]
                row, skipped = row + n, place.skipped
                yield self._batch(part, taken), replace(place, row=row)
        self.skips.note(part, place.here, "records", of=len(self.parts))
        if place.skipped > skipped:
            # Bad records behind the last row: they are counted in the cursor of a batch of no rows.
            behind = replace(place, row=row, part=start.part + 1, offset=0, line=0, here=0)
            yield self._batch(part, sink.take()), behind

    def _batch(self, part: Part, taken: dict[str, Any]) -> Batch:
        lines = taken["line"] + 1
        y = self._labels(part, taken["label"], len(lines))
        return Batch(taken["indptr"], taken["keys"], taken["values"], y, line=lines)

    def _labels(self, part: Part, positions: NDArray[np.int64] | None, n: int) -> NDArray[Any]:
        if self.labels is not None:
            return self.labels.labels(np.empty(0, np.int64) if positions is None else positions)
        label = class_of(part)
        return np.full(n, np.nan) if label is None else np.full(n, label, dtype=object)


def scan_fasta(
    paths: PathLike | Iterable[PathLike],
    *,
    kmer: int | Iterable[int] = 12,
    canonical: bool = False,
    wildcards: bool = False,
    positional: bool = False,
    counts: Counts = "binary",
    unit: bool = False,
    fragments: int | None = None,
    coverage: float | None = None,
    seed: int = 0,
    labels: PathLike | None = None,
    on_error: OnError = "stop",
) -> Source:
    """Read FASTA or FASTQ files, plain or compressed, as rows of k-mers.

    Parameters
    ----------
    paths : path, glob, folder, "-" for standard input, or several of these
    kmer : int or several
        How many letters: 1 to 31, with wildcards 1 to 16. Of several, such as ``(8, 12)``, all are features.
    canonical : bool
        Take a k-mer and its reverse complement for one feature.
    wildcards : bool
        16 letters instead of four: N, R, Y and the other letters of IUPAC are letters like A and C.
        Otherwise k-mers that hold them are left out, and counted.
    positional : bool
        The place of a k-mer in its record counts: the feature ``17:ACGT`` is ACGT at place 17 (from 0).
    counts : {"binary", "count", "log"}
        The value of a feature: 1, how often it occurs in the row, or 1 + ln of that.
    unit : bool
        Scale rows to length one.
    fragments : int, optional
        Instead of a row a record, draw fragments of so many letters from all records, every place as
        likely as any other. The sequences are held in memory, four letters a byte (two with wildcards).
    coverage : float, optional
        Draw so many fragments that every letter is covered so often on average; 1 if not given.
    seed : int
        Where the fragments come from.
    labels : path, optional
        A table of labels, a line a record: its id, a tab, its label. Otherwise the name of the file,
        without endings such as ``.fa.gz``, is the label of all its rows.
    on_error : {"stop", "skip"}
        What to do about a malformed record: raise `DataError`, or count it and go on.

    Examples
    --------
    >>> source = th.scan_fasta("genomes/*.fa.gz", kmer=12, fragments=200, coverage=6.0)    # doctest: +SKIP
    """
    kmers = Kmers(kmer_lengths(kmer), canonical, wildcards, positional, counts, unit)
    parts = tuple(find_parts(paths))
    table = None if labels is None else LabelTable(labels)
    if fragments is None:
        if coverage is not None:
            raise SettingsError("coverage says how many fragments to draw: pass fragments, their length, too")
        return FastaSource(parts=parts, kmers=kmers, labels=table, on_error=on_error)
    from thresher.sources.sequences.fragments import FragmentSource

    return FragmentSource(
        parts=parts,
        kmers=kmers,
        labels=table,
        on_error=on_error,
        length=fragments,
        coverage=1.0 if coverage is None else coverage,
        seed=seed,
    )
