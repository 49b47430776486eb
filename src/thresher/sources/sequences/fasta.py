"""FASTA and FASTQ files: one row of k-mers per record."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.kmers import Alphabet, Counts, Kmers, kmer_lengths
from thresher.core.memory import ReadLimits
from thresher.errors import DataError, SettingsError
from thresher.sources.base import OnError, Source, check_on_error
from thresher.sources.files.paths import Part, PathLike, find_parts, fingerprint, stored_size
from thresher.sources.files.reader import SkipCounts, line_of_file
from thresher.sources.sequences.label_table import LabelTable
from thresher.sources.sequences.records import check_alphabet, class_of, feed, is_fastq
from thresher.sources.text.line_formats import group_parts, split_part

log = logging.getLogger("thresher.sources")


@dataclass
class DropCount:
    """The number of k-mers dropped for their letters; shared by the copies of a source, and logged once."""

    dropped: int = 0
    logged: bool = False

    def log(self, what: str, kmers: Kmers) -> None:
        """Log the count unless it is 0 or was logged before."""
        if self.dropped and not self.logged:
            letters = "that are not IUPAC letters" if kmers.wildcards else "other than A, C, G and T"
            if kmers.protein:
                letters = "other than those of the 20 amino acids"
            log.info("%s: dropped %d k-mers with letters %s", what, self.dropped, letters)
            self.logged = True


@dataclass(frozen=True, kw_only=True)
class SequenceSource(Source):
    """The base class of sources of k-mers: their files, their k-mers and their labels."""

    parts: tuple[Part, ...]
    kmers: Kmers
    labels: LabelTable | None = None
    on_error: OnError = "stop"
    limits: ReadLimits = field(default_factory=ReadLimits)
    drop_count: DropCount = field(default_factory=DropCount, compare=False, repr=False)
    skips: SkipCounts = field(default_factory=SkipCounts, compare=False, repr=False)
    #: Whether rows have the names of their records.
    ids: bool = False
    #: Whether rows have their letters instead.
    letters: bool = False

    parses_files = True

    def __post_init__(self) -> None:
        check_on_error(self.on_error)

    def with_ids(self, column: str | None = None) -> Source:
        return replace(self, ids=True) if column is None else super().with_ids(column)

    def with_texts(self) -> dict[str, Source]:
        return {"": replace(self, letters=True)}

    def _record_names(self, names: list[bytes]) -> NDArray[Any] | None:
        """The names of records as the identifiers of a batch; None unless they were requested."""
        return np.array([name.decode("utf-8", "surrogateescape") for name in names], dtype=object) if self.ids else None

    @property
    def format(self) -> str:
        """The name of the format in options and messages."""
        return "fasta"

    @property
    def space(self) -> FeatureSpace:  # type: ignore[override]
        return FeatureSpace("kmer", self.kmers.size, kmers=self.kmers)

    @property
    def total_bytes(self) -> int | None:  # type: ignore[override]
        return stored_size(self.parts)

    def limited(self, limits: ReadLimits) -> Source:
        return self if limits == self.limits else replace(self, limits=limits)

    def fingerprint(self) -> str:
        return fingerprint(self.parts, **self._identity())

    def _identity(self) -> dict[str, object]:
        """What the fingerprint includes besides the contents of the files."""
        # Without a table the name of a file is the label of its rows.
        labels = [class_of(part) for part in self.parts] if self.labels is None else self.labels.fingerprint()
        return {"format": "fasta", "kmers": self.kmers.to_dict(), "labels": labels, "on_error": self.on_error}

    def _check_labels(self, want_labels: bool) -> None:
        if want_labels and self.labels is None and any(class_of(part) is None for part in self.parts):
            raise DataError("standard input has no file name to use as the label: pass a table of labels (`labels`).")

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
    def max_letters(self) -> int:
        """The largest number of letters of a record, from the memory that encoding its row takes."""
        # Keys in arrays that double (16 bytes per letter), half as much in the table of repeats, and values.
        lengths = len(self.kmers.lengths)
        valued = self.kmers.counts != "binary" or self.kmers.unit
        each = lengths * (32 + 8 * valued + (16 if lengths > 1 else 0))
        return max(1 << 16, self.limits.window // each)

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        part = self.parts[min(cursor.part, len(self.parts) - 1)]
        return part.name if batch.line is None else f"{part.name}, {line_of_file(part, int(batch.line[row]))}"

    def shards(self, n: int) -> list[Source]:
        """Whole files if there are enough, else byte ranges of plain FASTA; other files stay whole."""
        super().shards(n)
        per_file = -(-n // len(self.parts))
        pieces: list[Part] = []
        for part in self.parts:
            # FASTQ cannot be split: any byte, also the first of a record, may be a quality.
            whole = per_file == 1 or part.once or is_fastq(part, self.limits)
            pieces += [part] if whole else split_part(part, per_file, self.limits)
        return [replace(self, parts=some) for some in group_parts(pieces, n)]

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
        self.drop_count.log(self.describe(), self.kmers)

    def _read_part(
        self, part: Part, start: Cursor, rows: int, only: _native.KeyIndex | None, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        if self.letters:
            yield from self._spelled(part, start, rows, only, want_labels)
            return
        sink = _native.KmerRecords(
            self.kmers.native(),
            None if self.labels is None else self.labels.index,
            only,
            rows=rows,
            features=self.limits.batch_features,
            letters=self.max_letters,
            labels_optional=not want_labels,
            ids=self.ids,
        )
        reading = feed(
            part,
            sink,
            start,
            form=self.kmers.native(),
            on_error=self.on_error,
            limits=self.limits,
            read_before=stored_size(self.parts[: start.part]) or 0,
        )
        row, skipped = start.row, start.skipped
        cursor = start
        for cursor in reading:
            taken = sink.take()
            n = len(taken["line"])
            if n:
                self.drop_count.dropped += taken["left_out"]
                row, skipped = row + n, cursor.skipped
                yield self._batch(part, taken), replace(cursor, row=row)
        self.skips.set(part, cursor.here, "records", n_files=len(self.parts))
        if cursor.skipped > skipped:
            # The cursor of an empty batch counts the malformed records behind the last row.
            behind = replace(cursor, row=row, part=start.part + 1, offset=0, line=0, here=0)
            yield self._batch(part, sink.take()), behind

    def _spelled(
        self, part: Part, start: Cursor, rows: int, only: _native.KeyIndex | None, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        """The rows of a part with their letters, from a second reading whose features are single letters."""
        letters = single_letters(self.kmers)
        second = replace(self, kmers=letters, labels=None, letters=False)._read_part(part, start, rows, None, False)
        ahead: dict[int, str] = {}
        for batch, cursor in replace(self, letters=False)._read_part(part, start, rows, only, want_labels):
            lines = [] if batch.line is None else batch.line.tolist()
            while lines and lines[-1] not in ahead:
                spelled, _ = next(second)
                found = [] if spelled.line is None else spelled.line.tolist()
                ahead.update(zip(found, spell(letters, spelled.indptr, spelled.keys), strict=True))
            ids = np.array([ahead.pop(line) for line in lines], dtype=object)
            yield replace(batch, id=ids), cursor

    def _batch(self, part: Part, taken: dict[str, Any]) -> Batch:
        lines = taken["line"] + 1
        y = self._labels(part, taken["label"], len(lines))
        ids = self._record_names(taken["id"])
        return Batch(taken["indptr"], taken["keys"], taken["values"], y, line=lines, id=ids)

    def _labels(self, part: Part, positions: NDArray[np.int64] | None, n: int) -> NDArray[Any]:
        if self.labels is not None:
            return self.labels.labels(np.empty(0, np.int64) if positions is None else positions)
        label = class_of(part)
        return np.full(n, np.nan) if label is None else np.full(n, label, dtype=object)


def single_letters(kmers: Kmers) -> Kmers:
    """The form whose features are the letters of a sequence, each at its position."""
    return Kmers((1,), wildcards=kmers.wildcards, positional=True, alphabet=kmers.alphabet)


def spell(letters: Kmers, indptr: NDArray[np.int64], keys: NDArray[np.uint64]) -> list[str]:
    """The sequences of rows of `single_letters`; a letter outside the alphabet is ``?``."""
    alphabet = np.frombuffer(letters.letters.ljust(1 << letters.bits, b"?"), np.uint8)
    at = (keys >> np.uint64(letters.letter_bits)).astype(np.int64)
    found = alphabet[(keys & np.uint64((1 << letters.bits) - 1)).astype(np.int64)]
    sequences = []
    for begin, end in pairwise(indptr.tolist()):
        sequence = np.full(int(at[begin:end].max(initial=-1)) + 1, ord("?"), np.uint8)
        sequence[at[begin:end]] = found[begin:end]
        sequences.append(sequence.tobytes().decode())
    return sequences


def scan_fasta(
    paths: PathLike | Iterable[PathLike],
    *,
    kmer: int | Iterable[int] | None = None,
    alphabet: Alphabet = "dna",
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
    """Read FASTA or FASTQ files of nucleotides or amino acids, plain or compressed, as rows of k-mers.

    Parameters
    ----------
    paths : path, glob, folder, "-" for standard input, or several of these
    kmer : int or several
        The length of the k-mers: 1 to 31, or 1 to 16 with wildcards, or 1 to 12 amino acids. Several lengths, such as
        ``(8, 12)``, can be combined. The default is 12, or 3 for proteins.
    alphabet : {"dna", "protein"}
        Nucleotides, or the 20 amino acids; no k-mer contains X, B, Z, J, U, O or ``*``. A file whose first records are
        proteins is not read as nucleotides.
    canonical : bool
        Treat a k-mer and its reverse complement as one feature.
    wildcards : bool
        Use 16 letters instead of four: N, R, Y and the other IUPAC letters are letters like A and C. Otherwise
        k-mers with these letters are dropped and counted.
    positional : bool
        Include the position in the feature: ``17:ACGT`` is ACGT at position 17 (from 0) of its record.
    counts : {"binary", "count", "log"}
        The value of a feature: 1, the number of its occurrences in the row, or 1 + ln of that number.
    unit : bool
        Scale rows to unit length.
    fragments : int, optional
        Draw random fragments of this many letters from all records, uniformly over their positions, instead of one
        row per record. The sequences are held in memory, four letters per byte (two with wildcards).
    coverage : float, optional
        How often fragments cover each letter on average. The default is 1.
    seed : int
        The random seed of the fragments.
    labels : path, optional
        A table of labels, one record per line: its id, a tab, its label. Without it the name of a file, without
        endings such as ``.fa.gz``, is the label of its rows.
    on_error : {"stop", "skip"}
        Whether a malformed record raises `DataError` or is counted and skipped.

    Examples
    --------
    >>> source = th.scan_fasta("genomes/*.fa.gz", kmer=12, fragments=200, coverage=6.0)    # doctest: +SKIP
    """
    if kmer is None:
        kmer = 3 if alphabet == "protein" else 12
    kmers = Kmers(kmer_lengths(kmer), canonical, wildcards, positional, counts, unit, alphabet)
    parts = tuple(find_parts(paths))
    check_alphabet(parts[0], kmers)
    table = None if labels is None else LabelTable(labels)
    if fragments is None:
        if coverage is not None:
            raise SettingsError("`coverage` is for fragments: pass `fragments`, their length, too")
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
