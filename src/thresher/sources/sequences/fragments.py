"""Random fragments of genomes, one row each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.memory import MB
from thresher.display import quoted
from thresher.errors import DataError, SettingsError
from thresher.sources.base import Source
from thresher.sources.sequences.fasta import SequenceSource, single_letters, spell
from thresher.sources.sequences.records import class_of, feed

if TYPE_CHECKING:
    from thresher.sources.sequences.regions import Regions


@dataclass(frozen=True)
class LoadedGenomes:
    """Genomes in memory: the letters, the label of each record, the number of skipped records, and held-out regions."""

    genomes: _native.Genomes
    y: NDArray[Any]
    skipped: int
    regions: dict[tuple[float, int], Regions] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FragmentSource(SequenceSource):
    """Random fragments of ``length`` letters, which cover each letter ``coverage`` times on average.

    Fragment number i depends only on the seed and i: its start is uniform over all possible starts in all records.
    Any range of the numbers is therefore a random sample of all files, and reading can start at any row.

    The letters are in memory, two bits each (four with wildcards), loaded on first use. They must fit into the
    memory that the limits reserve for a decompressor.
    """

    length: int
    coverage: float = 1.0
    seed: int = 0
    span: tuple[int, int] | None = None  # a range of fragment numbers; None for all
    order: int | None = None  # the seed of a permutation of the span
    rows: tuple[int, int] | None = None  # a range of rows of the permuted span; None for all
    loaded: dict[bool, LoadedGenomes] = field(default_factory=dict, compare=False, repr=False)  # shared by all copies

    def __post_init__(self) -> None:
        super().__post_init__()
        least = min(self.kmers.lengths)
        if isinstance(self.length, bool) or not isinstance(self.length, int) or not least <= self.length < 1 << 31:
            raise SettingsError(
                f"fragments must be a number of letters, at least {least} (the length of a k-mer), got {self.length!r}"
            )
        if not (isinstance(self.coverage, (int, float)) and 0 < self.coverage < math.inf):
            raise SettingsError(f"coverage must be a positive number, got {self.coverage!r}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed < 1 << 63:
            raise SettingsError(f"seed must be a non-negative integer, got {self.seed!r}")
        if self.kmers.protein:
            raise SettingsError(
                "fragments stand for reads of genomes, which proteins do not have: leave out fragments, so that each "
                "record is a row"
            )
        if self.kmers.positional:
            raise SettingsError("positions in random fragments have no meaning: leave out `positional`")
        if any(part.once for part in self.parts):
            raise SettingsError("fragments need files: write standard input to a file first")

    @property
    def total_rows(self) -> int | None:  # type: ignore[override]
        try:
            first, last = self._rows()
        except DataError:  # reading reports it
            return None
        return last - first

    @property
    def held_bytes(self) -> int:  # type: ignore[override]
        if not self.loaded:
            self._loaded(want_labels=True)
        return sum(loaded.genomes.nbytes for loaded in self.loaded.values())

    def _identity(self) -> dict[str, object]:
        settings = (self.length, float(self.coverage), self.seed, self.span, self.order, self.rows)
        return {**super()._identity(), "fragments": settings}

    def files(self) -> list[str]:
        return []  # a fragment may come from any file

    def describe(self) -> str:
        return f"fragments of {self.length} letters of {super().describe()}"

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        if batch.line is None:
            return self.describe()
        number = int(batch.line[row]) - 1
        loaded = next(iter(self.loaded.values()), None) or self._loaded(want_labels=True)
        contig, offset = loaded.genomes.draw(number, self.seed)
        id, file, _ = loaded.genomes.contig(contig)
        place = f"letter {offset + 1} of record {quoted(id.decode(errors='replace'))}"
        return f"row {number} ({self.parts[file].name}, {place})"

    def row_files(self, cursor: Cursor, batch: Batch) -> list[str]:
        genomes = (next(iter(self.loaded.values()), None) or self._loaded(want_labels=True)).genomes
        numbers = [] if batch.line is None else (batch.line - 1).tolist()
        return [self.parts[genomes.contig(genomes.draw(number, self.seed)[0])[1]].name for number in numbers]

    def shards(self, n: int) -> list[Source]:
        super().shards(n)
        first, last = self._rows()
        n = max(1, min(n, last - first))
        bounds = pairwise([first + (last - first) * i // n for i in range(n + 1)])
        if self.order is None:
            begin = 0 if self.span is None else self.span[0]
            return [replace(self, span=(begin + a, begin + b), rows=None) for a, b in bounds]
        return [replace(self, rows=piece) for piece in bounds]

    mixes = True
    overlapping = True

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        """The same fragments in another order, without a buffer: all are in memory."""
        if self.order is not None:
            return super().shuffled(seed, rows=rows, features=features)
        return replace(self, order=seed)

    @property
    def most_parts(self) -> int:
        first, last = self._rows()
        return max(1, last - first)

    def nth_part(self, part: int, parts: int) -> Source:
        """A piece of the random order: its rows are as mixed as those of all."""
        return self.shards(parts)[part]

    def _rows(self, want_labels: bool = True) -> tuple[int, int]:
        """The first row to read and the row behind the last, within the span."""
        return self._span(want_labels) if self.rows is None else self.rows

    def _span(self, want_labels: bool) -> tuple[int, int]:
        """The same for all rows of the span."""
        if self.span is not None:
            return 0, self.span[1] - self.span[0]
        letters = self._loaded(want_labels).genomes.letters
        n = max(1, round(self.coverage * letters / self.length))
        if n >= 1 << 32:
            raise SettingsError(f"a coverage of {self.coverage:g} makes {n} fragments, more than 2^32: lower it")
        return 0, n

    def _numbers(self, begin: int, end: int, n: int) -> NDArray[np.uint64]:
        """The fragment numbers of the rows ``begin`` to ``end`` of a span of ``n`` rows."""
        numbers = np.arange(begin, end, dtype=np.uint64)
        if self.order is not None:
            # The fragments are independent, so any permutation that ignores their content shuffles them:
            # row i is number (step i + shift) mod n.
            rng = np.random.default_rng([self.order, n])
            step, shift = int(rng.integers(n)) or 1, int(rng.integers(n))
            while math.gcd(step, n) != 1:
                step = step % n + 1
            numbers = (numbers * np.uint64(step) + np.uint64(shift)) % np.uint64(n)
        return numbers + np.uint64(0 if self.span is None else self.span[0])

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        self._check_labels(want_labels)
        loaded = self._loaded(want_labels)
        first, last = self._rows(want_labels)
        _, span = self._span(want_labels)
        form = self.kmers.native()
        features = self.limits.batch_features
        total_bytes = self.total_bytes or 0
        at = first + start.row
        while at < last:
            numbers = self._numbers(at, min(at + rows, last), span)
            taken = loaded.genomes.rows(numbers, form, only, self.seed, features)
            contig = taken["contig"]
            at += len(contig)
            self.drop_count.dropped += taken["left_out"]
            line = numbers[: len(contig)].astype(np.int64) + 1
            names = [loaded.genomes.contig(i)[0] for i in contig.tolist()] if self.ids else []
            y, ids = loaded.y[contig], self._record_names(names)
            if self.letters:
                ids = self._spelled_fragments(loaded.genomes, numbers[: len(contig)])
            batch = Batch(taken["indptr"], taken["keys"], taken["values"], y, line=line, id=ids)
            read = -(-total_bytes * (at - first) // (last - first))
            yield batch, Cursor(row=at - first, read=read, skipped=loaded.skipped)
        self.drop_count.log(self.describe(), self.kmers)

    def _spelled_fragments(self, genomes: _native.Genomes, numbers: NDArray[np.uint64]) -> NDArray[Any]:
        """The letters of some fragments."""
        letters = single_letters(self.kmers)
        most = len(numbers) * self.length + 1  # all rows at once
        taken = genomes.rows(numbers, letters.native(), None, self.seed, most)
        return np.array(spell(letters, taken["indptr"], taken["keys"]), dtype=object)

    def _loaded(self, want_labels: bool) -> LoadedGenomes:
        """The genomes, loaded on first use."""
        labelled = want_labels and self.labels is not None
        if labelled not in self.loaded:
            self.loaded[labelled] = self._load(labelled)
        loaded = self.loaded[labelled]
        self._check_room(loaded.genomes)
        return loaded

    def sides(self, fraction: float, seed: int, batch: Batch, want_labels: bool) -> NDArray[np.int8]:
        """Held out are the fragments that lie in held-out regions, see `thresher.sources.sequences.regions`."""
        from thresher.sources.sequences.regions import Regions

        loaded = self._loaded(want_labels)
        key = (fraction, seed)
        if key not in loaded.regions:
            names = [part.file_name for part in self.parts]
            loaded.regions[key] = Regions(loaded.genomes, names, self.length, fraction, seed)
        numbers = np.empty(0, np.uint64) if batch.line is None else (batch.line - 1).astype(np.uint64)
        return loaded.regions[key].sides(*loaded.genomes.draws(numbers, self.seed))

    def _load(self, want_labels: bool) -> LoadedGenomes:
        table = None if self.labels is None else self.labels.index
        genomes = _native.Genomes(self.kmers.wildcards, self.length, table, not want_labels)
        skipped = 0
        for number, part in enumerate(self.parts):
            genomes.file = number
            start = Cursor(skipped=skipped)
            form = self.kmers.native()
            for place in feed(part, genomes, start, form=form, on_error=self.on_error, limits=self.limits):
                self._check_room(genomes)
                skipped = place.skipped
            self.skips.set(part, skipped - start.skipped, "records", n_files=len(self.parts))
        if len(genomes) == 0:
            raise DataError(
                f"{self.describe()}: no record has the {self.length} letters of a fragment. Choose shorter fragments."
            )
        files, labels = genomes.files_and_labels()
        if self.labels is not None:
            return LoadedGenomes(genomes, self.labels.labels(labels), skipped)
        classes = [math.nan if name is None else name for name in map(class_of, self.parts)]
        return LoadedGenomes(genomes, np.array(classes, dtype=object)[files], skipped)

    def _check_room(self, genomes: _native.Genomes) -> None:
        if genomes.nbytes > self.limits.window:
            raise DataError(
                f"{super().describe()}: the sequences, at {self.kmers.bits} bits per letter, take more than the "
                f"{self.limits.window / MB:.1f} MB that the memory plan reserves for them. Raise `memory`, or read "
                "fewer or smaller files."
            )
