"""The interface of every source of examples, and the base class of sources over another source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import ReadLimits
from thresher.core.units import DenseColumns
from thresher.errors import SettingsError
from thresher.sources.blocks import Blocks

#: What to do with a malformed line: raise an error, or count it and go on.
OnError = Literal["stop", "skip"]
#: Rows per batch by default. The batch size never changes a result.
DEFAULT_ROWS = 8192


class Source(ABC):
    """Examples in batches of sparse rows, readable from any cursor, any number of times.

    A subclass implements `space`, `_read`, `fingerprint` and, if it can be split, `shards`.
    """

    #: What the keys mean.
    space: FeatureSpace
    #: Whether it can be read more than once, and from a cursor.
    rewindable: bool = True
    #: Whether reading parses files, so that a second thread that reads ahead pays off.
    parses_files: bool = False
    #: Whether tasks of Ray read the rows, for which a cluster needs processors.
    reads_by_ray: bool = False
    #: Stored bytes in total, if known; a cursor's ``read`` counts towards it.
    total_bytes: int | None = None
    #: Rows in total, if known.
    total_rows: int | None = None
    #: Whether a row has any number of labels, and the number of distinct labels, if known.
    multilabel: bool = False
    label_columns: int | None = None
    #: Whether rows have parts in common, as fragments of a sequence; they are then held out by `sides`.
    overlapping: bool = False
    #: Bytes that the source keeps in memory besides the batches it yields.
    held_bytes: int = 0
    #: Bytes of the names and kinds of the columns of a table.
    schema_bytes: int = 0
    #: Values are equal up to rounding errors if their multiples of this are: rows are then held out by these; 0: exact.
    hash_grid: float = 0.0

    @property
    def dense_columns(self) -> DenseColumns | None:
        """The numeric columns that every row has, a missing value being a zero; None if there are none."""
        return None

    def batches(
        self,
        rows: int = DEFAULT_ROWS,
        *,
        start: Cursor | None = None,
        keys: NDArray[np.uint64] | None = None,
        want_names: bool = False,
        want_labels: bool = True,
    ) -> Iterator[tuple[Batch, Cursor]]:
        """Yield batches of at most ``rows`` rows, each with the cursor just behind it.

        A batch may be empty: its cursor then counts skipped lines.

        Parameters
        ----------
        rows : int
            The largest number of rows per batch. The rows themselves do not depend on it.
        start : Cursor, optional
            Where to start. The default is the beginning.
        keys : array of uint64, optional
            Drop all other features, but no row.
        want_names : bool
            Add the names of the features, unless the keys alone give them.
        want_labels : bool
            Treat a row without a label as an error; otherwise its label is NaN.
        """
        if rows < 1:
            raise SettingsError(f"a batch needs at least one row, got rows={rows}")
        start = start or Cursor()
        only = None if keys is None else _native.KeyIndex(np.unique(np.asarray(keys, dtype=np.uint64)))
        skip = start.past + start.skip
        start = replace(start, row=start.row - start.past, past=0, skip=0)
        for batch, cursor in self._read(rows, start, only, want_names, want_labels):
            if 0 < skip >= len(batch):
                skip -= len(batch)
                continue
            yield (batch.take(slice(skip, None)) if skip else batch), cursor
            skip = 0

    def first_rows(self, values: int, rows: int | None = None, **wanted: Any) -> Iterator[Batch]:
        """The first rows, until they have so many values or are so many, whatever the batches are."""
        for batch, _ in self.batches(**wanted):
            within = int(np.searchsorted(batch.indptr[:-1] - batch.indptr[0], values))
            batch = batch.take(slice(0, within if rows is None else min(within, rows)))
            yield batch
            values -= batch.nnz
            rows = None if rows is None else rows - len(batch)
            if values <= 0 or rows == 0:
                return

    @abstractmethod
    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        """`batches`, for a start without ``past`` and ``skip``, and with an index of the keys."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash that changes if the data or the way of reading it changes."""

    def shards(self, n: int) -> list[Source]:
        """Split into at most ``n`` sources that together hold each row once, in order."""
        if n < 1:
            raise SettingsError(f"the number of shards must be at least 1, got {n}")
        return [self]

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        """The same rows in another order, reproducible from the seed.

        The default reads `permuted` rows through a buffer of at most ``rows`` rows and about ``features`` features. A
        source that holds all its rows permutes them.
        """
        from thresher.sources.transforms.shuffle import Shuffled

        return Shuffled(self.permuted(seed), seed=seed, rows=rows, features=features)

    def blocks(self) -> Blocks | None:
        """Its blocks, if it can be read out of order."""
        return None

    @property
    def mixes(self) -> bool:
        """Whether `shuffled` mixes rows from all over the data: the source holds them all, or has several blocks."""
        blocks = self.blocks()
        return blocks is not None and blocks.count > 1

    def permuted(self, seed: int) -> Source:
        """The same rows with the blocks of the source in a random order, if it has several."""
        from thresher.sources.transforms.shuffle import Permuted

        blocks = self.blocks()
        return self if blocks is None or blocks.count < 2 else Permuted(self, blocks, seed)

    @property
    def most_parts(self) -> int:
        """The most parts that `nth_part` can make of this order of the rows."""
        return 1

    def nth_part(self, part: int, parts: int) -> Source:
        """Part ``part`` of ``parts`` of a shuffled source: every ``parts``-th of its blocks, or of its rows.

        All parts together hold each row once. Each is as mixed as the whole, so that none has a class of its own.
        """
        raise SettingsError(f"{self.describe()}: the data cannot be divided among workers: leave out `workers`")

    def prefetched(self, depth: int = 2, *, heavy: int = 0) -> Source:
        """The same batches, up to ``depth`` of them read and parsed ahead on a second thread.

        After a batch of more than ``heavy`` bytes (0: no limit), the next one is not begun before it was taken.
        """
        return Prefetched(self, depth, heavy)

    def limited(self, limits: ReadLimits) -> Source:
        """The same source, reading within these limits."""
        return self

    def in_ranges(self) -> Source:
        """The same source, whose remote files are read by ranges of bytes, where that is possible.

        Without it they are read from the beginning on, which takes fewer requests.
        """
        return self

    def files(self) -> list[str]:
        """The names of its files in the order of reading; a cursor's ``part`` is an index into this list."""
        return []

    def skipped_files(self) -> dict[str, int]:
        """The number of skipped lines (or records) of each file, or of each range of bytes of one, that had any.

        Only what was read to its end counts. `thresher.sources.files.reader.by_file` adds up the ranges of a file.
        """
        return {}

    def prepare(self) -> None:
        """Do on this thread what the first read would otherwise start with."""
        return

    def reading(self) -> dict[str, Any] | None:
        """The settings to read other files in the same way, ready for JSON; None if the file names are enough."""
        return None

    def warnings(self) -> list[str]:
        """What looks wrong in the first rows and spoils an answer, a sentence each."""
        return []

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        """Describe the origin of row ``row`` of ``batch`` for messages; ``cursor`` came with the batch."""
        return f"row {cursor.row - len(batch) + row + 1}"

    def counts_at(self, cursor: Cursor) -> dict[str, Any]:
        """The fields of `thresher.core.memory.Progress` that follow from a position."""
        files = self.files()
        part = min(cursor.part, max(0, len(files) - 1))
        return {
            "rows": cursor.row,
            "read": cursor.read,
            "total_bytes": self.total_bytes,
            "rows_in_pass": cursor.row,
            "total_rows": self.total_rows,
            "file": files[part] if files else None,
            "file_number": part + 1,
            "files": len(files),
        }

    def with_ids(self, column: str | None = None) -> Source:
        """The same rows, each with its identifier (`Batch.id`): its value in a column, or the name of its record."""
        what = "names of records (FASTA and FASTQ files have them)" if column is None else "columns (tables have them)"
        raise SettingsError(f"{self.describe()}: the data has no {what}: identify rows by their file and line")

    def with_texts(self) -> dict[str, Source]:
        """The same rows, each with the text or the letters that its features are made from (`Batch.id`).

        The keys are what the names of these features begin with: one for each column of texts. Empty for rows that are
        not made from texts or sequences.
        """
        return {}

    def grouped(self, column: str, *, feature: bool = False) -> Source:
        """The same rows, each with its group (`Batch.qid`): its value in a column, which is no feature by default."""
        raise SettingsError(
            f"{self.describe()}: the rows have no columns to form groups by: tables and data frames have them, and "
            "LIBSVM files have qid"
        )

    @property
    def feature_columns(self) -> Sequence[str]:
        """The columns of a table that features are made from; none of other data."""
        return ()

    def without_columns(self, columns: Collection[str]) -> Source:
        """The same rows without the features made from some of `feature_columns`."""
        return self

    def sides(self, fraction: float, seed: int, batch: Batch, want_labels: bool) -> NDArray[np.int8]:
        """The side of each row, if rows overlap: 1 held out, 0 not, -1 neither, since it overlaps both sides."""
        raise NotImplementedError

    def row_files(self, cursor: Cursor, batch: Batch) -> list[str]:
        """The file of each row of ``batch``; ``cursor`` came with the batch."""
        files = self.files()
        if not files:
            raise SettingsError(f"{self.describe()}: the rows come from no file: identify them by their line")
        return [files[min(cursor.part, len(files) - 1)]] * len(batch)

    def describe(self) -> str:
        """A short description for messages."""
        return type(self).__name__


class Wrapped(Source):
    """A source that transforms the batches of another one and keeps its cursors."""

    #: Whether it does so row by row, so that the rows below it may come in any order.
    row_by_row: bool = True

    def __init__(self, source: Source) -> None:
        self.source = source
        self.space = source.space
        self.rewindable = source.rewindable
        self.parses_files = source.parses_files
        self.reads_by_ray = source.reads_by_ray
        self.total_bytes = source.total_bytes
        self.total_rows = source.total_rows
        self.multilabel = source.multilabel
        self.label_columns = source.label_columns
        self.schema_bytes = source.schema_bytes
        self.overlapping = source.overlapping
        self.hash_grid = source.hash_grid

    @abstractmethod
    def _with(self, source: Source) -> Source:
        """The same transform of another source."""

    def _settings(self) -> str:
        """The settings of the transform, as the fingerprint includes them."""
        return ""

    def fingerprint(self) -> str:
        return f"{self.source.fingerprint()}{self._settings()}"

    def shards(self, n: int) -> list[Source]:
        return [self._with(shard) for shard in self.source.shards(n)]

    def limited(self, limits: ReadLimits) -> Source:
        return self._with(self.source.limited(limits))

    def in_ranges(self) -> Source:
        ranged = self.source.in_ranges()
        return self if ranged is self.source else self._with(ranged)

    @property
    def dense_columns(self) -> DenseColumns | None:
        return self.source.dense_columns if self.space == self.source.space else None

    @property
    def mixes(self) -> bool:
        return self.source.mixes

    @property
    def most_parts(self) -> int:
        return self.source.most_parts

    def nth_part(self, part: int, parts: int) -> Source:
        return self._with(self.source.nth_part(part, parts))

    def permuted(self, seed: int) -> Source:
        permuted = self.source.permuted(seed)
        return self if permuted is self.source else self._with(permuted)

    def _shuffled_within(self, seed: int, *, rows: int, features: int) -> Source:
        """What `shuffled` is if the source permutes the rows that it holds: they are transformed afterwards."""
        if type(self.source).shuffled is Source.shuffled:
            return Source.shuffled(self, seed, rows=rows, features=features)
        return self._with(self.source.shuffled(seed, rows=rows, features=features))

    def files(self) -> list[str]:
        return self.source.files()

    def skipped_files(self) -> dict[str, int]:
        return self.source.skipped_files()

    def prepare(self) -> None:
        self.source.prepare()

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        return self.source.where(cursor, batch, row)

    def with_ids(self, column: str | None = None) -> Source:
        return self._with(self.source.with_ids(column))

    def with_texts(self) -> dict[str, Source]:
        return {prefix: self._with(source) for prefix, source in self.source.with_texts().items()}

    def grouped(self, column: str, *, feature: bool = False) -> Source:
        return self._with(self.source.grouped(column, feature=feature))

    @property
    def feature_columns(self) -> Sequence[str]:
        return self.source.feature_columns

    def without_columns(self, columns: Collection[str]) -> Source:
        return self._with(self.source.without_columns(columns))

    def sides(self, fraction: float, seed: int, batch: Batch, want_labels: bool) -> NDArray[np.int8]:
        return self.source.sides(fraction, seed, batch, want_labels)

    def row_files(self, cursor: Cursor, batch: Batch) -> list[str]:
        return self.source.row_files(cursor, batch)

    def describe(self) -> str:
        return self.source.describe()

    def reading(self) -> dict[str, Any] | None:
        return self.source.reading()

    def warnings(self) -> list[str]:
        return self.source.warnings()


class Prefetched(Wrapped):
    """The batches of a source, read and parsed ahead on a second thread."""

    def __init__(self, source: Source, depth: int = 2, heavy: int = 0) -> None:
        super().__init__(source)
        self.depth = depth
        self.heavy = heavy

    def _with(self, source: Source) -> Source:
        return Prefetched(source, self.depth, self.heavy)

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        reading = self.source._read(rows, start, only, want_names, want_labels)
        ahead = _native.PrefetchIterator(reading, self.depth, self.heavy)
        try:
            yield from ahead
        finally:
            ahead.close()
            if isinstance(reading, Generator):
                reading.close()  # close files now, not with the last reference


def check_on_error(on_error: str) -> None:
    """Raise unless ``on_error`` is one of its two values."""
    if on_error not in ("stop", "skip"):
        raise SettingsError(f'on_error must be "stop" or "skip", got {on_error!r}')
